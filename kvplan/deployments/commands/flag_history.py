"""What engines no longer take, do not take yet, never took, and what they came to mean: flags, variables, defaults.

Rules ask here whether a file's flags exist in the version that its image names. Releases and flags are data of
``*_flag_versions.py``; what to write instead is below, with where it is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Final, NamedTuple

from kvplan.engines.versions import release
from kvplan.errors import InputError

_VERSIONS: Final = {"vllm": "vllm_flag_versions", "sglang": "sglang_flag_versions"}

INSTEAD: Final[dict[str, dict[str, str]]] = {
    "vllm": {
        "swap-space": "take it out: V1 recomputes what it preempts; --kv-offloading-size keeps KV in host memory",
        "preemption-mode": "take it out: V1 always recomputes",
        "num-scheduler-steps": "take it out: there are no multi-step passes any more",
        "multi-step-stream-outputs": "take it out: there are no multi-step passes any more",
        "scheduler-delay-factor": "take it out: chunked prefill does not wait",
        "num-lookahead-slots": "take it out: speculation reserves its own",
        "use-v2-block-manager": "take it out: there is no other",
        "speculative-model": '--speculative-config \'{"model": ..., "num_speculative_tokens": N}\'',
        "num-speculative-tokens": "num_speculative_tokens in --speculative-config",
        "speculative-max-model-len": "max_model_len in --speculative-config",
        "speculative-draft-tensor-parallel-size": "draft_tensor_parallel_size in --speculative-config",
        "speculative-model-quantization": "quantization in --speculative-config",
        "ngram-prompt-lookup-max": "prompt_lookup_max in --speculative-config",
        "ngram-prompt-lookup-min": "prompt_lookup_min in --speculative-config",
        "rope-scaling": "rope_scaling in --hf-overrides",
        "rope-theta": "rope_theta in --hf-overrides",
        "max-seq-len-to-capture": "--max-cudagraph-capture-size",
        "max-context-len-to-capture": "--max-cudagraph-capture-size",
        "cuda-graph-sizes": "--cudagraph-capture-sizes",
        "device": "take it out: it is found by itself",
        "task": "--runner and --convert",
        "disable-log-requests": "take it out: requests are not logged unless --enable-log-requests",
        "enable-reasoning": "--reasoning-parser alone",
        "guided-decoding-backend": "backend in --structured-outputs-config",
        "override-pooler-config": "--pooler-config",
        "worker-use-ray": "--distributed-executor-backend ray",
        "engine-use-ray": "--distributed-executor-backend ray",
        "disable-mm-preprocessor-cache": "--mm-processor-cache-gb 0",
        "enable-multimodal-encoder-data-parallel": "--mm-encoder-tp-mode data",
        "num-redundant-experts": "num_redundant_experts in --eplb-config",
        "eplb-window-size": "window_size in --eplb-config",
        "eplb-step-interval": "step_interval in --eplb-config",
        "calculate-kv-scales": "take it out: scales come with the checkpoint",
    },
    "sglang": {
        "cuda-graph-bs": "--cuda-graph-bs-decode",
        "cuda-graph-max-bs": "--cuda-graph-max-bs-decode",
        "piecewise-cuda-graph-max-tokens": "--cuda-graph-max-bs-prefill",
        "disable-piecewise-cuda-graph": "--cuda-graph-backend-prefill=disabled",
        "enable-ep-moe": "--ep-size",
        "enable-deepep-moe": "--moe-a2a-backend deepep",
        "enable-flashinfer-mla": "--attention-backend flashinfer",
        "enable-flashmla": "--attention-backend flashmla",
        "disable-flashinfer": "--attention-backend triton",
        "nsa-prefill-backend": "--dsa-prefill-backend",
        "nsa-decode-backend": "--dsa-decode-backend",
        "hybrid-kvcache-ratio": "--swa-full-tokens-ratio",
        "mamba-scheduler-strategy": "--mamba-radix-cache-strategy",
        "stream-output": "--incremental-streaming-output",
        "max-num-reqs": "--max-running-requests",
        "torchao-config": "--quantization",
    },
}
"""Engine -> flag that is gone -> what to write instead, as the engine's own deprecation messages have it."""


