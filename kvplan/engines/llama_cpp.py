"""llama.cpp, builds of 2025 and 2026, on Apple silicon, CPUs and GPUs.

There is no utilization fraction: weights, KV cells and a compute buffer must fit into what the platform gives.
ollama starts the same server, so that its file begins here (``server_policy``).
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.engines.drafting import draft_warnings
from kvplan.engines.free_memory import device_memory
from kvplan.engines.interface import (
    KvKernel,
    MemoryPolicy,
    StateBytes,
    Term,
    one_server_a_replica,
    quoted,
    replica_users,
)
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.engines.llama_cpp_pool import kv_layout as llama_kv_layout
from kvplan.engines.pace import LLAMA_CPP
from kvplan.engines.processes import llama_server_processes
from kvplan.engines.served_files import reads_gguf_file
from kvplan.engines.versions import release, within
from kvplan.units import gib

MICRO_BATCH_TOKENS = 512
_BATCH_TOKENS = 2048
_FLASH_WORD_BUILD = 6325
"""Since this build (August 2025) ``-fa`` takes on, off or auto; before it was a switch."""
_PROMPT_CACHE_BUILD = 6730
"""Since about this build (October 2025) prompts of finished requests are kept in host memory: ``--cache-ram 8192``."""
_LOGS = "llama.cpp start-up logs (40 single-GPU rows with flash attention, median error 1.3 %)"
_BLOCKS = "llama.cpp ggml-common.h: bytes per block of 32 elements"
_GGUF = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m")


class LlamaCpp:
    """``llama-server``."""

    name = "llama.cpp"
    aliases: tuple[str, ...] = ("llamacpp", "llama-cpp", "llama-server")
    newest_version = "b10236"
    pace = LLAMA_CPP
    splits_layers = True
    lighter_weights: tuple[str, ...] = _GGUF
    settings_flags: dict[str, str] = {"max_num_batched_tokens": "-ub"}

    def resolve_version(self, version: str) -> str:
        number = version.strip().lower().removeprefix("b")
        return "b" + within(number, engine="llama.cpp build", oldest="5000", newest="10236")

    def runs_on(self, gpu: Gpu) -> bool:
        return True

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        keeps_prompts = _build(deployment) >= _PROMPT_CACHE_BUILD
        budget, micro_batch = device_memory(deployment.host), _micro_batch(deployment)
        return server_policy(deployment, budget, micro_batch, host_memory(keeps_prompts))

    def weight_extras(self, deployment: Deployment) -> float:
        """Beside a GPU the embedding table stays in host memory: rows are looked up there. As the head it is copied.

        Source: model buffers of start-up logs, 281.8 MiB on the host of Llama-3-8B Q4_K_M, 4403 on the GPU.
        """
        if deployment.host.unified_memory or not deployment.model.weights.lm_head:
            return 0.0
        table, layout = deployment.embedding_bytes, deployment.layout
        return -(table if layout.pp == 1 else max(table - deployment.head_bytes, 0.0)) / layout.tp

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        verified = gpu.kernel_class != "xe2"
        widths = {"q8_0": 34 / 32, "q4_0": 18 / 32}
        return {
            name: KvKernel(
                KvFormat(name, width), name, _BLOCKS, verified, reads_latents=True, vector_multiple=32
            )
            for name, width in widths.items()
        }  # fmt: skip

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        return (f"-ctk {kernel.flag}", f"-ctv {kernel.flag}")

    def kv_layout(self, question: KvQuestion) -> KvLayout:
        """Cells, streams and the lines that the server itself prints."""
        return llama_kv_layout(question, _build(question.deployment), _micro_batch(question.deployment))

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        slots = replica_users(deployment)
        flash = "-fa on" if _build(deployment) >= _FLASH_WORD_BUILD else "-fa"
        parts = [
            f"llama-server -m {gguf_file(deployment)} {flash}",
            f"-c {deployment.workload.context_tokens * slots} -np {slots}",
        ]
        parts += _batch_flags(deployment)
        all_layers = max(99, deployment.model.layers + 1)
        parts += [] if any(flag.startswith("-ngl") for flag in extra_flags) else [f"-ngl {all_layers}"]
        return " ".join([*parts, *extra_flags])


def gguf_file(deployment: Deployment) -> str:
    """The file that was read, else the model's file as people name it: ``Llama-3.1-8B-Instruct-Q4_K_M.gguf``."""
    if reads_gguf_file(deployment):
        return quoted(deployment.model.source)
    model = (deployment.model.hub_id or deployment.model.name).rsplit("/", 1)[-1]
    return quoted(f"{model}-{(deployment.settings.weights or deployment.model.dtype).upper()}.gguf")


