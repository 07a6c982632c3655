"""A flag that no version of an engine has: what was probably meant."""

from __future__ import annotations

import re

from kvplan.deployments.flag_table import FlagTable
from kvplan.deployments.found import Complaint, Place

_LITERAL = re.compile(r"--[A-Za-z][\w-]*(?:\.[\w.-]+)?\+?|-[A-Za-z][\w-]*")


def complaint_of(table: FlagTable, written: str, flag: str | None, place: Place) -> Complaint | None:
    """A word of doubt about a flag that the table does not have. Never one that stops a verdict.

    None where the table is not complete, or the word is no literal flag: a placeholder, or a text for somebody else.
    """
    if not table.complete or not _LITERAL.fullmatch(written):
        return None
    if flag is None:
        return Complaint(f"{table.engine} has no flag {written}", place, "take it out, or write it in full", "warn")
    could_be = table.longer(flag)
    if len(could_be) > 1:
        listed = ", ".join(f"--{name}" for name in could_be[:4]) + (" ..." if len(could_be) > 4 else "")
        return Complaint(
            f"{written} may be any of {listed}: {table.engine} refuses it", place, "write it in full", "warn"
        )
    close = _closest(flag, table)
    if close is None:
        return Complaint(f"{table.engine} up to the newest known version has no flag {written}", place, level="info")
    message = f"{table.engine} has no flag {written}: it refuses to start, or another program reads it"
    return Complaint(message, place, f"did you mean --{close}?", "warn")


def _closest(flag: str, table: FlagTable) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(flag, sorted(table.flags), n=1, cutoff=0.82)), None)
