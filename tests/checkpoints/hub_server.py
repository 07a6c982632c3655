"""A stand-in for the Hugging Face Hub on this machine: the few addresses that ``--fetch`` asks, and what went over."""

from __future__ import annotations

import json
import re
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"

Tensors = Mapping[str, tuple[str, tuple[int, ...]]]
_BITS = {"BF16": 16, "F32": 32, "F8_E4M3": 8}


class Weights(NamedTuple):
    """A safetensors file of which only the header is real."""

    header: bytes
    file_bytes: int

    def part(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.file_bytes)
        return self.header[start:stop] + b"\0" * (stop - max(start, len(self.header)))


def safetensors(tensors: Tensors, *, padding: int = 0) -> Weights:
    """The file that has these tensors: name -> (dtype, shape). ``padding`` makes its header longer."""
    table: dict[str, Any] = {"__metadata__": {"format": "pt", "padding": "x" * padding}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        elements = 1
        for side in shape:
            elements *= side
        begin, end = end, end + elements * _BITS[dtype] // 8
        table[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(table).encode()
    return Weights(struct.pack("<Q", len(text)) + text, 8 + len(text) + end)


class FakeHub:
    """Repositories by id, and what was asked for."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes | Weights]] = {}
        self.failures: dict[str, tuple[int, dict[str, str]]] = {}
        """Path -> (status, headers) to answer instead."""
        self.raw: dict[str, bytes] = {}
        """Path -> body of a 200 answer."""
        self.ranges = True
        self.delay_s = 0.0
        self.asked: list[str] = []
        self.sent_bytes = 0
        self.tokens: set[str | None] = set()
        self.url = ""

    def add(self, hub_id: str, files: Mapping[str, Any]) -> None:
        """A repository; what is no bytes and no Weights is written as JSON."""
        self.repositories[hub_id] = {
            name: content if isinstance(content, (bytes, Weights)) else json.dumps(content).encode()
            for name, content in files.items()
        }

    def times_asked(self, part: str) -> int:
        return sum(part in line for line in self.asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.asked.append(f"{self.command} {path}")
        hub.tokens.add(self.headers.get("Authorization"))
        if hub.delay_s:
            threading.Event().wait(hub.delay_s)
        if path in hub.failures:
            status, headers = hub.failures[path]
            return self._send(status, b"", headers, body)
        if path in hub.raw:
            return self._send(200, hub.raw[path], {"Content-Type": "application/json"}, body)
        listing = re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path)
        if listing:
            return self._listing(listing[1], listing[2], body)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        content = hub.repositories.get(file[1], {}).get(file[3]) if file else None
        if content is None:
            code = "EntryNotFound" if file and file[1] in hub.repositories else "RepoNotFound"
            return self._send(404, b"", {"X-Error-Code": code}, body)
        return self._file(content, body)

    def _listing(self, hub_id: str, revision: str | None, body: bool) -> None:
        files = self.hub.repositories.get(hub_id)
        if files is None:
            return self._send(404, b"", {"X-Error-Code": "RepoNotFound"}, body)
        if revision not in (None, "main", "v1", COMMIT):
            return self._send(404, b"", {"X-Error-Code": "RevisionNotFound"}, body)
        siblings = [
            {"rfilename": name, "size": content.file_bytes if isinstance(content, Weights) else len(content)}
            for name, content in files.items()
        ]
        text = json.dumps({"_id": "1", "id": hub_id, "modelId": hub_id, "sha": COMMIT, "siblings": siblings})
        return self._send(200, text.encode(), {"Content-Type": "application/json"}, body)

    def _file(self, content: bytes | Weights, body: bool) -> None:
        whole = content.file_bytes if isinstance(content, Weights) else len(content)
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{whole:040x}"', "Accept-Ranges": "bytes"}
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.hub.ranges:
            start, stop = int(asked[1]), min(int(asked[2]) + 1, whole)
            part = content.part(start, stop) if isinstance(content, Weights) else content[start:stop]
            return self._send(206, part, {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{whole}"}, body)
        if isinstance(content, Weights) and body:
            return self._stream(content, headers)
        return self._send(200, b"" if isinstance(content, Weights) else content, headers, body, whole)

    def _stream(self, content: Weights, headers: Mapping[str, str]) -> None:
        """The whole file piece by piece, for as long as somebody reads it."""
        self._start(200, headers, content.file_bytes)
        try:
            for start in range(0, content.file_bytes, 65536):
                self.wfile.write(content.part(start, start + 65536))
                self.hub.sent_bytes += 65536
        except OSError:
            self.close_connection = True

    def _send(
        self, status: int, content: bytes, headers: Mapping[str, str], body: bool, length: int | None = None
    ) -> None:
        self._start(status, headers, len(content) if length is None else length)
        if body:
            self.wfile.write(content)
            self.hub.sent_bytes += len(content)

    def _start(self, status: int, headers: Mapping[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Somebody who has heard enough hangs up: nothing to report."""


@contextmanager
def running_hub() -> Iterator[FakeHub]:
    """A hub that answers for as long as the block runs."""
    hub = FakeHub()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
