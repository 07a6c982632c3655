"""What vLLM's settings come to together: its drafts, its host memory, and whether the hybrid KV manager stays on."""

from __future__ import annotations

import json
from typing import Any, Final

from kvplan.deployments.commands.given_version import at_least, version_in
from kvplan.deployments.commands.vllm_connectors import (
    in_process_lmcache,
    names_of,
    settings_of_connector,
    turned_off_by,
)
from kvplan.deployments.found import Setting, Unresolved
from kvplan.units import gib

LMCACHE_GIB_PER_RANK: Final = 5.0
"""``max_local_cpu_size`` where nobody sets it. Source: LMCache 0.3.0 to 0.5.6, config.py."""
_AIBRIX_GIB_PER_RANK: Final = 10.0
"""``AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB`` where nobody sets it. Source: AIBrix documentation, KV cache."""


def settled_settings(settings: dict[str, Setting]) -> dict[str, Setting]:
    """Settings that another one overrides: LMCache's own amount in the connector goes before its variable, and since
    0.23 ``--kv-offloading-backend lmcache`` leaves the host memory to a server of its own."""
    kept = dict(settings)
    transfer = settings.get("kv_transfer_config")
    stated = settings_of_connector(transfer)[0] if transfer is not None else []
    if any(item.name == "lmcache_gib_per_rank" for item in stated):
        kept.pop("lmcache_gib_per_rank", None)
    if _lmcache_server(settings):
        kept.pop("kv_offloading_size", None)
    return kept


def derived_settings(settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
    """Settings that follow from the given ones, and what cannot be told from them."""
    found = [*_drafts(settings), *_hybrid(settings)]
    unresolved: list[Unresolved] = []
    transfer = settings.get("kv_transfer_config")
    if transfer is not None:
        host, unresolved = settings_of_connector(transfer)
        lmcache, unknown = _lmcache(transfer, {item.name for item in host} | settings.keys(), settings)
        found += [*host, *lmcache, *_aibrix(transfer, settings)]
        unresolved = [*unresolved, *unknown]
    if _lmcache_server(settings):
        place = settings["kv_offloading_backend"].place
        reason = "an LMCache server holds the KV: --kv-offloading-size is not handed on to it since vLLM 0.23"
        unresolved = [*unresolved, Unresolved("kv_offloading_size", "lmcache", place, reason, stops=False)]
    return found, unresolved


def _lmcache_server(settings: dict[str, Setting]) -> bool:
    backend = settings.get("kv_offloading_backend")
    return backend is not None and str(backend.value) == "lmcache" and at_least(version_in(settings), (0, 23))


def _lmcache(
    transfer: Setting, known: set[str], settings: dict[str, Setting]
) -> tuple[list[Setting], list[Unresolved]]:
    """LMCache's default for each rank, where nobody states an amount and no file could."""
    if "lmcache_gib_per_rank" in known or not any(in_process_lmcache(name) for name in names_of(transfer)):
        return [], []
    if "lmcache_config_file" in settings:
        file = settings["lmcache_config_file"]
        reason = "LMCache's configuration file is not among these files: it may set max_local_cpu_size"
        return [], [Unresolved("lmcache_gib_per_rank", str(file.value), file.place, reason)]
    return [Setting("lmcache_gib_per_rank", LMCACHE_GIB_PER_RANK, transfer.place)], []


def _aibrix(transfer: Setting, settings: dict[str, Setting]) -> list[Setting]:
    """AIBrix's first tier: on unless it is switched off, for each rank."""
    if not any(name.startswith("AIBrix") for name in names_of(transfer)):
        return []
    enabled, capacity = settings.get("aibrix_l1_enabled"), settings.get("aibrix_l1_gib_per_rank")
    if enabled is not None and str(enabled.value).lower() in ("0", "false"):
        return []
    try:
        amount_gib = float(str(capacity.value)) if capacity is not None else _AIBRIX_GIB_PER_RANK
    except ValueError:
        return []
    place = capacity.place if capacity is not None else transfer.place
    return [Setting("offload_bytes_per_rank", gib(amount_gib), place)]


def _hybrid(settings: dict[str, Setting]) -> list[Setting]:
    """The connector that turns the hybrid KV manager off, where nobody has decided that by hand.

    With ``--kv-offloading-size`` vLLM chooses the connector itself. Source: VllmConfig of 0.10.1 to 0.33.0.
    """
    if "disable_hybrid_kv_cache_manager" in settings:
        return []
    cause = settings.get("kv_transfer_config")
    names = names_of(cause)
    if "kv_offloading_size" in settings or _lmcache_server(settings):
        cause = settings.get("kv_offloading_size") or settings["kv_offloading_backend"]
        names = (_connector_of_offloading(settings),)
    by = turned_off_by(names, version_in(settings))
    return [Setting("hybrid_manager_off_by", by, cause.place)] if by is not None and cause is not None else []


def _connector_of_offloading(settings: dict[str, Setting]) -> str:
    if "kv_offloading_backend" in settings and str(settings["kv_offloading_backend"].value) == "lmcache":
        return "LMCacheMPConnector" if _lmcache_server(settings) else "LMCacheConnectorV1"
    return "SimpleCPUOffloadConnector" if "simple_kv_offload" in settings else "OffloadingConnector"


def _drafts(settings: dict[str, Setting]) -> list[Setting]:
    """``--spec-method``, ``--spec-model``, ``--spec-tokens`` or the older flags as one ``--speculative-config``."""
    names = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens",
             "spec_draft_tp": "draft_tensor_parallel_size", "spec_max_model_len": "max_model_len",
             "spec_quantization": "quantization"}  # fmt: skip
    given = [name for name in names if name in settings]
    if not given or "speculative_config" in settings:
        return []
    config: dict[str, Any] = {}
    for name in given:
        text = str(settings[name].value)
        config[names[name]] = int(text) if text.isdigit() and len(text) < 10 and name != "spec_model" else text
    if str(config.get("model", "")).strip("[]").lower() == "ngram":
        config["method"] = "ngram"
        del config["model"]
    if not config.keys() & {"method", "model"}:
        return []
    return [Setting("speculative_config", json.dumps(config), settings[given[0]].place)]
