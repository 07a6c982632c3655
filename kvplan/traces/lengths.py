"""Prompt and output lengths of the requests in a trace file.

CSV with a header (Azure: ContextTokens, GeneratedTokens; BurstGPT: Request tokens, Response tokens; Vidur:
num_prefill_tokens, num_decode_tokens) or one JSON object a line (Mooncake and Qwen-Bailian: input_length,
output_length; LLMServingSim: input_toks, output_toks).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kvplan.errors import InputError
from kvplan.units import GIB, shorten

LARGEST_TRACE_BYTES: Final = 4 * GIB
MOST_TOKENS: Final = 2**40
_COLUMNS: Final = (
    ("ContextTokens", "GeneratedTokens"),
    ("Request tokens", "Response tokens"),
    ("num_prefill_tokens", "num_decode_tokens"),
    ("input_length", "output_length"),
    ("input_toks", "output_toks"),
    ("prompt_tokens", "output_tokens"),
)
"""(prompt, output) columns."""


def request_lengths(path: str) -> list[tuple[int, int]]:
    """(prompt, output) tokens of every request. InputError names the line that can't be read."""
    where = shorten(path, 200)
    _check_file(path, where)
    requests = []
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
        rows = _json_rows(stream, where) if path.lower().endswith((".jsonl", ".json")) else _csv_rows(stream, where)
        columns: tuple[str, str] | None = None
        for line, row in rows:
            columns = columns or _columns(row, where)
            prompt, output = (_tokens(row, name, f"{where}:{line}") for name in columns)
            if prompt + output > 0:
                requests.append((prompt, output))
    if not requests:
        raise InputError("holds no requests", where=where)
    return requests


def _check_file(path: str, where: str) -> None:
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"can't be read: {reason}", where=where) from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError("is not a regular file, where a request trace was expected", where=where)
    if status.st_size > LARGEST_TRACE_BYTES:
        raise InputError("is larger than 4 GiB, too large for a request trace", where=where)


def _csv_rows(stream: Any, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import csv

    reader = csv.DictReader(stream)
    try:
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"is not CSV: {shorten(str(error))}", where=f"{where}:{reader.line_num}") from None


def _json_rows(stream: Any, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import json

    for line, text in enumerate(stream, start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError("is not a JSON object", where=f"{where}:{line}") from None
        if not isinstance(row, dict):
            raise InputError("is not a JSON object", where=f"{where}:{line}")
        yield line, row


def _columns(row: Mapping[str, Any], where: str) -> tuple[str, str]:
    for names in _COLUMNS:
        if all(name in row for name in names):
            return names
    known = "; ".join(" and ".join(names) for names in _COLUMNS)
    raise InputError("has no columns of prompt and output lengths", where=where, help=f"known: {known}")


def _tokens(row: Mapping[str, Any], name: str, where: str) -> int:
    value = row.get(name)
    try:
        tokens = _whole(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1
    except (ValueError, OverflowError):
        tokens = -1
    if not 0 <= tokens <= MOST_TOKENS:
        raise InputError(f"{name} must be a whole number of tokens (it is {shorten(repr(value))})", where=where)
    return tokens


def _whole(value: int | float | str) -> int:
    """A whole number, which tables that were written by pandas often have as ``10.0``; -1 for a broken one."""
    if isinstance(value, str) and not set(value) & set(".eE"):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() else -1
