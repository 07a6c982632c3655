"""No engine: the architecture itself, one copy over all tensor-parallel ranks, no block rounding, no overheads."""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.engines.drafting import draft_warnings
from kvplan.engines.free_memory import device_memory
from kvplan.engines.interface import KvKernel, MemoryPolicy, Term
from kvplan.engines.pace import UNMEASURED

_ARCHITECTURE = "arithmetic of the architecture"
_TURBOQUANT = {
    "turboquant-k8v4": (0.75, 2.0),
    "turboquant-4bit": (0.5, 3.0),
    "turboquant-k3v4": (0.4375, 3.0),
    "turboquant-3bit": (0.375, 3.0),
}
"""Mean bytes of a key and a value element, and of the norms beside each: vLLM turboquant/config.py."""


class Generic:
    """Bytes as the model defines them."""

    name = "generic"
    aliases: tuple[str, ...] = ()
    newest_version = "1"
    pace = UNMEASURED
    splits_layers = False
    lighter_weights: tuple[str, ...] = ("fp8", "awq-int4")
    settings_flags: dict[str, str] = {}

    def resolve_version(self, version: str) -> str:
        return self.newest_version

    def runs_on(self, gpu: Gpu) -> bool:
        return True

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        nothing = Term(Interval.exact(0.0), "not modelled for engine generic", _ARCHITECTURE)
        return MemoryPolicy(
            budget=device_memory(deployment.host),
            activation=nothing,
            runtime=nothing,
            graphs=nothing,
            block_tokens=1,
            prefill_chunk_tokens=8192,
            engine_dram=nothing,
            core_lines=(),
            copies_kv_heads=False,
            warnings=(
                "engine generic has no activations, runtime or graphs: a real engine fits less",
                *draft_warnings(deployment),
            ),
        )

    def weight_extras(self, deployment: Deployment) -> float:
        return 0.0

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        widths = {"fp8": 1.0, "int8": 1.0, "int4": 0.5, "nvfp4": 0.5625, "q8_0": 34 / 32, "q4_0": 18 / 32}
        kernels = {
            name: KvKernel(KvFormat(name, width), name, _ARCHITECTURE, reads_latents=True)
            for name, width in widths.items()
        }
        for name, (width, norms) in _TURBOQUANT.items():
            kernels[name] = KvKernel(KvFormat(name, width, norms, native_layers=4), name, _ARCHITECTURE)
        kivi = KvFormat("kivi-2", 0.375, residual_tokens=128)  # 2 bits, a 16-bit scale and zero point for 32 elements
        return {**kernels, "kivi-2": KvKernel(kivi, "kivi-2", "KIVI: group 32, the newest 128 tokens in 16 bits")}

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        return ()

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        return ""


ENGINE = Generic()