class Life(NamedTuple):
    """The releases that have a flag. None: before the oldest release that was read, or still there."""

    added: str | None
    removed: str | None


class FlagChange(NamedTuple):
    """A flag's life, with what became of it."""

    flag: str
    """Long, without its dashes."""
    added: str | None
    """The first version that has it; None: as long as kvplan looks back."""
    removed: str | None
    """The first version that refuses it; None: it is still there."""
    effect: str
    """What to write instead of it; empty where nothing is known."""
    source: str


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
    ChangedDefault("vllm", "enforce_eager", "0.20", "CUDA graphs come on top of the utilization",
                   "CUDA graphs are inside it", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, vLLM 0.19.1 and 0.20.0"),
    ChangedDefault("vllm", "kv_offloading_backend", "0.23", "lmcache: each rank holds its share of the size",
                   "lmcache: a server of its own holds it, --kv-offloading-size counts for nothing",
                   "VllmConfig, vLLM 0.22.1 and 0.23.0"),
    ChangedDefault("vllm", "kv_transfer_config", "0.23", "any connector turns the hybrid KV manager off",
                   "only a connector without support for it does", "VllmConfig, vLLM 0.22.1 and 0.23.0"),
)  # fmt: skip

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
_ENGINE_OF_PREFIX = {"OLLAMA_": ("ollama",), "LLAMA_ARG_": ("llama.cpp", "ollama"), "SGLANG_": ("sglang",),
                     "VLLM_": ("vllm",)}  # fmt: skip
_SETTING_OF_VARIABLE = re.compile(r"^(VLLM|SGLANG)_(.+)$")


def life_of(engine: str, flag: str) -> Life | None:
    """The releases that have a long flag; None for an engine whose releases were not read, and for no flag of it."""
    return _lives(engine).get(flag)


@cache
def history(engine: str) -> tuple[FlagChange, ...]:
    """Every flag that came or went within the releases that were read."""
    if engine not in _VERSIONS:
        return ()
    advice, source = INSTEAD.get(engine, {}), _source(engine)
    return tuple(
        FlagChange(flag, life.added, life.removed, advice.get(flag, ""), source)
        for flag, life in sorted(_lives(engine).items())
        if life.added is not None or life.removed is not None
    )


@cache
def ignored(engine: str) -> dict[str, tuple[str, str]]:
    """Name of a variable -> why the engine does not read it, and the source. One that the command line hands on to a
    flag has its effect all the same: ``ignored_variables`` knows."""
    return {
        item.name: (f"{engine} reads no such variable: write {item.instead}", item.source)
        for item in _IGNORED
        if engine in _engines_of(item.name, engine)
    }


def not_there(engine: str, version: str, flags: Iterable[str]) -> Iterator[NotThere]:
    """The flags that this version of the engine does not have, though another one does: it refuses to start."""
    try:
        now = _padded(version)
    except InputError:
        return
    for flag in flags:
        life = life_of(engine, flag)
        if life is None:
            continue
        gone = life.removed is not None and now >= _padded(life.removed)
        early = life.added is not None and now < _padded(life.added)
        if gone or early:
            instead = INSTEAD.get(engine, {}).get(flag) if gone else None
            yield NotThere(flag, life.removed if gone else None, life.added, instead, _source(engine))


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
    data = import_module(f"kvplan.deployments.commands.{_VERSIONS[engine]}")
    table = import_module(f"kvplan.deployments.commands.{engine}_flags").TABLE
    added = {flag: version for version, flags in data.ADDED.items() for flag in flags.split()}
    removed = {flag: version for version, flags in data.REMOVED.items() for flag in flags.split()}
    return {flag: Life(added.get(flag), removed.get(flag)) for flag in table.flags}


def _source(engine: str) -> str:
    data = import_module(f"kvplan.deployments.commands.{_VERSIONS[engine]}")
    table = import_module(f"kvplan.deployments.commands.{engine}_flags").TABLE
    return f"argument definitions of {table.engine} {data.OLDEST} to {data.NEWEST}"
