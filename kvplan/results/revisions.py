"""Git revisions as folders: the files of a commit, written into a temporary folder for the time of a comparison.

Only plumbing is used (``rev-parse``, ``ls-tree``, ``cat-file --batch``): no checkout, no filter, no textconv, no hook,
no fetch. The user's working tree, index and references stay as they are. Links and submodules are left out: they may
lead out of the tree.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvplan.errors import InputError
from kvplan.units import GIB, KIB, MIB, shorten

_LARGEST_BYTES = 4 * MIB
"""No deployment file is larger."""
_LARGEST_JOINED_BYTES = 256 * KIB
"""Of files outside the paths that were asked for, which others may refer to: configuration, not data."""
_JOINED = (".yaml", ".yml", ".toml", ".env", ".json", ".ini", ".conf", ".cfg", ".service", ".container", ".properties",
           ".sh", ".tpl")  # fmt: skip
_MOST_BYTES = GIB
_HELD_BYTES = 64 * MIB
_TIMEOUT_S = 120.0
_REGULAR = (b"100644", b"100755", b"100664")


class Blob(NamedTuple):
    """One file of a tree."""

    path: bytes
    name: bytes
    """Of the object."""
    bytes: int


class Repository(NamedTuple):
    """The repository that a folder is in."""

    top: str
    """The root of the working tree."""
    inside: str
    """The folder, from there: ``""`` or ``deploy/``."""


def repository_of(folder: str) -> Repository:
    """The repository around a folder. InputError outside of one, and where there is no git."""
    try:
        lines = _git(folder, "rev-parse", "--show-toplevel", "--show-prefix").decode("utf-8", "surrogateescape")
    except InputError as error:
        if "not a git repository" in error.message:
            raise InputError("the current folder is in no git repository", help="compare two folders") from None
        raise
    top, _, rest = lines.partition("\n")
    return Repository(top, rest.rstrip("\n"))


def commit_of(folder: str, revision: str) -> str | None:
    """The full id of the commit that a revision names; None where it names none."""
    if revision.startswith("-") or "\0" in revision or "\n" in revision:
        return None
    try:
        found = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except InputError:
        return None
    text = found.decode("ascii", "replace").strip()
    return text if text and all(letter in "0123456789abcdef" for letter in text) else None


def write_tree(repository: Repository, commit: str, wanted: Sequence[str], folder: str) -> None:
    """The files of a commit below ``folder``: all of the wanted paths, and the small ones beside them."""
    os.mkdir(os.path.join(folder, ".git"))  # what marks the root of a repository; nothing is in it
    blobs = [blob for blob in _blobs(repository, commit) if _is_wanted(blob, wanted)]
    if sum(blob.bytes for blob in blobs) > _MOST_BYTES:
        raise InputError("more than 1 GiB of files would be compared", help="name the folders that hold deployments")
    for blob, data in zip(blobs, _contents(repository, blobs), strict=True):
        path = os.path.join(os.fsencode(folder), *blob.path.split(b"/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def _blobs(repository: Repository, commit: str) -> Iterator[Blob]:
    listed = _git(repository.top, "ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    for record in filter(None, listed.split(b"\0")):
        facts, _, path = record.partition(b"\t")
        mode, kind, name, length = facts.split()
        if kind == b"blob" and mode in _REGULAR and length.isdigit() and _is_safe(path):
            yield Blob(path, name, int(length))


def _is_safe(path: bytes) -> bool:
    """Whether a path stays below the folder that it is written to, on any system."""
    parts = path.split(b"/")
    return not any(part in (b"", b".", b"..") or part.lower() == b".git" or b"\\" in part for part in parts) and not (
        os.name == "nt" and b":" in path
    )


def _is_wanted(blob: Blob, wanted: Sequence[str]) -> bool:
    if blob.bytes > _LARGEST_BYTES:
        return False
    path = blob.path.decode("utf-8", "surrogateescape")
    if any(one == "" or path == one or path.startswith(one + "/") for one in wanted):
        return True
    name = path.rpartition("/")[2].lower()
    return blob.bytes <= _LARGEST_JOINED_BYTES and (name.endswith(_JOINED) or "." not in name.lstrip("."))


def _contents(repository: Repository, blobs: Sequence[Blob]) -> Iterator[bytes]:
    """The bytes of each, in this order, out of few processes that hold few of them at a time."""
    group: list[Blob] = []
    held_bytes = 0
    for blob in blobs:
        group.append(blob)
        held_bytes += blob.bytes
        if held_bytes >= _HELD_BYTES:
            yield from _group_contents(repository, group)
            group, held_bytes = [], 0
    if group:
        yield from _group_contents(repository, group)


def _group_contents(repository: Repository, blobs: Sequence[Blob]) -> Iterator[bytes]:
    answer = _git(repository.top, "cat-file", "--batch", stdin=b"".join(blob.name + b"\n" for blob in blobs))
    at = 0
    for blob in blobs:
        end = answer.find(b"\n", at)
        if answer[at:end].split() != [blob.name, b"blob", str(blob.bytes).encode()]:
            shown = shorten(blob.path.decode("utf-8", "replace"), 200)
            raise InputError("is not in this clone", where=shown, help="git fetch it, or clone without --filter")
        yield answer[end + 1 : end + 1 + blob.bytes]
        at = end + 1 + blob.bytes + 1


def _git(folder: str, *arguments: str, stdin: bytes = b"") -> bytes:
    """What one git command prints. InputError where it fails; no protocol is allowed, so that nothing is fetched."""
    environment = {
        **os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C",
    }  # fmt: skip
    command = ["git", "--no-pager", "-C", folder, *arguments]
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, timeout=_TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise InputError("git is not installed", help="compare two folders instead") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"git {arguments[0]} took more than {_TIMEOUT_S:.0f} s") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"git {arguments[0]}: {shorten(lines[0] if lines else 'failed', 160)}")
    return done.stdout
