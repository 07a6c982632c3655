"""Caches in host memory that engines keep by default, and how large they may grow.

They fill as requests come, so that a deployment runs for days before they are full. Sources: llama.cpp PR 16391
(``--cache-ram``), ollama docs/faq.mdx (models resident at once), vLLM's ``--mm-processor-cache-gb``, TensorRT-LLM PR
16106 (161 to 173 of 975 GiB on each of four ranks), KAITO PR 1326, LMCache's ``max_local_cpu_size``.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from kvplan.core.kv_cache import bounded_bytes
from kvplan.deployments.commands.vllm_meaning import LMCACHE_GIB_PER_RANK
from kvplan.engines.versions import release
from kvplan.errors import KvplanError
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import engine_name
from kvplan.rules.llama_slots import build_of
from kvplan.units import MIB, gib

PROMPT_CACHE_MIB: Final = 8192
PROMPT_CACHE_BUILD: Final = 6730
"""About the build, of October 2025, since which llama-server keeps prompts in host memory."""
_OLLAMA_SERVERS: Final = (0, 30)
"""Ollama's own runners, before this release, had no such cache."""
_ROUTER_MODELS: Final = 4
"""``--models-max``"""
_CHECKPOINTS: Final = 32
"""``--ctx-checkpoints``; builds of 2025 had 3 and 8."""
_MODELS_EACH_GPU: Final = 3
"""``OLLAMA_MAX_LOADED_MODELS`` by default, for each GPU, or in all without one."""
_MM_GIB: Final = 4.0
_TRT_LEAST, _TRT_MOST = 161 / 975, 0.5
_KAITO_FRACTION: Final = 0.5
UNLIMITED: Final = math.inf


class HostCache(NamedTuple):
    """One kind of cache of a deployment."""

    low_bytes: float
    """Of those that are surely there, all of them full."""
    high_bytes: float
    words: str
    setting: str
    unset: bool
    """Nobody said how large it may be."""
    copies: int = 1
    what: str = ""
    """``prompt`` caches are sized by one setting for each copy."""


def caches_of(context: Context) -> list[HostCache]:
    """Every cache of this deployment; none for engines that have none."""
    engine = context.found.engine
    found = {
        "llama.cpp": _prompts_of_llama_cpp, "ollama": _prompts_of_ollama, "vllm": _of_vllm,
        "sglang": _of_lmcache,
    }.get(engine)  # fmt: skip
    return [] if found is None else found(context)


def _prompts_of_llama_cpp(context: Context) -> list[HostCache]:
    values = context.translated.values
    if build_of(context.translated) < PROMPT_CACHE_BUILD:
        return []
    runners = int(context.number("runners"))
    least = most = max(runners, 1)
    if "models_preset" in values or "models_dir" in values or "preset_models" in values:
        listed = int(context.number("preset_models")) or _ROUTER_MODELS
        least, most = (runners, runners) if runners else (1, min(listed, _ROUTER_MODELS))
        if "models_max" in values and not int(context.number("models_max")):
            least, most = 1, listed
    return [*_prompts(context, least, most, "servers"), *_checkpoints(context)]


def _checkpoints(context: Context) -> list[HostCache]:
    """Copies of windows and states of every slot, to go back to: where a model has some. They come with long chats."""
    judged = context.judged
    given = context.translated.number("ctx_checkpoints")
    copies = _CHECKPOINTS if given is None else int(given)
    if judged is None or judged.share is None or copies <= 0:
        return []
    plan, slots = judged.share.plans[1], judged.share.sequences
    each = bounded_bytes(plan.kv, float(judged.length_tokens or 0)) * judged.deployment.layout.gpus
    if not each:
        return []
    words = f"{copies} checkpoints x {slots} slots of {each / MIB:,.0f} MiB"
    return [HostCache(0.0, copies * slots * each, words, "ctx_checkpoints", given is None)]


def _prompts_of_ollama(context: Context) -> list[HostCache]:
    version = (context.translated.words.engine or "").partition("@")[2]
    try:
        if version and release(version) < _OLLAMA_SERVERS:
            return []
    except KvplanError:
        return []
    runners = int(context.number("runners"))
    gpus = int(context.number("gpus")) or (context.host.gpus if context.host else 1) or 1
    least, most = (runners, runners) if runners else (1, _MODELS_EACH_GPU * gpus)
    if context.found.form == "ollama-modelfile" and not runners:
        most = 1
    return _prompts(context, least, most, "runners")


