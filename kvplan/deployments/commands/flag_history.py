"""Flags that came and went, and names that an engine never reads, by engine."""

from __future__ import annotations

from typing import NamedTuple


class FlagChange(NamedTuple):
    """A flag's life."""

    flag: str
    """Long, without its dashes."""
    added: str | None
    """The first version that has it; None: as long as kvplan looks back."""
    removed: str | None
    """The first version that refuses it; None: it is still there."""
    effect: str
    """What happens with it, or instead of it."""
    source: str


_HISTORY: dict[str, tuple[FlagChange, ...]] = {
    "vllm": (
        FlagChange(
            "swap-space",
            None,
            "0.18.0",
            "an unknown argument: the server does not start",
            "https://github.com/unslothai/unsloth-zoo/issues/1210",
        ),
    ),
}

_IGNORED: dict[str, dict[str, tuple[str, str]]] = {
    "vllm": {
        "MAX_SEQUENCE_LENGTH": (
            "vLLM reads no such variable: the length is the model's own",
            "https://github.com/vllm-project/vllm/issues/10517",
        ),
        "LMCACHE_CONFIG_PATH": (
            "LMCache reads LMCACHE_CONFIG_FILE: its defaults hold, 5 GiB for each rank",
            "https://docs.lmcache.ai/api_reference/configurations.html",
        ),
    },
}


def history(engine: str) -> tuple[FlagChange, ...]:
    """What changed under an engine's flags."""
    return _HISTORY.get(engine, ())


def ignored(engine: str) -> dict[str, tuple[str, str]]:
    """Name of a flag or a variable -> why the engine does not read it, and the source."""
    return _IGNORED.get(engine, {})
