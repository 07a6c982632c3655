"""KV402: this version of the engine has a default or a defect that the file runs into. The finding has the link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvplan.deployments.commands.flag_history import CHANGED_DEFAULTS
from kvplan.engines.versions import release
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding, reported

ID = "KV402"
TITLE = "a default or a defect of this engine version"
LEVEL = "warn"


class VersionNote(NamedTuple):
    """What some versions of an engine do. Adding one is adding a row."""

    engine: str
    first: str | None
    fixed: str | None
    """The first version without it; None: not known, or not yet."""
    settings: tuple[str, ...]
    """Which lines are to blame."""
    applies: Callable[[Context], bool]
    message: str
    remedy: str
    source: str


def _auto_host_tier(context: Context) -> bool:
    """TensorRT-LLM's second cache manager keeps a host tier that nobody asked for, one for each rank."""
    if context.has("host_cache_bytes_per_rank") or "TRTLLM_KVCACHE_HOST_SIZE_OVERRIDE" in context.found.variables:
        return False
    chosen = str(context.translated.values.get("use_kv_cache_manager_v2", "")).lower()
    windows = context.model is not None and any(layers.window_tokens for layers in context.model.kv)
    return chosen == "true" or (chosen in ("", "auto") and windows and not _is_older(context, "1.3.0"))


OWN_DEFAULTS = ("gpu_memory_utilization", "enforce_eager")
"""Settings whose own default changed: a file that gives them is not concerned. Where it does not, and the verdict is
another one under the older default, that is said too."""


def _has_windows(context: Context) -> bool:
    """Whether the hybrid KV manager makes a difference for this model; one that is not known is a question already."""
    model = context.declared_model or context.model
    return model is not None and any(layers.window_tokens or layers.state is not None for layers in model.kv)


def _by_lmcache(context: Context) -> bool:
    return str(context.translated.values.get("kv_offloading_backend", "")).lower() == "lmcache"


_CHANGES: dict[str, Callable[[Context], bool]] = {
    "kv_transfer_config": _has_windows,
    "kv_offloading_backend": _by_lmcache,
}
"""Settings whose meaning changed for some deployments only."""

NOTES = (
    VersionNote(
        "tensorrt-llm",
        "1.0.0",
        None,
        ("use_kv_cache_manager_v2", "tp", "model"),
        _auto_host_tier,
        "without host_cache_size the V2 cache manager takes a host tier by itself, one for each rank and each up to "
        "half of the node's free memory: 4 ranks took 650 GiB of 440",
        "set kv_cache_config.host_cache_size, in bytes for each rank",
        "https://github.com/NVIDIA/TensorRT-LLM/pull/16106",
    ),
)


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    engine, version = _engine(context)
    yield from _changed(context, engine, version)
    for note in NOTES:
        if note.engine == engine and _concerns(note, version) and note.applies(context):
            yield finding(
                ID, LEVEL, context, note.settings, f"{note.message} ({note.source})",
                figures={"source": note.source, "first": note.first, "fixed": note.fixed}, remedy=note.remedy,
            )  # fmt: skip


def _changed(context: Context, engine: str, version: tuple[int, ...] | None) -> Iterator[Finding]:
    """What a setting of the file means depends on a version that the file does not name."""
    for change in CHANGED_DEFAULTS if version is None else ():
        if change.engine != engine or not context.has(change.setting):
            continue
        if context.translated.values.get(change.setting) and change.setting in OWN_DEFAULTS:
            continue
        if change.setting in _CHANGES and not _CHANGES[change.setting](context):
            continue
        message = f"before {engine} {change.since} {change.before}; since then {change.after} ({change.source})"
        yield finding(
            ID, LEVEL, context, (change.setting,), f"{change.setting}: {message}",
            figures={"since": change.since, "source": change.source}, remedy="name the version: pin the image's tag",
        )  # fmt: skip


def _engine(context: Context) -> tuple[str, tuple[int, ...] | None]:
    named, _, version = str(context.translated.values.get("engine", "")).partition("@")
    try:
        return (named or context.found.engine).lower(), release(version) if version else None
    except InputError:
        return (named or context.found.engine).lower(), None


def _concerns(note: VersionNote, version: tuple[int, ...] | None) -> bool:
    """Whether a version is one of the note's; one that is not named may be any."""
    if version is None:
        return True
    after = note.first is None or version >= release(note.first)
    return after and (note.fixed is None or version < release(note.fixed))


def _is_older(context: Context, than: str) -> bool:
    version = _engine(context)[1]
    return version is not None and version < release(than)
