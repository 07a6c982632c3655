"""What was said but not used, and what was not known: said beside the verdict, so that nothing is lost in silence."""

from __future__ import annotations

from kvplan.assess.host_warnings import load_warnings
from kvplan.assess.weight_formats import weight_warnings
from kvplan.domain.deployment import Deployment
from kvplan.engines import find_engine

_SETTINGS = (
    "gpu_memory_utilization", "mem_fraction_static", "max_num_batched_tokens", "max_num_seqs", "block_size",
    "enforce_eager",
)  # fmt: skip


def input_warnings(deployment: Deployment) -> tuple[str, ...]:
    """One sentence each."""
    settings = (*_unused_settings(deployment), *_unmodelled_settings(deployment))
    return (*_unknown_inputs(deployment), *settings, *weight_warnings(deployment), *load_warnings(deployment))


def _unknown_inputs(deployment: Deployment) -> list[str]:
    host = deployment.host
    found = []
    if deployment.model.max_context_tokens is None:
        found.append("the model's own context limit is not known")
    named = {"CPU cores": host.cpu_cores, "host memory": host.dram_bytes}
    missing = [name for name, value in named.items() if value is None]
    if missing:
        found.append(f"not known for {host.name}, so not judged: {', '.join(missing)}")
    return found


def _unused_settings(deployment: Deployment) -> list[str]:
    settings = deployment.settings
    known = find_engine(deployment.engine.name).settings_flags
    unused = [name for name in _SETTINGS if getattr(settings, name) not in (None, False) and name not in known]
    found = [f"--{name.replace('_', '-')} is not a setting of {deployment.engine.name}: not used" for name in unused]
    if settings.cpu_offload_bytes:
        found.append("--cpu-offload-gb is judged in weight-offload only")
    if settings.kv_offloading_bytes:
        found.append("--kv-offloading-size is judged in offload-reuse only")
    return found


def _unmodelled_settings(deployment: Deployment) -> list[str]:
    if deployment.layout.ep > 1:
        return ["--ep: experts divide over all GPUs, evenly used; their all-to-all traffic is not modelled"]
    return []
