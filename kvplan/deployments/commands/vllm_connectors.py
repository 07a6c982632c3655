"""Host memory that vLLM's ``--kv-transfer-config`` asks for, by connector, and what a connector turns off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.json_values import parse_json
from kvplan.engines.versions import release
from kvplan.errors import InputError

MOST_CHILDREN = 20
_BOTH_SINCE: Final = {
    (0, 23): ("ExampleHiddenStatesConnector", "MooncakeConnector", "MooncakeStoreConnector",
              "SimpleCPUOffloadConnector", "OffloadingConnector", "DecodeBenchConnector", "NixlConnector",
              "NixlPullConnector", "NixlPushConnector"),
    (0, 30): ("MoRIIOConnector", "HiSparseConnector"),
    (0, 33): ("UMBPStoreConnector",),
}  # fmt: skip
"""vLLM release -> connectors that work with the hybrid KV manager from then on: classes that derive from SupportsHMA in
that release's package. Before 0.23 any connector turned the manager off unless it was switched on by hand."""


def settings_of_connector(transfer: Setting) -> tuple[list[Setting], list[Unresolved]]:
    """Host memory that ``--kv-transfer-config`` asks for: OffloadingConnector's bytes are for the whole server,
    SimpleCPUOffloadConnector's may be for each rank (8 GiB in all by default), LMCache's are for each rank.

    The children of a MultiConnector each hold their own.
    """
    try:
        config = parse_json(str(transfer.value))
    except ValueError:
        reason = "--kv-transfer-config is not valid JSON"
        return [], [Unresolved("kv_transfer_config", str(transfer.value)[:60], transfer.place, reason)]
    sums: dict[str, float] = {}
    texts: dict[str, Any] = {}
    for connector in connectors_of(config):
        extra = connector.get("kv_connector_extra_config")
        for name, value in _asks_for(str(connector.get("kv_connector", "")), extra if isinstance(extra, dict) else {}):
            if isinstance(value, int | float):
                sums[name] = sums.get(name, 0.0) + float(value)
            else:
                texts[name] = value
    found = [Setting(name, value, transfer.place) for name, value in {**texts, **sums}.items()]
    return found, _unknown_amounts(config, transfer)


def names_of(transfer: Setting | None) -> tuple[str, ...]:
    """The connectors of a config, the children of a MultiConnector in its place."""
    if transfer is None:
        return ()
    try:
        config = parse_json(str(transfer.value))
    except ValueError:
        return ()
    return tuple(name for name in (str(item.get("kv_connector") or "") for item in connectors_of(config)) if name)


def in_process_lmcache(name: str) -> bool:
    """Whether a connector holds LMCache's host memory in each rank, rather than in a server of its own."""
    return name.startswith("LMCache") and name != "LMCacheMPConnector"


def turned_off_by(names: tuple[str, ...], version: str) -> str | None:
    """The connector that turns the hybrid KV manager off in this vLLM; empty version: the newest."""
    try:
        now = release(version)[:2] if version else (999, 0)
    except InputError:
        now = (999, 0)
    works = {name for since, added in _BOTH_SINCE.items() if now >= since for name in added}
    return next((name for name in names if name not in works), None)


def connectors_of(config: object, depth: int = 0) -> list[dict[str, Any]]:
    """The connector, or the children of a MultiConnector."""
    if not isinstance(config, dict) or depth > 3:
        return []
    extra = config.get("kv_connector_extra_config")
    children = extra.get("connectors") if isinstance(extra, dict) else None
    if config.get("kv_connector") == "MultiConnector" and isinstance(children, list):
        return [item for child in children[:MOST_CHILDREN] for item in connectors_of(child, depth + 1)]
    return [config]


def _asks_for(name: str, extra: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """(setting, value) of what one connector states."""
    if in_process_lmcache(name):
        own = extra.get("lmcache.max_local_cpu_size")
        if own is not None:
            yield "lmcache_gib_per_rank", own if isinstance(own, int | float) else str(own)
    elif name in ("OffloadingConnector", "SimpleCPUOffloadConnector"):
        whole, rank = extra.get("cpu_bytes_to_use"), extra.get("cpu_bytes_to_use_per_rank")
        if isinstance(rank, int | float):
            yield "offload_bytes_per_rank", rank
        elif isinstance(whole, int | float):
            yield "offload_bytes", whole
        elif name == "SimpleCPUOffloadConnector":
            yield "kv_offloading_size", 8
        if isinstance(extra.get("num_cpu_blocks"), int) and not isinstance(whole, int | float):
            yield "offload_blocks_per_rank", float(extra["num_cpu_blocks"])
        if extra.get("spec_name"):
            yield "offload_spec", str(extra["spec_name"])
        if extra.get("secondary_tiers"):
            yield "offload_secondary_tiers", json.dumps(extra["secondary_tiers"])


def _unknown_amounts(config: object, transfer: Setting) -> list[Unresolved]:
    """Connectors whose host memory another file states."""
    reason = "how much host memory each rank lends to Mooncake stands in the file of MOONCAKE_CONFIG_PATH"
    return [
        Unresolved("offload_bytes_per_rank", "MooncakeStoreConnector", transfer.place, reason, stops=False)
        for item in connectors_of(config)
        if item.get("kv_connector") == "MooncakeStoreConnector"
    ]
