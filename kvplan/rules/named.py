"""Names inside a file: paths that begin in its own folder, and settings that a message blames."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from kvplan.catalog.files import Table

_FLAG = re.compile(r"--([a-z][a-z0-9-]*)")


def beside(folder: str, name: str, table_of: Callable[[tuple[str, ...]], Table], catalog: tuple[str, ...]) -> str:
    """The path of what a relative path names in the file's folder, where that exists and no catalog has the name."""
    path = os.path.join(folder, name)
    if not folder or os.path.isabs(name) or not os.path.exists(path):
        return name
    return name if table_of(catalog).find(name) is not None else path


def settings_named_in(message: str) -> tuple[str, ...]:
    """Settings whose flags a message has: ``--users must be ...`` is about ``users``."""
    return tuple(flag.replace("-", "_") for flag in _FLAG.findall(message))
