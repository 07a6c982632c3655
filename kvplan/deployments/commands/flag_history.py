"""What engines no longer take, do not take yet, and never took: flags by version, and variables that nothing reads.

Rules ask here whether a file's flags exist in the version that its image names. Releases and flags are data of
``*_flag_versions.py``; what to write instead is in ``flag_advice.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from kvplan.deployments.commands.flag_advice import CHANGED_DEFAULTS as CHANGED_DEFAULTS
from kvplan.deployments.commands.flag_advice import INSTEAD
from kvplan.deployments.commands.flag_advice import ChangedDefault as ChangedDefault
from kvplan.engines.versions import release
from kvplan.errors import InputError

_VERSIONS: Final = {"vllm": "vllm_flag_versions", "sglang": "sglang_flag_versions"}


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

    @property
    def fits_itself(self) -> bool:
        """Whether the engine then fits what it takes to the memory that is free, as Ollama does with layers."""
        return self.name.startswith("OLLAMA_")


_IGNORED: Final = (
    Ignored(
        "MAX_SEQUENCE_LENGTH", "max_model_len", "--max-model-len", "https://github.com/vllm-project/vllm/issues/10517"
    ),
    Ignored("LMCACHE_CONFIG_PATH", "lmcache_gib_per_rank", "LMCACHE_CONFIG_FILE", "LMCache's config.py reads _FILE"),
    Ignored("LMCACHE_CONFIG", "lmcache_gib_per_rank", "LMCACHE_CONFIG_FILE", "LMCache's config.py reads _FILE"),
    Ignored("OLLAMA_GPU_LAYERS", "n_gpu_layers", "PARAMETER num_gpu in a Modelfile", "Ollama envconfig/config.go"),
    Ignored("OLLAMA_NUM_CTX", "ctx_size", "OLLAMA_CONTEXT_LENGTH", "Ollama envconfig/config.go"),
    Ignored("OLLAMA_NUM_GPU", "n_gpu_layers", "PARAMETER num_gpu in a Modelfile", "Ollama envconfig/config.go"),
    Ignored("OLLAMA_MAX_CONTEXT", "ctx_size", "OLLAMA_CONTEXT_LENGTH", "Ollama envconfig/config.go"),
    Ignored("LLAMA_ARG_CONTEXT_SIZE", "ctx_size", "LLAMA_ARG_CTX_SIZE", "llama.cpp common/arg.cpp"),
    Ignored("SGLANG_MEM_FRACTION_STATIC", "mem_fraction_static", "--mem-fraction-static", "SGLang environ.py"),
    Ignored("SGLANG_CONTEXT_LENGTH", "max_model_len", "--context-length", "SGLang environ.py"),
)
IGNORED_NAMES: Final = frozenset(item.name for item in _IGNORED)
_ENGINE_OF_PREFIX = {"OLLAMA_": ("ollama",), "LLAMA_ARG_": ("llama.cpp", "ollama"), "SGLANG_": ("sglang",),
                     "VLLM_": ("vllm",)}  # fmt: skip
_SETTING_OF_VARIABLE = re.compile(r"^(VLLM|SGLANG)_(.+)$")


def life_of(engine: str, flag: str) -> Life | None:
    """The releases that have a long flag; None for an engine whose releases were not read, and for no flag of it."""
    return _lives(engine).get(flag)


def not_there(engine: str, version: str, flags: Iterable[str]) -> Iterator[NotThere]:
    """The flags that this version of the engine does not have, though another one does: it refuses to start."""
    try:
        now = _padded(version)
    except InputError:
        return
    if engine in _VERSIONS and now < _padded(_data(engine).OLDEST):
        return  # older than every release that was read, or a tag that counts something else
    for flag in flags:
        life = life_of(engine, flag)
        if life is None:
            continue
        gone = life.removed is not None and now >= _padded(life.removed)
        early = life.added is not None and now < _padded(life.added)
        if (gone or early) and not _stands_for(engine, flag, now):
            instead = INSTEAD.get(engine, {}).get(flag) if gone else None
            yield NotThere(flag, life.removed if gone else None, life.added, instead, _source(engine))


def _stands_for(engine: str, flag: str, now: tuple[int, ...]) -> bool:
    """Whether this version takes it for the beginning of one other flag, as argparse does: ``--model`` for
    ``--model-path``."""
    longer = [
        name
        for name, life in _lives(engine).items()
        if name.startswith(flag) and name != flag
        and (life.added is None or now >= _padded(life.added))
        and (life.removed is None or now < _padded(life.removed))
    ]  # fmt: skip
    return len(longer) == 1


def ignored_variables(engine: str, variables: Iterable[str], settings: Iterable[str]) -> Iterator[Ignored]:
    """Variables that name a setting and change nothing, where the command line does not set it either.

    Beside the known ones these are ``VLLM_`` and ``SGLANG_`` in front of a flag's name: no flag is read that way.
    """
    given = set(settings)
    for name in variables:
        found = next((item for item in _IGNORED if item.name == name), None) or _after_a_flag(engine, name)
        if found is not None and engine in _engines_of(name, engine) and found.setting not in given:
            yield found


def _engines_of(name: str, engine: str) -> tuple[str, ...]:
    """The engines that a variable of this name is meant for; any engine where its name does not say."""
    return next((names for prefix, names in _ENGINE_OF_PREFIX.items() if name.startswith(prefix)), (engine,))


def _after_a_flag(engine: str, name: str) -> Ignored | None:
    """``VLLM_GPU_MEMORY_UTILIZATION``: the name of a flag that fills a setting, with the engine's prefix."""
    match = _SETTING_OF_VARIABLE.match(name)
    if match is None or match[1].lower() != engine or name in READ_VARIABLES:
        return None
    table = import_module(f"kvplan.deployments.commands.{engine}_flags").TABLE
    flag = match[2].lower().replace("_", "-")
    setting = table.settings.get(flag)
    if setting is None:
        return None
    return Ignored(name, setting, f"--{flag}", f"{table.engine} has no such variable")


READ_VARIABLES: Final = frozenset(("VLLM_PORT", "VLLM_API_KEY", "VLLM_DP_SIZE"))
"""Variables of vLLM that are also the names of flags."""


def _padded(version: str) -> tuple[int, ...]:
    """Release numbers of one length, so that 0.18 is no older than 0.18.0."""
    return (*release(version), 0, 0, 0)[:4]


@cache
def _lives(engine: str) -> dict[str, Life]:
    if engine not in _VERSIONS:
        return {}
    data = _data(engine)
    table = import_module(f"kvplan.deployments.commands.{engine}_flags").TABLE
    added = {flag: version for version, flags in data.ADDED.items() for flag in flags.split()}
    removed = {flag: version for version, flags in data.REMOVED.items() for flag in flags.split()}
    return {flag: Life(added.get(flag), removed.get(flag)) for flag in table.flags}


def _source(engine: str) -> str:
    data = _data(engine)
    table = import_module(f"kvplan.deployments.commands.{engine}_flags").TABLE
    return f"argument definitions of {table.engine} {data.OLDEST} to {data.NEWEST}"


def _data(engine: str) -> Any:
    return import_module(f"kvplan.deployments.commands.{_VERSIONS[engine]}")
