"""Start-up logs of engines: what an engine itself said about its memory, read from whole files with all their noise.

One file an engine, found by its folder; a file defines ``FORMAT``, an object of ``interface.LogFormat``. ``reading``
bounds and cleans what comes in, ``starts`` cuts it into starts and gathers their figures by rank.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kvplan.engine_logs.interface import EngineLog, EngineStart, LogFormat, Rank
from kvplan.engine_logs.reading import LogText, read_log
from kvplan.engine_logs.starts import starts_of
from kvplan.errors import CannotJudge, InputError

_NOT_FORMATS = {"interface", "key_values", "reading", "starts"}


@cache
def all_formats() -> dict[str, LogFormat]:
    """Every format of this folder by the engine's name."""
    names = sorted(info.name for info in iter_modules(__path__) if info.name not in _NOT_FORMATS)
    formats: list[LogFormat] = [import_module(f"{__name__}.{name}").FORMAT for name in names]
    return {one.engine: one for one in formats}


def read_logs(paths: tuple[str, ...], engine: str | None = None) -> EngineLog:
    """The last complete start that these files hold together: one file, or one for each rank.

    ``engine`` is the only one looked for; None: all. CannotJudge where nothing was recognised, with what was looked
    for; InputError where a file can't be read, or where the files are of different engines.
    """
    if not paths:
        raise InputError("no log was named", help="kvplan calibrate LOG --host NAME")
    each = [_one(read_log(path), engine) for path in paths]
    engines = list(dict.fromkeys(log.start.engine for log in each))
    if len(engines) > 1:
        raise InputError(f"the logs are of different engines: {', '.join(engines)}", help="one start at a time")
    return each[0] if len(each) == 1 else _joined(paths, each)


def _one(text: LogText, engine: str | None) -> EngineLog:
    """The last complete start of one file, in the format that recognises most of it."""
    known = all_formats()
    formats = [known[engine]] if engine in known else list(known.values())
    found = {one.engine: starts_of(one, text) for one in formats}
    scores = {name: sum(start.recognised for start in starts) for name, starts in found.items()}
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is None or not scores[best]:
        raise CannotJudge("no line of an engine's start-up was recognised", where=text.name, help=looked_for(formats))
    if not any(start.ranks for start in found[best]):
        raise CannotJudge(
            f"holds lines of {best}, but none about its memory", where=text.name, help=looked_for([known[best]])
        )
    return _last(found[best], text)


def _last(starts: list[EngineStart], text: LogText) -> EngineLog:
    complete = [index for index, start in enumerate(starts) if start.complete]
    told = [index for index, start in enumerate(starts) if start.ranks]
    chosen = (complete or told)[-1]
    notes = list(text.notes)
    if len(starts) > 1:
        which = "the last complete one" if complete else "none of them is complete"
        notes.append(f"the log holds {len(starts)} starts; this is the {_ordinal(chosen + 1)}, {which}")
    if not complete:
        notes.append("this start ends before the KV cache was set up: what it says is incomplete")
    return EngineLog(starts[chosen], len(starts), tuple(notes))


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _joined(paths: tuple[str, ...], logs: list[EngineLog]) -> EngineLog:
    """Files of one start: ranks side by side, settings from the first file that says them."""
    ranks: list[Rank] = []
    said: dict[str, str | int | float | bool] = {}
    for index, log in enumerate(logs):
        said = {**log.start.said, **said}
        taken = {rank.name for rank in ranks}
        for rank in log.start.ranks:
            ranks.append(rank._replace(name=f"file {index + 1} {rank.name}".rstrip()) if rank.name in taken else rank)
    start = logs[0].start
    version = next((log.start.version for log in logs if log.start.version), None)
    recognised = sum(log.start.recognised for log in logs)
    complete = any(log.start.complete for log in logs)
    joined = start._replace(version=version, said=said, ranks=tuple(ranks), recognised=recognised, complete=complete)
    notes = [f"{path}: {note}" for path, log in zip(paths, logs, strict=True) for note in log.notes]
    return EngineLog(joined, max(log.starts for log in logs), tuple(notes))


def looked_for(formats: list[LogFormat]) -> str:
    """What was looked for, engine by engine."""
    return "looked for " + "; ".join(
        f"{one.engine}: " + ", ".join(repr(words) for words in one.looked_for) for one in formats
    )
