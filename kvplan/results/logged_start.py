"""A start that a log tells of -> the words that describe it: the model by name, the version that is modelled."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from kvplan.catalog.models import load_model, model_table
from kvplan.deployments.words import Words
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.engine_logs.interface import EngineStart
from kvplan.engines import find_engine
from kvplan.engines.versions import release
from kvplan.errors import InputError, UnknownName
from kvplan.units import shorten

_HUB_CACHE = re.compile(r"models--([\w.-]+?)--([\w.-]+)")
_GGUF_ENDING = re.compile(r"[-.](?:UD-)?(?:I?Q\d\w*|B?F(?:16|32)|MXFP4\w*)(?:-\d{5}-of-\d{5})?$", re.IGNORECASE)
_SIXTEEN_BITS = ("bf16", "fp16")
_ASKED = {"fp8": "fp8"}
"""What ``--quantization`` makes of a 16-bit checkpoint, as the weight type that kvplan knows."""


class LoggedStart(NamedTuple):
    """What is to be predicted."""

    words: Words
    model: Model
    notes: tuple[str, ...]


def logged_start(start: EngineStart, given: Words) -> LoggedStart:
    """The start in words; what was ``given`` on the command line goes before what the log says.

    InputError or UnknownName where the model is not settled.
    """
    model, notes = _model(start, given)
    engine, version_notes = _engine(start, given)
    layout = {name: _whole(start.said.get(name)) for name in ("tp", "pp", "dp", "dcp")}
    if find_engine(start.engine).splits_layers and len(start.ranks) > 1:
        layout["pp"] = len(start.ranks)
    said = {
        **layout,
        "ep": _whole(start.said.get("ep")),
        "weights": _weights(start, model),
        "kv_cache_dtype": _text(start.said.get("kv_cache_dtype")),
        "context": _whole(start.said.get("context")),
        "users": _whole(start.said.get("users")) or 1,
        "enforce_eager": start.said.get("enforce_eager") is True,
        "speculative_config": _text(start.said.get("speculative_config")),
        **{name: _number(start.said.get(name)) for name in ("gpu_memory_utilization", "mem_fraction_static")},
        **{name: _number(start.said.get(name)) or None for name in ("cpu_offload_gb", "kv_offloading_size")},
        **{name: _whole(start.said.get(name)) for name in ("max_model_len", "max_num_batched_tokens", "max_num_seqs",
                                                            "block_size")},
    }  # fmt: skip
    said = {name: value for name, value in said.items() if value is not None}
    flags = {name: value for name, value in given._asdict().items() if value != Words._field_defaults.get(name)}
    merged = {**said, **flags, "engine": engine}
    if given.gpus is None:
        merged["gpus"] = _gpus(merged)
    return LoggedStart(Words(**merged), model, (*notes, *version_notes))


def _gpus(words: dict[str, object]) -> int:
    count = 1
    for name in ("tp", "pp", "dp"):
        ways = words.setdefault(name, 1)
        count *= ways if isinstance(ways, int) and 0 < ways < 4096 else 1
    return count


def _model(start: EngineStart, given: Words) -> tuple[Model, tuple[str, ...]]:
    if given.model:
        return load_model(given.model, given.catalog, fetch=given.fetch), ()
    named = _text(start.said.get("model"))
    advice = "--model NAME, or a path to its config.json"
    if named is None:
        raise InputError("the log does not say which model was started", help=advice)
    for name in _candidates(named, start, given.catalog):
        model = load_model(name, given.catalog)
        note = () if name == named else (f"the log's {shorten(named)} is taken for {name}",)
        return model, note
    raise UnknownName(f"no model named {shorten(named)!r}, as the log has it", help=advice)


def _candidates(named: str, start: EngineStart, catalog: Sequence[str]) -> list[str]:
    """Catalog names that are meant by an id, a folder, a cached snapshot or a file; paths of the log are not opened."""
    table = model_table(catalog)
    cached = _HUB_CACHE.search(named)
    last = re.split(r"[/\\]", named.rstrip("/\\"))[-1]
    file = re.split(r"[/\\]", str(start.said.get("file", "")))[-1]
    short = [_GGUF_ENDING.sub("", word.removesuffix(".gguf")) for word in (last, file) if word]
    words = [named, f"{cached[1]}/{cached[2]}" if cached else "", *short, *(word.replace(" ", "-") for word in short)]
    for word in filter(None, words):
        found = table.find(word)
        if found is not None:
            return [word if word == named else found]
    ids = {alias.rsplit("/", 1)[-1]: name for alias, name in table.aliases().items() if "/" in alias}
    return [ids[word.lower()] for word in words if word and word.lower() in ids]


def _engine(start: EngineStart, given: Words) -> tuple[str, tuple[str, ...]]:
    """``NAME@VERSION``: the log's version, or the nearest one that is modelled."""
    if given.engine and "@" in given.engine:
        return given.engine, ()
    engine = find_engine(start.engine)
    version = start.version
    if version is None:
        note = f"the log names no version of {engine.name}: {engine.newest_version} is assumed, --engine sets it"
        return f"{engine.name}@{engine.newest_version}", (note,)
    word = f"b{version}" if engine.newest_version.startswith("b") else version
    try:
        return f"{engine.name}@{engine.resolve_version(word)}", ()
    except InputError:
        newest = engine.newest_version
        if release(version) < release(newest.removeprefix("b")):
            raise
        note = f"{engine.name} {version} is newer than what is modelled: judged as {newest}"
        return f"{engine.name}@{newest}", (note,)


def _weights(start: EngineStart, model: Model) -> str | None:
    """A GGUF file's type, or what is made of a 16-bit checkpoint; None for the checkpoint's own."""
    gguf = _text(start.said.get("weights"))
    if gguf in SCHEMES and gguf != model.dtype:
        return gguf
    asked = _ASKED.get(str(start.said.get("quantization")).lower())
    return asked if model.dtype in _SIXTEEN_BITS else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def log_source(paths: Sequence[str]) -> str:
    """``vllm.log, 2026-04-22``: names without folders, and the day of the newest."""
    from datetime import date, datetime, timezone

    days = []
    for path in paths:
        try:
            days.append(datetime.fromtimestamp(os.stat(path).st_mtime, timezone.utc).date())
        except (OSError, ValueError, OverflowError):
            days.append(date.today())
    names = ", ".join(dict.fromkeys("stdin" if path == "-" else os.path.basename(path) for path in paths))
    return f"{shorten(names, 120)}, {max(days).isoformat()}"
