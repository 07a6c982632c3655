"""Names inside a file: paths that begin in its own folder, and settings that a message blames."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from kvplan.catalog.files import Table
from kvplan.catalog.models import model_table

_CACHED = re.compile(r"(?:^|/)models--([\w.-]+?)--([\w.-]+?)(?:/|$)")
_FLAG = re.compile(r"--([a-z][a-z0-9-]*)")


def beside(folder: str, name: str, table_of: Callable[[tuple[str, ...]], Table], catalog: tuple[str, ...]) -> str:
    """The path of what a relative path names in the file's folder, where that exists and no catalog has the name."""
    path = os.path.join(folder, name)
    if not folder or os.path.isabs(name) or not os.path.exists(path):
        return name
    return name if table_of(catalog).find(name) is not None else path


def model_in_path(path: str, catalog: tuple[str, ...]) -> str | None:
    """The catalog's model that a path inside a container is called after: ``/models/Qwen3-32B``.

    The folder's own name must be one of the catalog's, with a figure in it; a folder of the Hub's cache has the hub id.
    """
    cached = hub_id_of_cache(path)
    name = cached or path.rstrip("/").rsplit("/", 1)[-1]
    if not cached and ("/" not in path or len(name) < 6 or not any(character.isdigit() for character in name)):
        return None
    return name if model_table(catalog).find(name) is not None else None


def hub_id_of_cache(path: str) -> str | None:
    """``owner/name`` of a folder of the Hub's cache: ``.../models--Qwen--Qwen3-32B/snapshots/...``."""
    cached = _CACHED.search(path)
    return f"{cached[1]}/{cached[2]}" if cached else None


def settings_named_in(message: str) -> tuple[str, ...]:
    """Settings whose flags a message has: ``--users must be ...`` is about ``users``."""
    return tuple(flag.replace("-", "_") for flag in _FLAG.findall(message))
