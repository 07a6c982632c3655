"""Whether the GPU has a kernel for the KV type that a file asks for."""

from __future__ import annotations

from kvplan.assess import resident_kernel
from kvplan.deployments.words import Words
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.engines import find_engine
from kvplan.engines.interface import kernels_for
from kvplan.errors import InputError

_KERNEL_CLASSES = ("ampere", "ada", "hopper", "blackwell_dc", "cdna3")


def missing_kernel(words: Words, model: Model, host: Host) -> tuple[str, str, str | None] | None:
    """(level, message, remedy) where there is none. A type that no GPU has under this engine is not known to kvplan."""
    flag, gpu = words.kv_cache_dtype, host.gpu
    if flag is None or gpu is None:
        return None
    engine = find_engine((words.engine or "vllm").partition("@")[0])
    try:
        kernel = resident_kernel(flag, kernels_for(engine, gpu, model))
    except InputError as error:
        for kind in _KERNEL_CLASSES:
            try:
                resident_kernel(flag, engine.kv_kernels(gpu._replace(kernel_class=kind)))
            except InputError:
                continue
            return "fail", f"{engine.name} has no {flag} KV kernel for {model.name} on {gpu.name}", error.help
        return "unknown", f"KV type {flag[:40]!r} is not modelled", error.help
    if kernel is not None and not kernel.verified:
        return "unknown", f"{flag} KV on {gpu.name}: {kernel.source}", None
    return None
