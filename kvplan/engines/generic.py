"""No engine: the architecture itself, one copy over all tensor-parallel ranks, no block rounding, no overheads."""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.engines.interface import KvKernel, MemoryPolicy, Term

_ARCHITECTURE = "arithmetic of the architecture"


class Generic:
    """Bytes as the model defines them."""

    name = "generic"
    aliases: tuple[str, ...] = ()
    newest_version = "1"
    splits_layers = False
    settings_flags: dict[str, str] = {}

    def resolve_version(self, version: str) -> str:
        return self.newest_version

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        nothing = Term(Interval.exact(0.0), "not modelled for engine generic", _ARCHITECTURE)
        host = deployment.host
        if host.gpu is None:
            budget = Interval.exact((host.dram_bytes or 0.0) - host.os_reserve_bytes)
        else:
            share = host.gpu_share_fraction or 1.0 if host.unified_memory else 1.0
            budget = host.gpu.hbm_bytes.map(lambda value: value * share - host.display_reserve_bytes)
        return MemoryPolicy(
            budget=Term(budget, "all device memory", host.gpu.source if host.gpu else host.source),
            activation=nothing,
            runtime=nothing,
            graphs=nothing,
            block_tokens=1,
            prefill_chunk_tokens=8192,
            engine_dram=nothing,
            engine_cores=0.0,
            engine_cores_source="not modelled for engine generic",
            copies_kv_heads=False,
            warnings=("engine generic has no activations, runtime or graphs: a real engine fits less",),
        )

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        widths = {"fp8": 1.0, "int8": 1.0, "int4": 0.5, "nvfp4": 0.5625, "q8_0": 34 / 32, "q4_0": 18 / 32}
        return {
            name: KvKernel(KvFormat(name, width), name, _ARCHITECTURE, reads_latents=True)
            for name, width in widths.items()
        }

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        return ""


ENGINE = Generic()