def _prompts(context: Context, least: int, most: int, whose: str) -> list[HostCache]:
    if any(item.name == "cache_ram_mib" for item in context.found.unresolved):
        return []
    given = context.translated.number("cache_ram_mib")
    each = PROMPT_CACHE_MIB if given is None else int(given)
    if each == 0:
        return []
    cache_bytes = UNLIMITED if each < 0 else each * MIB
    by = "prompt cache that nobody sized" if given is None else "prompt cache"
    text = f"{by} without a limit (-1)" if each < 0 else f"{each:,} MiB of {by}"
    times = "" if most == 1 else f"{least} x " if least == most else f"{least} to {most} x "
    runners = "" if most == 1 else f" ({whose})"
    words = f"{times}{text}{runners}"
    return [HostCache(cache_bytes * least, cache_bytes * most, words, "cache_ram_mib", given is None, most, "prompt")]


def _of_vllm(context: Context) -> list[HostCache]:
    found = []
    values, dp = context.translated.values, context.translated.words.dp or 1
    if context.model is not None and context.model.weights.towers and not values.get("language_model_only"):
        given = context.translated.number("mm_processor_cache_gb")
        each, processes = gib(_MM_GIB if given is None else given), int(context.number("api_server_count")) or 1
        text = f"{_MM_GIB if given is None else given:g} GiB of image cache x ({processes} API + {dp} engine processes)"
        cache_bytes = each * (processes + dp)
        if cache_bytes:
            found.append(HostCache(cache_bytes, cache_bytes, text, "mm_processor_cache_gb", given is None))
    return [*found, *_of_lmcache(context), *_of_kaito(context)]


def _ranks(context: Context) -> int:
    words = context.translated.words
    return (words.tp or 1) * (words.pp or 1) * (words.dp or 1)


def _of_lmcache(context: Context) -> list[HostCache]:
    """The default size, which nobody wrote: it stands where LMCache is switched on."""
    if not is_default_lmcache(context):
        return []
    ranks = _ranks(context)
    whole = gib(LMCACHE_GIB_PER_RANK) * ranks
    words = f"LMCache's default {LMCACHE_GIB_PER_RANK:g} GiB x {ranks} ranks"
    return [HostCache(whole, whole, words, "lmcache_gib_per_rank", True)]


def is_default_lmcache(context: Context) -> bool:
    """Whether LMCache's size is the one that holds where nobody wrote any."""
    settings = context.found.settings
    each = settings.get("lmcache_gib_per_rank")
    switch = settings.get("kv_transfer_config") or settings.get("enable_lmcache")
    if each is None or switch is None or each.place != switch.place:
        return False
    if context.number("lmcache_gib_per_rank") != LMCACHE_GIB_PER_RANK:
        return False
    return "max_local_cpu_size" not in str(switch.value)


def _of_kaito(context: Context) -> list[HostCache]:
    """KAITO gives half of the host's free memory to a KV offload that nobody asked for."""
    if not context.has("offload_host_fraction") or context.host is None or context.host.dram_bytes is None:
        return []
    fraction = context.number("offload_host_fraction")
    whole = context.host.dram_bytes * fraction
    words = f"KV offload of {fraction:.0%} of the host's memory"
    unset = fraction == _KAITO_FRACTION
    return [HostCache(whole, whole, words, "offload_host_fraction", unset)] if whole else []


def host_tiers(context: Context) -> list[HostCache]:
    """Of TensorRT-LLM: its V2 manager sizes a host tier by the node, on every rank, where nobody says how large."""
    if context.found.engine != "tensorrt-llm" and engine_name(context) != "tensorrt-llm":
        return []
    if not context.translated.is_on("use_kv_cache_manager_v2") or context.has("host_cache_bytes_per_rank"):
        return []
    host = context.judged.deployment.host if context.judged is not None else context.host
    if host is None or host.dram_bytes is None:
        return []
    ranks, dram = _ranks(context), host.dram_bytes
    text = f"{_TRT_LEAST:.0%} to {_TRT_MOST:.0%} of the host's memory x {ranks} ranks (host_cache_size is not set)"
    return [
        HostCache(_TRT_LEAST * dram * ranks, _TRT_MOST * dram * ranks, text, "use_kv_cache_manager_v2", True, ranks)
    ]
