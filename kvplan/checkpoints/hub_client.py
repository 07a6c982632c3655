"""One model repository on the Hugging Face Hub, read with ``huggingface_hub``: the only place that reaches a network.

The library brings the endpoint (``HF_ENDPOINT``), the token (``HF_TOKEN``), its cache and its offline mode. Every
request has a time limit and every answer a length limit, and whatever fails ends in one clear line.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

from kvplan.errors import InputError, KvplanError
from kvplan.units import shorten

LISTING_TIMEOUT_S: Final = 20.0
RANGE_TIMEOUT_S: Final = 60.0
"""For the header of one file of weights, which is at most some megabytes."""
_OURSELVES: Final = "kvplan"
"""As the Hub is told who asks."""
_CHUNK_BYTES: Final = 65_536
_RETRIES: Final = 2
_HOW_TO_INSTALL: Final = "pip install 'kvplan[hub]'"
_TOKEN_HELP: Final = "set HF_TOKEN to a token that may read it"

Answer = TypeVar("Answer")


class Span(NamedTuple):
    """Some bytes of a file, and how long the file is."""

    data: bytes
    file_bytes: int


class HubRepository:
    """A repository at one revision. Nothing is asked for until a method is called."""

    def __init__(self, hub_id: str, revision: str | None) -> None:
        self.where = hub_id if revision is None else f"{hub_id}@{revision}"
        self._hub = _library()
        self._hub_id, self._revision = hub_id, revision
        self._endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or self._hub.constants.ENDPOINT
        self._api = self._hub.HfApi(endpoint=self._endpoint, library_name=_OURSELVES)
        self.offline = bool(self._hub.constants.HF_HUB_OFFLINE)
        self.commit: str | None = None
        """The commit that a listing was made of, or that the cache has; what comes after is read at that commit."""
        self._lengths: dict[str, int | None] = {}

    def listing(self) -> dict[str, int | None]:
        """Files at the top of the repository and their lengths, where the Hub states them."""
        info = self._ask(
            lambda: self._api.model_info(
                self._hub_id, revision=self._revision, files_metadata=True, timeout=LISTING_TIMEOUT_S
            )
        )
        self.commit = info.sha if isinstance(info.sha, str) and info.sha.isalnum() else None
        names = {item.rfilename: item.size for item in info.siblings or () if isinstance(item.rfilename, str)}
        self._lengths = {name: length for name, length in names.items() if "/" not in name and "\\" not in name}
        return self._lengths

    def small_file(self, name: str, most_bytes: int) -> str:
        """A file in the library's cache, downloaded where it isn't there yet; its path. Offline: the cache alone.

        The config is asked for by the revision's own name, so that the cache knows later which commit that was.
        """
        length = None if self.offline else self._length(name)
        if length is not None and length > most_bytes:
            raise InputError(f"{name} has {length:,} bytes; {most_bytes:,} are the limit", where=self.where)
        at = self._revision if name == "config.json" else self.commit or self._revision
        path: str = self._ask(
            lambda: self._hub.hf_hub_download(
                self._hub_id,
                name,
                revision=at,
                endpoint=self._endpoint,
                local_files_only=self.offline,
                library_name=_OURSELVES,
            )  # fmt: skip
        )
        return path

    def cached(self, name: str) -> str | None:
        """The path of a whole file that the library's cache has, without asking the Hub."""
        found = self._hub.try_to_load_from_cache(self._hub_id, name, revision=self.commit or self._revision)
        return found if isinstance(found, str) else None

    def _url(self, name: str) -> str:
        at = self.commit or self._revision
        url: str = self._hub.hf_hub_url(self._hub_id, name, revision=at, endpoint=self._endpoint)
        return url

    def _length(self, name: str) -> int | None:
        """As the listing states it; a mirror of the Hub may state none."""
        length = self._lengths.get(name)
        if length is not None:
            return length
        found: int | None = self._ask(
            lambda: self._api.get_hf_file_metadata(url=self._url(name), timeout=LISTING_TIMEOUT_S).size
        )
        return found

    def span(self, name: str, start: int, stop: int) -> Span:
        """Bytes ``start`` to ``stop`` of a file (fewer at its end) by one range request, and the length of the file.

        A server that knows no ranges sends the whole file: it is read up to ``stop`` and no further.
        """
        return self._ask(lambda: self._streamed(self._url(name), start, stop))

    def _streamed(self, url: str, start: int, stop: int) -> Span:
        headers = self._hub.utils.build_hf_headers(library_name=_OURSELVES)
        headers |= {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        deadline = time.monotonic() + RANGE_TIMEOUT_S
        stream = self._hub.utils.http_stream_backoff
        with stream("GET", url, headers=headers, timeout=LISTING_TIMEOUT_S, max_retries=_RETRIES) as response:
            self._hub.utils.hf_raise_for_status(response)
            whole = response.status_code != 206
            file_bytes = _whole_number(
                response.headers.get("Content-Length") if whole
                else response.headers.get("Content-Range", "").rpartition("/")[2]
            )  # fmt: skip
            skip, data = start if whole else 0, b""
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                data += chunk
                if len(data) >= skip + stop - start:
                    break
                if time.monotonic() > deadline:
                    raise InputError(f"the Hub took longer than {RANGE_TIMEOUT_S:.0f} s to send a header")
            return Span(data[skip : skip + stop - start], file_bytes)

    def _ask(self, request: Callable[[], Answer]) -> Answer:
        """The answer of the library, or one clear line why there is none."""
        try:
            return request()
        except KvplanError as error:
            raise InputError(error.message, where=self.where, help=error.help) from None
        except Exception as error:  # of the library, of its HTTP client, of TLS, or of an answer in another form
            raise self._in_one_line(error) from None

    def _in_one_line(self, error: Exception) -> InputError:
        if type(error).__name__ == "LocalEntryNotFoundError" and isinstance(error.__cause__, Exception):
            error = error.__cause__  # the library looked into its cache because the Hub failed: why it did
        kinds = {kind.__name__ for kind in type(error).__mro__}
        for kind, (message, advice) in _FAILURES.items():
            if kind in kinds:
                return InputError(message, where=self.where, help=advice)
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status is not None:
            return InputError(f"the Hub refused with HTTP status {status}", where=self.where, help=_ADVICE.get(status))
        if isinstance(error, (LookupError, TypeError, AttributeError, ValueError)):
            return InputError(f"{self._endpoint} answered in a form that is not the Hub's", where=self.where)
        reason = " ".join(str(error).split()) or type(error).__name__
        return InputError(f"{self._endpoint} can't be reached: {shorten(reason, 160)}", where=self.where)


_FAILURES: Final = {
    "GatedRepoError": ("is gated: its owner must let you in", f"accept its terms on the Hub, and {_TOKEN_HELP}"),
    "DisabledRepoError": ("is disabled on the Hub", None),
    "RepositoryNotFoundError": ("there is no such model on the Hub, or it is private", _TOKEN_HELP),
    "RevisionNotFoundError": ("the model has no such revision", "give a branch, a tag or a commit after the @"),
    "LocalEntryNotFoundError": ("a file of it is not in the cache, and the Hub was not asked", None),
    "EntryNotFoundError": ("the model lacks a file that it lists", None),
    "OfflineModeIsEnabled": ("HF_HUB_OFFLINE is set, so the Hub was not asked", None),
    "HFValidationError": ("is not a name that a model on the Hub can have", None),
    "TimeoutException": ("the Hub did not answer in time", None),
    "TimeoutError": ("the Hub did not answer in time", None),
}
"""Class of an error, the narrower one first -> what to say, what to do."""

_ADVICE: Final = {401: _TOKEN_HELP, 403: _TOKEN_HELP, 429: "wait a little; with HF_TOKEN more requests are allowed"}


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars, log lines, warnings or telemetry of the library meanwhile.

    kvplan says itself what went wrong, and asks for nothing that the model isn't read from.
    """
    library = _library()
    controls, constants = library.utils, library.constants
    verbosity, bars_off = controls.logging.get_verbosity(), controls.are_progress_bars_disabled()
    telemetry_off = constants.HF_HUB_DISABLE_TELEMETRY
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controls.logging.set_verbosity(controls.logging.CRITICAL)
        controls.disable_progress_bars()
        constants.HF_HUB_DISABLE_TELEMETRY = True
        try:
            yield
        finally:
            constants.HF_HUB_DISABLE_TELEMETRY = telemetry_off
            controls.logging.set_verbosity(verbosity)
            if not bars_off:
                controls.enable_progress_bars()


def _whole_number(text: str | None) -> int:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise InputError("the Hub does not state how long a file is")
    return int(text)


def _library() -> Any:
    """``huggingface_hub``, if it is there and new enough."""
    try:
        import huggingface_hub
        from huggingface_hub import constants, utils  # which the package itself loads only when they are asked for
    except ImportError:
        raise InputError("--fetch needs the library huggingface_hub", help=_HOW_TO_INSTALL) from None
    except Exception as error:  # it reads its variables when it is loaded, and stumbles over wrong ones
        reason = shorten(" ".join(str(error).split()) or type(error).__name__, 160)
        raise InputError(f"huggingface_hub can't be loaded: {reason}", help="see to the variables HF_*") from None
    if not hasattr(utils, "http_stream_backoff") or not hasattr(constants, "HF_HUB_OFFLINE"):
        raise InputError("--fetch needs huggingface_hub 1.0 or newer", help=_HOW_TO_INSTALL)
    return huggingface_hub
