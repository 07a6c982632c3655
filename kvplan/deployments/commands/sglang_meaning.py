"""What SGLang's settings come to together: data parallelism inside of tensor parallelism, drafts, its host cache."""

from __future__ import annotations

import json
from typing import Any, Final

from kvplan.deployments.commands.given_version import at_least, version_in
from kvplan.deployments.found import Setting, Unresolved

PREFILL_TOKENS: Final = 16384
"""``--max-prefill-tokens`` where nobody sets it: what one prefill pass takes with chunks switched off."""
_BY_MTP = ("nextn",)
_HICACHE_RATIO: Final = 2.0
"""``--hicache-ratio`` where nobody sets it. Source: SGLang server_args.py, 0.4.6 to 0.5.20."""
_HICACHE_FRACTION: Final = 0.8
"""Of the host memory that is free beyond 10 GiB, within the cgroup: since 0.5.21 the default ratio is lowered until the
pools of all ranks fit into it. Source: SGLang arg_groups/fields/memory.py 0.5.23."""


def settled_settings(settings: dict[str, Setting]) -> dict[str, Setting]:
    """Settings as they hold together.

    With ``--enable-dp-attention`` the ``--dp-size`` groups are inside the tensor-parallel ranks: no further GPUs.
    A chunk of -1 switches chunks off: a pass then takes up to ``--max-prefill-tokens``.
    """
    kept = dict(settings)
    if _on(settings, "enable_dp_attention") and "dp" in kept:
        kept.setdefault("attention_dp", Setting("attention_dp", kept["dp"].value, kept["dp"].place))
        del kept["dp"]
    chunk = kept.get("max_num_batched_tokens")
    if chunk is not None and str(chunk.value).strip() in ("-1", "0"):
        most = kept["max_prefill_tokens"].value if "max_prefill_tokens" in kept else PREFILL_TOKENS
        kept["max_num_batched_tokens"] = Setting("max_num_batched_tokens", most, chunk.place)
    host_pool = kept.get("hicache_gb_per_rank")
    if host_pool is not None and str(host_pool.value).strip() in ("0", "0.0"):
        del kept["hicache_gb_per_rank"]
    return kept


def derived_settings(settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
    """Settings that follow from the given ones, and what cannot be told from them."""
    found = _drafts(settings)
    if _on(settings, "disable_radix_cache"):
        found.append(Setting("prefix_caching", False, settings["disable_radix_cache"].place))
    found += _host_pool(settings)
    if not _on(settings, "enable_lmcache") or "lmcache_gib_per_rank" in settings:
        return found, []
    if "lmcache_config_file" in settings:
        file = settings["lmcache_config_file"]
        reason = "LMCache's configuration file is not among these files: it may set max_local_cpu_size"
        return found, [Unresolved("lmcache_gib_per_rank", str(file.value), file.place, reason)]
    return [*found, Setting("lmcache_gib_per_rank", 5.0, settings["enable_lmcache"].place)], []


def _host_pool(settings: dict[str, Setting]) -> list[Setting]:
    """The host cache's default where nobody states one: a ratio of the device pool, or what the host has left."""
    if not _on(settings, "enable_hierarchical_cache") or settings.keys() & {"hicache_ratio", "hicache_gb_per_rank"}:
        return []
    place = settings["enable_hierarchical_cache"].place
    if at_least(version_in(settings), (0, 5, 21)):
        return [Setting("hicache_host_memory_fraction", _HICACHE_FRACTION, place)]
    return [Setting("hicache_ratio", _HICACHE_RATIO, place)]


def _on(settings: dict[str, Setting], name: str) -> bool:
    return name in settings and settings[name].value is True


def _drafts(settings: dict[str, Setting]) -> list[Setting]:
    """``--speculative-algorithm`` in vLLM's words. EAGLE without a draft model is the model's own MTP layers."""
    algorithm = settings.get("spec_method")
    if algorithm is None:
        return []
    method = str(algorithm.value).lower()
    if method in _BY_MTP or (method == "eagle" and "spec_model" not in settings):
        method = "mtp"
    config: dict[str, Any] = {"method": "draft_model" if method == "standalone" else method}
    if "spec_model" in settings:
        config["model"] = str(settings["spec_model"].value)
    for name in ("spec_tokens", "spec_steps"):
        text = str(settings[name].value) if name in settings else ""
        if text.isdigit() and 1 <= int(text[:6]) <= 64:
            config["num_speculative_tokens"] = int(text)
            break
    return [Setting("speculative_config", json.dumps(config), algorithm.place)]