def server_policy(deployment: Deployment, budget: Term, micro_batch_tokens: int, engine_dram: Term) -> MemoryPolicy:
    """How ``llama-server`` splits a device when it computes so many tokens at a time (``-ub``)."""
    return MemoryPolicy(
        budget=budget,
        activation=_compute_buffer(deployment, micro_batch_tokens),
        runtime=_runtime(deployment.host),
        graphs=Term(Interval.exact(0.0), "none", "graphs are part of the compute buffer"),
        block_tokens=256,
        prefill_chunk_tokens=micro_batch_tokens,
        window_reserve_tokens=micro_batch_tokens,
        state_bytes=StateBytes(4.0, 4.0),
        paged=False,
        engine_dram=engine_dram,
        core_lines=llama_server_processes(deployment.layout),
        warnings=_warnings(deployment),
    )


def host_memory(keeps_prompts: bool) -> Term:
    """Host memory of one ``llama-server``; prompts that it keeps take up to 8 GiB more, as requests come."""
    source = "class estimate: llama-server's own host memory"
    if not keeps_prompts:
        return Term(Interval(gib(0.3), gib(1), gib(2)), "1 GiB", source)
    return Term(Interval(gib(0.3), gib(1), gib(10)), "1 GiB, and up to 8 of kept prompts (--cache-ram)", source)


def _micro_batch(deployment: Deployment) -> int:
    """``-ub``: tokens that are computed at a time, of one prompt or of several."""
    return int(deployment.settings.max_num_batched_tokens or MICRO_BATCH_TOKENS)


def _batch_flags(deployment: Deployment) -> list[str]:
    """``-ub`` where it was asked for; it may not be more than ``-b``, which is 2048 unless told otherwise."""
    asked = deployment.settings.max_num_batched_tokens
    if asked is None:
        return []
    return [f"-ub {asked}"] if asked <= _BATCH_TOKENS else [f"-b {asked} -ub {asked}"]


def _build(deployment: Deployment) -> int:
    return release(deployment.engine.version.removeprefix("b"))[0]


def _compute_buffer(deployment: Deployment, tokens: int) -> Term:
    model, context = deployment.model, deployment.workload.context_tokens
    best = tokens * (4.0 * model.vocab_size + 8.0 * model.hidden_size)
    formula = f"{tokens} tokens x (4 B x vocabulary + 8 B x hidden size)"
    long = 4.0 * context * tokens if context >= 65536 else 0.0
    return Term(Interval(0.98 * best, best, 1.25 * best + long), formula, _LOGS)


def _runtime(host: Host) -> Term:
    if host.unified_memory or host.gpu is None:
        span = Interval(gib(0.1), gib(0.3), gib(0.8))
        return Term(span, "Metal or host context", "class estimate: no published figure found")
    span = Interval(gib(0.4), gib(0.95), gib(2.1))
    return Term(span, "device context and allocator", "llama.cpp breakdown tables: 0.95 to 2.1 GiB on clean cards")


def _warnings(deployment: Deployment) -> tuple[str, ...]:
    said = (*one_server_a_replica(deployment), *draft_warnings(deployment))
    if deployment.layout.tp > 1:
        name = deployment.engine.name
        return (f"not calibrated: {name} gives each GPU whole layers; --tp is judged as if it split them", *said)
    return said


ENGINE = LlamaCpp()
