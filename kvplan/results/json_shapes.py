"""Small pieces that every JSON envelope shares."""

from __future__ import annotations

from typing import Any

from kvplan.domain.assessment import BreakEven, GpuMemory
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.domain.model import Model
from kvplan.domain.sensitivity import Sensitivity

Json = dict[str, Any]


def interval(value: Interval | None) -> Json | None:
    """``{"low", "best", "high"}`` of floats."""
    return None if value is None else {"low": value.low, "best": value.best, "high": value.high}


def whole_interval(value: Interval | None) -> Json | None:
    """The same of integers: bytes, tokens, users."""
    return None if value is None else {"low": int(value.low), "best": int(value.best), "high": int(value.high)}


def whole(value: float | None) -> int | None:
    """Bytes as an integer."""
    return None if value is None else round(value)


def break_even_json(value: BreakEven | None) -> Json | None:
    """Where reloading pays; null inside where it never does."""
    if value is None:
        return None
    return {
        "reload_beats_recompute_tokens": whole_interval(value.reload_tokens),
        "hit_fraction": interval(value.hit_fraction),
    }


def sensitivity_json(value: Sensitivity | None) -> Json | None:
    """How firmly a verdict stands; null where nobody asked."""
    if value is None:
        return None
    return {**value._asdict(), "inputs": list(value.inputs), "turns": [turn._asdict() for turn in value.turns]}


def dtype_of(model: Model) -> str:
    """How the checkpoint stores its weights; ``unknown`` where its config does not settle that."""
    return "unknown" if model.weights_unsettled else model.dtype


def model_json(model: Model) -> Json:
    """The model's line in an envelope."""
    return {
        "name": model.name,
        "parameters": whole_interval(model.parameters) if model.tower_elements_unknown else model.weights.total,
        "active_parameters": model.active_elements,
        "layers": model.layers,
        "max_context_tokens": model.max_context_tokens,
        "source": model.source,
    }


def host_json(host: Host, gpus: int) -> Json:
    """The host's line; ``gpus`` of its GPUs are in use."""
    link = None
    if host.link is not None:
        link = {"kind": host.link.kind, "bytes_per_s": host.link.bytes_per_s.best}
    return {
        "name": host.name,
        "gpus": gpus,
        "gpu": host.gpu.name if host.gpu else None,
        "hbm_bytes": whole(host.gpu.hbm_bytes.best) if host.gpu else None,
        "dram_bytes": whole(host.dram_bytes),
        "cpu_cores": None if host.cpu_cores is None else host.cpu_cores.best,
        "numa_nodes": host.numa_nodes,
        "link": link,
        "unified_memory": host.unified_memory,
        "source": host.source,
    }


def layout_json(deployment: Deployment) -> Json:
    """tp, pp, dp, ep, dcp."""
    layout = deployment.layout
    return {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep, "dcp": layout.dcp}


def gpu_memory_json(split: GpuMemory) -> Json:
    """How one GPU is split."""
    names = ("total", "budget", "weight", "activation", "runtime", "graph")
    return {
        **{f"{name}_bytes": whole(getattr(split, f"{name}_bytes")) for name in names},
        "kv_pool_bytes": whole_interval(split.kv_pool_bytes),
        "kv_pool_tokens": split.kv_pool_tokens,
        "levers": [{"flag": flag, "kv_pool_bytes": whole(gained)} for flag, gained in split.pool_levers],
        "calibration": split.calibration,
    }
