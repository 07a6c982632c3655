"""Host memory that vLLM's ``--kv-transfer-config`` asks for, by connector."""

from __future__ import annotations

import json

from kvplan.deployments.found import Place, Setting, Unresolved


def settings_of_connector(transfer: Setting) -> tuple[list[Setting], list[Unresolved]]:
    """Host memory that ``--kv-transfer-config`` asks for: OffloadingConnector's bytes are for the whole server,
    SimpleCPUOffloadConnector's may be for each rank (8 GiB in all by default), LMCache's are for each rank (5 GiB)."""
    try:
        config = json.loads(str(transfer.value))
    except (ValueError, RecursionError):
        reason = "--kv-transfer-config is not valid JSON"
        return [], [Unresolved("kv_transfer_config", str(transfer.value)[:60], transfer.place, reason)]
    found: list[Setting] = []
    for connector in _connectors(config):
        extra = connector.get("kv_connector_extra_config")
        extra = extra if isinstance(extra, dict) else {}
        name = str(connector.get("kv_connector", ""))
        if name.startswith("LMCache"):
            found.append(Setting("lmcache_gib_per_rank", extra.get("lmcache.max_local_cpu_size", "5"), transfer.place))
        elif name in ("OffloadingConnector", "SimpleCPUOffloadConnector"):
            found += _offloading(name, extra, transfer.place)
    return found, []


def _offloading(name: str, extra: dict[str, object], place: Place) -> list[Setting]:
    whole, rank = extra.get("cpu_bytes_to_use"), extra.get("cpu_bytes_to_use_per_rank")
    if isinstance(rank, int | float):
        return [Setting("offload_bytes_per_rank", float(rank), place)]
    if isinstance(whole, int | float):
        return [Setting("offload_bytes", float(whole), place)]
    return [Setting("kv_offloading_size", "8", place)] if name == "SimpleCPUOffloadConnector" else []


def _connectors(config: object, depth: int = 0) -> list[dict[str, object]]:
    """The connector, or the children of a MultiConnector."""
    if not isinstance(config, dict) or depth > 3:
        return []
    extra = config.get("kv_connector_extra_config")
    children = extra.get("connectors") if isinstance(extra, dict) else None
    if config.get("kv_connector") == "MultiConnector" and isinstance(children, list):
        return [item for child in children[:20] for item in _connectors(child, depth + 1)]
    return [config]
