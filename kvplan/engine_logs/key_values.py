"""Settings as engines print them: ``name=value, ...`` of a Python object, or ``'name': value, ...`` of a dictionary."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kvplan.engine_logs.interface import Value

_PAIR = re.compile(
    r"(?:^|[\s{(\[,'\"])(?P<key>[a-z_]\w*)['\"]?\s{0,4}[:=]\s{0,4}"
    r"(?P<value>'[^'\n]{0,4096}'|\"[^\"\n]{0,4096}\"|[^,(){}\[\]=\s'\"]{1,200})"
)


def pairs(text: str, names: Mapping[str, str]) -> dict[str, Value]:
    """The first value of every wanted key; ``names`` says what each is called here. None and auto are left out."""
    found: dict[str, Value] = {}
    for match in _PAIR.finditer(text):
        name = names.get(match["key"])
        if name is not None and name not in found:
            value = plain(match["value"])
            if value is not None:
                found[name] = value
    return found


def plain(text: str) -> Value | None:
    """``'auto'`` -> None, ``8192`` -> an int, ``True`` -> a bool, the rest text without its quotes."""
    bare = text.strip("'\"").strip()
    if bare.lower() in ("", "none", "auto", "null"):
        return None
    if bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if text[:1] not in "'\"":
        number = number_of(bare)
        if number is not None:
            return int(number) if number == int(number) and "." not in bare else number
    return bare


def number_of(text: str) -> float | None:
    """``178,880`` -> 178880.0; None where it is no finite number that fits."""
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if abs(number) < 2**53 else None
