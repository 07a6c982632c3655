"""What engines no longer take, do not take yet, never took, and what they came to mean: flags, variables, defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kvplan.engines.versions import release


class Life(NamedTuple):
    """The releases that have a flag. None: before the oldest release that was read, or still there."""

    added: str | None
    removed: str | None


class NotThere(NamedTuple):
    """A flag that one version does not have."""

    flag: str
    removed: str | None
    """The release that took it out; None where the version is older than the flag."""
    added: str | None
    instead: str | None
    source: str


class Ignored(NamedTuple):
    """A name that looks like a setting and that nothing reads."""

    name: str
    setting: str
    """The setting that it does not change."""
    instead: str
    source: str


class ChangedDefault(NamedTuple):
    """A default that is another one since a release."""

    engine: str
    setting: str
    since: str
    before: str
    after: str
    source: str


CHANGED_DEFAULTS: Final = (
    ChangedDefault("vllm", "gpu_memory_utilization", "0.20", "0.9", "0.92", "CacheConfig, vLLM 0.19.1 and 0.20.0"),
    ChangedDefault("vllm", "kv_transfer_config", "0.23", "any connector turns the hybrid KV manager off",
                   "only a connector without support for it does", "VllmConfig, vLLM 0.22.1 and 0.23.0"),
)  # fmt: skip

_LIVES: Final = {"vllm": {"swap-space": Life(None, "0.18.0"), "kv-offloading-size": Life("0.11.1", None)}}
_IGNORED: Final = (
    Ignored("MAX_SEQUENCE_LENGTH", "max_model_len", "--max-model-len", "vLLM issue 10517: the model's own limit held"),
)


def life_of(engine: str, flag: str) -> Life | None:
    """The releases that have a long flag; None for an engine whose releases were not read, and for no flag of it."""
    return _LIVES.get(engine, {}).get(flag)


def not_there(engine: str, version: str, flags: Iterable[str]) -> Iterator[NotThere]:
    """The flags that this version of the engine does not have, though another one does: it refuses to start."""
    now = _padded(version)
    for flag in flags:
        life = life_of(engine, flag)
        if life is None:
            continue
        gone = life.removed is not None and now >= _padded(life.removed)
        if gone or (life.added is not None and now < _padded(life.added)):
            yield NotThere(flag, life.removed if gone else None, life.added, None, "vLLM's argument definitions")


def ignored_variables(engine: str, variables: Iterable[str], settings: Iterable[str]) -> Iterator[Ignored]:
    """Variables that name a setting and change nothing, where the command line does not set it either."""
    given = set(settings)
    for name in variables:
        found = next((item for item in _IGNORED if item.name == name), None)
        if found is not None and engine == "vllm" and found.setting not in given:
            yield found


def _padded(version: str) -> tuple[int, ...]:
    return (*release(version), 0, 0, 0)[:4]
