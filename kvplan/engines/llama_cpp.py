"""llama.cpp, builds of 2025 and 2026, on Apple silicon, CPUs and GPUs.

There is no utilization fraction: weights, KV cells and a compute buffer must fit into what the platform gives.
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.engines.interface import KvKernel, MemoryPolicy, StateBytes, Term, quoted
from kvplan.engines.versions import within
from kvplan.units import gib

_MICRO_BATCH_TOKENS = 512
_LOGS = "llama.cpp start-up logs (40 single-GPU rows with flash attention, median error 1.3 %)"
_BLOCKS = "llama.cpp ggml-common.h: bytes per block of 32 elements"


class LlamaCpp:
    """``llama-server``."""

    name = "llama.cpp"
    aliases: tuple[str, ...] = ("llamacpp", "llama-cpp", "llama-server")
    newest_version = "b10236"
    splits_layers = True
    settings_flags: dict[str, str] = {}

    def resolve_version(self, version: str) -> str:
        number = version.strip().lower().removeprefix("b")
        return "b" + within(number, engine="llama.cpp build", oldest="5000", newest="10236")

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        workers = deployment.layout.gpus
        return MemoryPolicy(
            budget=_budget(deployment),
            activation=_compute_buffer(deployment),
            runtime=_runtime(deployment),
            graphs=Term(Interval.exact(0.0), "none", "graphs are part of the compute buffer"),
            block_tokens=256,
            prefill_chunk_tokens=_MICRO_BATCH_TOKENS,
            window_reserve_tokens=_MICRO_BATCH_TOKENS,
            state_bytes=StateBytes(4.0, 4.0),
            engine_dram=Term(
                Interval(gib(0.3), gib(1), gib(2)), "1 GiB", "class estimate: llama-server's own host memory"
            ),
            engine_cores=1.0 + workers,
            engine_cores_source="class estimate: server thread and one thread for each GPU",
            warnings=_warnings(deployment),
        )

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        verified = gpu.kernel_class != "xe2"
        return {
            "q8_0": KvKernel(KvFormat("q8_0", 34 / 32), "q8_0", _BLOCKS, verified, reads_latents=True),
            "q4_0": KvKernel(KvFormat("q4_0", 18 / 32), "q4_0", _BLOCKS, verified, reads_latents=True),
        }

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        workload = deployment.workload
        model = (deployment.model.hub_id or deployment.model.name).rsplit("/", 1)[-1]
        file = quoted(f"{model}-{(deployment.settings.weights or deployment.model.dtype).upper()}.gguf")
        parts = [
            f"llama-server -m {file} -fa on",
            f"-c {workload.context_tokens * workload.users} -np {workload.users}",
        ]
        parts += [] if any(flag.startswith("-ngl") for flag in extra_flags) else ["-ngl 99"]
        return " ".join([*parts, *extra_flags])


def _budget(deployment: Deployment) -> Term:
    host = deployment.host
    if host.gpu is None or host.gpu.kernel_class == "cpu":
        usable = Interval.exact((host.dram_bytes or 0.0) - host.os_reserve_bytes)
        return Term(usable, "host memory less the operating system's part", host.source)
    total = host.gpu.hbm_bytes
    if host.unified_memory:
        share = host.gpu_share_fraction or 1.0
        source = host.basis.get("gpu_share_fraction", host.source)
        pool = total.map(lambda value: min(value * share, value - host.os_reserve_bytes))
        return Term(pool, f"{share:g} of the one pool: what the platform lets the GPU wire", source)
    free = total.map(lambda value: value - host.display_reserve_bytes)
    return Term(free, "device memory less the display's part", host.gpu.source)


def _compute_buffer(deployment: Deployment) -> Term:
    model = deployment.model
    best = _MICRO_BATCH_TOKENS * (4.0 * model.vocab_size + 8.0 * model.hidden_size)
    formula = f"{_MICRO_BATCH_TOKENS} tokens x (4 B x vocabulary + 8 B x hidden size)"
    high = 1.25 * best + (
        4.0 * deployment.workload.context_tokens * _MICRO_BATCH_TOKENS
        if deployment.workload.context_tokens >= 65536
        else 0.0
    )
    return Term(Interval(0.98 * best, best, high), formula, _LOGS)


def _runtime(deployment: Deployment) -> Term:
    if deployment.host.unified_memory or deployment.host.gpu is None:
        span = Interval(gib(0.1), gib(0.3), gib(0.8))
        return Term(span, "Metal or host context", "class estimate: no published figure found")
    span = Interval(gib(0.4), gib(0.95), gib(2.1))
    return Term(span, "device context and allocator", "llama.cpp breakdown tables: 0.95 to 2.1 GiB on clean cards")


def _warnings(deployment: Deployment) -> tuple[str, ...]:
    if deployment.layout.tp > 1:
        return ("not calibrated: llama.cpp gives each GPU whole layers; --tp is judged as if it split them",)
    return ()


ENGINE = LlamaCpp()
