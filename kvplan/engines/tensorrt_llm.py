"""TensorRT-LLM: the KV pool takes a fraction of what is free after weights and activations.

Source: TensorRT-LLM docs, reference/memory and KvCacheConfig.free_gpu_memory_fraction (0.9).
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.engines.drafting import draft_warnings
from kvplan.engines.free_memory import display_reserve, less
from kvplan.engines.host_memory import tensorrt_llm_pool
from kvplan.engines.interface import KvKernel, MemoryPolicy, Term, given, one_server_a_replica, quoted, replica_users
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.engines.pace import TENSORRT_LLM
from kvplan.engines.processes import tensorrt_llm_processes
from kvplan.engines.served_files import served_model
from kvplan.engines.tensorrt_llm_pool import kv_layout as tensorrt_kv_layout
from kvplan.engines.versions import release, within
from kvplan.units import gib

_BLOCK_TOKENS = (64, 32)
"""Before 0.18 and since; tensorrt_llm_pool says what is known of 0.18 itself."""
_DOCS = "TensorRT-LLM docs: KvCacheConfig, memory reference, KV-cache support matrix"


class TensorRtLlm:
    """``trtllm-serve``."""

    name = "tensorrt-llm"
    aliases: tuple[str, ...] = ("trtllm", "trt-llm", "tensorrt_llm")
    newest_version = "1.2"
    pace = TENSORRT_LLM
    splits_layers = False
    lighter_weights: tuple[str, ...] = ("fp8", "awq-int4")
    settings_flags = {
        "gpu_memory_utilization": "--kv_cache_free_gpu_memory_fraction",
        "max_num_batched_tokens": "--max_num_tokens",
        "max_num_seqs": "--max_batch_size",
    }

    def resolve_version(self, version: str) -> str:
        return within(version, engine="TensorRT-LLM", oldest="0.12", newest=self.newest_version)

    def runs_on(self, gpu: Gpu) -> bool:
        return gpu.vendor.lower() in {"nvidia", "unknown"}

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        gpu = deployment.host.gpu
        assert gpu is not None  # assess refuses TensorRT-LLM on a host without a GPU
        workers = deployment.layout.gpus
        activation = Interval(gib(0.5), gib(1.5), gib(4.0))
        runtime = Interval(gib(0.5), gib(1.0), gib(3.5))
        fraction = given(deployment.settings, "gpu_memory_utilization", 0.9)
        taken = weight_bytes + activation.best + runtime.best
        reserve = display_reserve(deployment.host)
        blocks = _BLOCK_TOKENS[release(deployment.engine.version) >= (0, 18)]
        total = less(gpu.hbm_bytes, reserve.bytes)
        budget = total.map(lambda value: value - (1.0 - fraction) * max(value - taken, 0.0))
        words = f", less {reserve.formula}" if reserve.bytes.high else ""
        class_estimate = "class estimate: aiconfigurator memory model and TensorRT-LLM logs"
        return MemoryPolicy(
            budget=Term(
                budget, f"all but {1 - fraction:.2g} of what is free after weights and activations{words}", _DOCS
            ),
            activation=Term(activation, "engine activations", class_estimate),
            runtime=Term(runtime, "contexts and communication buffers", class_estimate),
            graphs=Term(Interval.exact(0.0), "part of the runtime", class_estimate),
            block_tokens=int(given(deployment.settings, "block_size", blocks)),
            prefill_chunk_tokens=int(given(deployment.settings, "max_num_batched_tokens", 8192)),
            engine_dram=Term(
                Interval(gib(1.5), gib(3), gib(8)).scaled(workers), f"3 GiB x {workers} processes", class_estimate
            ),
            core_lines=tensorrt_llm_processes(deployment.layout),
            host_pool=tensorrt_llm_pool(deployment),
            warnings=(
                "not calibrated: TensorRT-LLM's activation and runtime memory are class estimates",
                *one_server_a_replica(deployment),
                *draft_warnings(deployment),
            ),
        )

    def weight_extras(self, deployment: Deployment) -> float:
        return 0.0

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        kernels: dict[str, KvKernel] = {}
        if gpu.kernel_class in {"ampere", "ada", "hopper", "blackwell_dc", "blackwell_rtx"}:
            kernels["fp8"] = KvKernel(KvFormat("fp8", 1.0), "fp8", _DOCS, reads_latents=True)
        if gpu.kernel_class in {"volta", "turing", "ampere", "ada", "hopper", "blackwell_dc", "blackwell_rtx"}:
            kernels["int8"] = KvKernel(KvFormat("int8", 1.0), "int8", _DOCS + " (legacy)")
        if gpu.kernel_class == "blackwell_dc":
            kernels["nvfp4"] = KvKernel(KvFormat("nvfp4", 0.5625), "nvfp4", _DOCS)
        if gpu.kernel_class == "blackwell_rtx":
            kernels["nvfp4"] = KvKernel(KvFormat("nvfp4", 0.5625), "nvfp4", _DOCS, verified=False)
        return kernels

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        """``trtllm-serve`` knows auto, fp8 and nvfp4, by a flag since 1.2 and by a YAML file before; not INT8."""
        if kernel.flag == "int8":
            return None
        if release(deployment.engine.version) >= (1, 2):
            return (f"--kv_cache_dtype {kernel.flag}",)
        return (f"--extra_llm_api_options <(echo 'kv_cache_config: {{dtype: {kernel.flag}}}')",)

    def kv_layout(self, question: KvQuestion) -> KvLayout:
        """Blocks and the line that the engine itself prints."""
        return tensorrt_kv_layout(question)

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        layout, workload, settings = deployment.layout, deployment.workload, deployment.settings
        parts = [f"trtllm-serve {_checkpoint(deployment)}", f"--max_seq_len {workload.context_tokens}"]
        parts.append(f"--max_batch_size {settings.max_num_seqs or replica_users(deployment)}")
        if settings.max_num_batched_tokens is not None:
            parts.append(f"--max_num_tokens {settings.max_num_batched_tokens}")
        sizes = (("tp", layout.tp), ("pp", layout.pp), ("ep", layout.ep))
        parts += [f"--{kind}_size {count}" for kind, count in sizes if count > 1]
        if settings.gpu_memory_utilization is not None:
            parts.append(f"--kv_cache_free_gpu_memory_fraction {settings.gpu_memory_utilization:g}")
        return " ".join([*parts, *extra_flags])


def _checkpoint(deployment: Deployment) -> str:
    """FP8 weights are read from a checkpoint that ModelOpt has quantized, not made on the fly."""
    if deployment.settings.weights == "fp8" and deployment.model.dtype != "fp8":
        name = (deployment.model.hub_id or deployment.model.name).rsplit("/", 1)[-1]
        return quoted(f"PATH/TO/{name}-fp8")
    return served_model(deployment)


ENGINE = TensorRtLlm()
