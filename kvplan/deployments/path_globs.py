"""Shell patterns for paths, as ignore files have them."""

from __future__ import annotations

import re
from functools import lru_cache


def glob_matches(pattern: str, path: str) -> bool:
    """Whether a path, relative and with ``/``, is one that the pattern means.

    ``**`` stands for any folders and ``*`` stays within one name. A pattern without a slash is a name anywhere; one
    that names a folder means all that is in it.
    """
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.removeprefix("./").strip("/")
    anywhere = "(?:.*/)?" if "/" not in pattern.removeprefix("./").rstrip("/") else ""
    return re.compile(f"{anywhere}{_translated(text)}(?:/.*)?", re.DOTALL)


def _translated(text: str) -> str:
    found, position = [], 0
    while position < len(text):
        if text.startswith("**/", position):
            found.append("(?:.*/)?")
            position += 3
        elif text.startswith("**", position):
            found.append(".*")
            position += 2
        else:
            found.append({"*": "[^/]*", "?": "[^/]"}.get(text[position], re.escape(text[position])))
            position += 1
    return "".join(found)
