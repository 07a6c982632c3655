"""What no TOML file of a person has, and what ``tomllib`` would spend minutes on: very long lines and dotted keys."""

from __future__ import annotations

import re

LONGEST_LINE = 100_000
MOST_DOTS = 100
KEY_PART = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
"""One part of a dotted key, bare or in quotes."""
_DOTTED = re.compile(rf"(?<![\w-]){KEY_PART}(?:[ \t]*\.[ \t]*{KEY_PART}){{{MOST_DOTS + 1}}}")
"""Keys in inline tables too. A list of numbers has commas between its dots."""


def too_long(text: str) -> tuple[int, str] | None:
    """(line, what is wrong) of the first line that is refused before parsing."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            return number, f"a line is longer than {LONGEST_LINE:,} characters"
        if line.count(".") > MOST_DOTS and _DOTTED.search(line):
            return number, f"a key has more than {MOST_DOTS} dots"
    return None
