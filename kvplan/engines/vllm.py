"""vLLM, 0.6 to 0.33, on GPUs.

KV pool = total x utilization - weights - activation peak - non-torch memory [- CUDA-graph estimate].
Constants by version come from start-up logs that print every term (153 rows; the identity closes within 0.03 GiB).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.engines import vllm_terms as terms
from kvplan.engines.drafting import draft_warnings, vllm_draft_flags
from kvplan.engines.host_memory import vllm_pool
from kvplan.engines.interface import KvKernel, MemoryPolicy, Term, given, kv_word, replica_users
from kvplan.engines.pace import VLLM
from kvplan.engines.processes import vllm_processes
from kvplan.engines.served_files import gguf_warnings, served_model
from kvplan.engines.versions import release, within
from kvplan.engines.vllm_kv import kv_kernels
from kvplan.engines.vllm_weights import weight_extras
from kvplan.units import gib

if TYPE_CHECKING:
    from kvplan.engines.kv_layout import KvLayout, KvQuestion

_SIXTEEN_BIT_WORDS = {"bf16": "bfloat16", "fp16": "float16", "f16": "float16", "half": "float16"}


class Vllm:
    """``vllm serve``."""

    name = "vllm"
    aliases: tuple[str, ...] = ()
    newest_version = "0.33"
    pace = VLLM
    splits_layers = False
    lighter_weights: tuple[str, ...] = ("fp8", "awq-int4")
    settings_flags = {
        "kv_cache_dtype": "--kv-cache-dtype",
        "gpu_memory_utilization": "--gpu-memory-utilization",
        "max_num_batched_tokens": "--max-num-batched-tokens",
        "max_num_seqs": "--max-num-seqs",
        "block_size": "--block-size",
        "enforce_eager": "--enforce-eager",
        "dcp": "--decode-context-parallel-size",
    }

    def resolve_version(self, version: str) -> str:
        return within(version, engine="vLLM", oldest="0.6", newest=self.newest_version)

    def runs_on(self, gpu: Gpu) -> bool:
        return gpu.vendor.lower() not in {"cpu", "apple"}

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        version = release(deployment.engine.version)
        settings = deployment.settings
        gpu = terms.gpu_of(deployment)
        tokens, sequences = terms.default_batch(gpu, version)
        batched_tokens = given(settings, "max_num_batched_tokens", tokens)
        max_sequences = int(given(settings, "max_num_seqs", max(sequences, replica_users(deployment))))
        workers = deployment.layout.gpus
        return MemoryPolicy(
            budget=terms.budget(deployment, version),
            activation=terms.activation(deployment, version, batched_tokens, max_sequences),
            runtime=terms.runtime(deployment, version),
            graphs=terms.graphs(deployment, version),
            block_tokens=int(given(settings, "block_size", 16)),
            prefill_chunk_tokens=int(batched_tokens),
            window_in_flight_tokens=int(batched_tokens) * (2 if version >= (0, 26) else 1) - 1,  # batches in flight
            frees_chunks=False,
            engine_dram=Term(
                Interval(gib(1.5), gib(3), gib(8)).scaled(workers),
                f"3 GiB x {workers} worker processes",
                "class estimate: resident host memory of a vLLM worker",
            ),
            core_lines=vllm_processes(deployment.layout),
            host_pool=vllm_pool(deployment),
            pool_levers=terms.pool_levers(deployment, version, batched_tokens, max_sequences),
            warnings=(
                *terms.warnings(deployment),
                *terms.no_start(deployment, version),
                *terms.queueing(deployment, max_sequences),
                *gguf_warnings(deployment, "--tokenizer"),
                *draft_warnings(deployment),
            ),
        )

    def weight_extras(self, deployment: Deployment) -> float:
        return weight_extras(deployment)

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        return kv_kernels(gpu.kernel_class)

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        return (f"--kv-cache-dtype {kv_word(kernel, deployment)}",)

    def kv_layout(self, question: KvQuestion) -> KvLayout:
        """Pages, groups and the lines that vLLM itself prints. Without a host: the scheduler's own default batch."""
        from kvplan.engines.vllm_memory.layout import vllm_layout
        from kvplan.engines.vllm_memory.rules import DEFAULT_BATCHED_TOKENS

        deployment = question.deployment
        gpu, version = deployment.host.gpu, release(deployment.engine.version)
        default = terms.default_batch(gpu, version)[0] if gpu is not None else DEFAULT_BATCHED_TOKENS
        return vllm_layout(question, int(given(deployment.settings, "max_num_batched_tokens", default)))

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        layout, settings = deployment.layout, deployment.settings
        parts = ["vllm serve", served_model(deployment), f"--max-model-len {deployment.workload.context_tokens}"]
        sizes = (("tensor", layout.tp), ("pipeline", layout.pp), ("data", layout.dp))
        parts += [f"--{kind}-parallel-size {count}" for kind, count in sizes if count > 1]
        parts += [f"--decode-context-parallel-size {layout.dcp}"] if layout.dcp > 1 else []
        parts += ["--enable-expert-parallel"] if layout.ep > 1 else []
        parts += ["--quantization fp8"] if settings.weights == "fp8" and deployment.model.dtype != "fp8" else []
        default = terms.default_batch(terms.gpu_of(deployment), release(deployment.engine.version))[1]
        if settings.max_num_seqs is None and replica_users(deployment) > default:
            parts.append(f"--max-num-seqs {replica_users(deployment)}")
        word = (settings.kv_cache_dtype or "").lower()
        values = {name: getattr(settings, name) for name in self.settings_flags if name not in ("enforce_eager", "dcp")}
        values["kv_cache_dtype"] = _SIXTEEN_BIT_WORDS.get(word, word) or None
        if terms.no_start(deployment, release(deployment.engine.version)):
            values["gpu_memory_utilization"] = terms.startable(deployment)
        for name, value in values.items():
            flag = self.settings_flags[name]
            if value is not None and not any(extra.startswith(flag) for extra in extra_flags):
                parts.append(f"{flag} {value}")
        parts += ["--enforce-eager"] if settings.enforce_eager else []
        parts += vllm_draft_flags(deployment)
        return " ".join([*parts, *extra_flags])


ENGINE = Vllm()
