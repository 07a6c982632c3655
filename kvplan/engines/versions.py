"""Engine versions as numbers that compare."""

from __future__ import annotations

import re

from kvplan.errors import InputError
from kvplan.units import shorten


def release(version: str) -> tuple[int, ...]:
    """``0.19.1rc2`` -> (0, 19, 1): the release numbers, leading v and suffixes dropped."""
    match = re.match(r"^v?(\d+(?:\.\d+)*)", version.strip())
    if match is None:
        raise InputError(f"engine version {shorten(version)!r} does not begin with a number such as 0.19")
    numbers = tuple(int(part) for part in match[1].split(".")[:4])
    if any(number > 10**6 for number in numbers):
        raise InputError(f"engine version {shorten(version)!r} is out of range")
    return numbers


def within(version: str, *, engine: str, oldest: str, newest: str) -> str:
    """The version as given, if its rules are modelled; InputError that names the span otherwise."""
    asked = release(version)
    newest_numbers = release(newest)
    if asked < release(oldest) or asked[: len(newest_numbers)] > newest_numbers:
        raise InputError(
            f"{engine} {shorten(version)} is not modelled",
            help=f"modelled: {engine} {oldest} to {newest}",
        )
    return version.strip().removeprefix("v")
