"""Clean text -> starts: lines that say something are cut where another start begins, and their figures gathered."""

from __future__ import annotations

import re

from kvplan.engine_logs.interface import Draft, EngineStart, LogFormat, LogLine
from kvplan.engine_logs.key_values import number_of
from kvplan.engine_logs.reading import LogText, lines_with
from kvplan.units import GIB, MIB

MOST_STARTS = 1000
MOST_RANKS = 4096
_UNITS = {"gib": GIB, "mib": MIB, "bytes": 1}


def starts_of(log_format: LogFormat, log: LogText) -> list[EngineStart]:
    """Every start, in the order of the log; those about which nothing was said are left out."""
    drafts = [Draft()]
    for text in lines_with(log.data, log_format.keywords):
        line = LogLine(_rank(log_format, text), text)
        if log_format.opens(line, drafts[-1]) and len(drafts) < MOST_STARTS:
            drafts.append(Draft())
        draft = drafts[-1]
        read = log_format.read(line, draft)
        if _gather(log_format, line, draft) or read:
            draft.recognised += 1
    return [_start(log_format, draft) for draft in drafts if draft.recognised]


def _start(log_format: LogFormat, draft: Draft) -> EngineStart:
    ranks = tuple(sorted(log_format.finish(draft), key=lambda rank: _natural(rank.name)))
    complete = any({"kv_pool_bytes", "kv_tokens"} & rank.figures.keys() for rank in ranks)
    return EngineStart(log_format.engine, draft.version, draft.said, ranks, draft.recognised, complete)


def _natural(name: str) -> list[tuple[int, str]]:
    """TP2 before TP10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,9})", name)]


def _rank(log_format: LogFormat, text: str) -> str:
    match = log_format.rank_pattern.search(text, 0, 400)
    return " ".join(part.strip() for part in match.groups() if part) if match else ""


def _gather(log_format: LogFormat, line: LogLine, draft: Draft) -> bool:
    """Every figure that the line prints."""
    found = False
    for pattern in log_format.figure_patterns:
        match = pattern.search(line.text)
        if match is None:
            continue
        groups = match.groupdict()
        rank = groups.pop("rank", None) or line.rank
        if rank not in draft.values and len(draft.values) >= MOST_RANKS:
            continue
        for name, text in groups.items():
            value = None if text is None else number_of(text)
            if value is None:
                continue
            figure, _, unit = name.rpartition("_")
            scale = _UNITS.get(unit)
            draft.add(rank, name if scale is None else f"{figure}_bytes", value * (scale or 1))
            found = True
    return found
