"""SGLang: weights and KV take a static share of the memory that was free before loading.

Source: SGLang kv_cache_configurator.py; 4 start-up logs print both sides (0.8790 to 0.8801 for a default of 0.88).
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import FP8_DS_MLA, KvFormat
from kvplan.engines.drafting import draft_warnings, sglang_draft_flags
from kvplan.engines.free_memory import display_reserve, less
from kvplan.engines.host_memory import sglang_pool
from kvplan.engines.interface import KvKernel, MemoryPolicy, StateBytes, Term, given, kv_word, replica_users
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.engines.pace import SGLANG
from kvplan.engines.processes import sglang_processes
from kvplan.engines.served_files import gguf_warnings, served_model
from kvplan.engines.sglang_pool import STATE_RATIO
from kvplan.engines.sglang_pool import kv_layout as sglang_kv_layout
from kvplan.engines.sglang_rows import WINDOW_RATIO, has_window_pool
from kvplan.engines.versions import within
from kvplan.units import GIB, gib, to_gib

_SOURCE = "SGLang server_args.py, defaults of mem_fraction_static; start-up logs of H100, H200 and 24 GB cards"
_STORAGE = "SGLang pool_configurator.py"


class Sglang:
    """``python -m sglang.launch_server``."""

    name = "sglang"
    aliases: tuple[str, ...] = ()
    newest_version = "0.5.23"
    pace = SGLANG
    splits_layers = False
    lighter_weights: tuple[str, ...] = ("fp8", "awq-int4")
    settings_flags = {
        "kv_cache_dtype": "--kv-cache-dtype",
        "mem_fraction_static": "--mem-fraction-static",
        "max_num_batched_tokens": "--chunked-prefill-size",
        "max_num_seqs": "--max-running-requests",
        "block_size": "--page-size",
        "enforce_eager": "--disable-cuda-graph",
        "dcp": "--dcp-size",
    }

    def resolve_version(self, version: str) -> str:
        return within(version, engine="SGLang", oldest="0.4", newest=self.newest_version)

    def runs_on(self, gpu: Gpu) -> bool:
        return gpu.vendor.lower() not in {"cpu", "apple"}

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        workers, budget = deployment.layout.gpus, _budget(deployment)
        nothing = "comes out of the share that is not static"
        return MemoryPolicy(
            budget=budget,
            activation=Term(Interval.exact(0.0), nothing, _SOURCE),
            runtime=Term(Interval.exact(0.0), nothing, _SOURCE),
            graphs=Term(Interval.exact(0.0), nothing, _SOURCE),
            block_tokens=int(given(deployment.settings, "block_size", 1)),
            prefill_chunk_tokens=int(_chunk_tokens(deployment)),
            window_growth_fraction=WINDOW_RATIO if has_window_pool(deployment) else 1.0,
            state_bytes=StateBytes(2.0, 4.0),
            state_pool_fraction=STATE_RATIO / (1.0 + STATE_RATIO) if _has_state_pool(deployment) else 0.0,
            engine_dram=Term(
                Interval(gib(1.5), gib(3), gib(8)).scaled(workers),
                f"3 GiB x {workers} worker processes",
                "class estimate: resident host memory of a scheduler process",
            ),
            core_lines=sglang_processes(deployment.layout),
            host_pool=sglang_pool(deployment, budget, weight_bytes),
            warnings=(
                *_state_warnings(deployment, weight_bytes),
                *_queueing(deployment),
                *gguf_warnings(deployment, "--tokenizer-path"),
                *draft_warnings(deployment),
            ),
        )

    def weight_extras(self, deployment: Deployment) -> float:
        return 0.0

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        kernels: dict[str, KvKernel] = {}
        nvidia = {"ampere", "ada", "hopper", "blackwell_dc", "blackwell_rtx"}
        if gpu.kernel_class in nvidia | {"cdna3", "cdna4", "turing"}:
            unsure = gpu.kernel_class in {"cdna4", "turing"}
            source = f"SGLang FP8 KV on {gpu.kernel_class}: no confirmed run found" if unsure else _STORAGE
            fp8 = KvFormat("fp8_e4m3", 1.0)
            kernels["fp8"] = KvKernel(
                fp8, "fp8_e4m3", source, not unsure, reads_latents=True, indexed_format=FP8_DS_MLA
            )
        if gpu.kernel_class in nvidia:
            kernels["int8"] = KvKernel(KvFormat("int8", 1.0, vector_bytes=4.0), "int8", _STORAGE)
        if gpu.kernel_class == "blackwell_dc":
            kernels["nvfp4"] = KvKernel(KvFormat("fp4_e2m1", 0.5625), "fp4_e2m1", _STORAGE + ", experimental")
        if gpu.kernel_class == "blackwell_rtx":
            unsure_fp4 = "SGLang FP4 KV on SM120: no confirmed run found"
            kernels["nvfp4"] = KvKernel(KvFormat("fp4_e2m1", 0.5625), "fp4_e2m1", unsure_fp4, verified=False)
        return kernels

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        """INT8 is served by the Triton backend alone, with pages of one token."""
        chosen = (f"--kv-cache-dtype {kv_word(kernel, deployment)}",)
        return (*chosen, "--attention-backend triton", "--page-size 1") if kernel.flag == "int8" else chosen

    def kv_layout(self, question: KvQuestion) -> KvLayout:
        """Pages, pools and the lines that SGLang itself prints."""
        return sglang_kv_layout(question)

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        layout, settings = deployment.layout, deployment.settings
        parts = ["python -m sglang.launch_server", f"--model-path {served_model(deployment)}"]
        parts.append(f"--context-length {deployment.workload.context_tokens}")
        parts.append(f"--max-running-requests {settings.max_num_seqs or deployment.workload.users}")
        sizes = (("--tp", layout.tp), ("--pp-size", layout.pp), ("--dp", layout.dp), ("--ep-size", layout.ep))
        parts += [f"{flag} {count}" for flag, count in (*sizes, ("--dcp-size", layout.dcp)) if count > 1]
        parts += ["--quantization fp8"] if settings.weights == "fp8" and deployment.model.dtype != "fp8" else []
        if settings.mem_fraction_static is not None:
            parts.append(f"--mem-fraction-static {settings.mem_fraction_static:g}")
        if settings.max_num_batched_tokens is not None:
            parts.append(f"--chunked-prefill-size {settings.max_num_batched_tokens}")
        if settings.block_size is not None and not any("--page-size" in flag for flag in extra_flags):
            parts.append(f"--page-size {settings.block_size}")
        parts += ["--disable-cuda-graph"] if settings.enforce_eager else []
        if (settings.kv_cache_dtype or "").lower() in ("bf16", "bfloat16"):
            parts += [] if any(flag.startswith("--kv-cache-dtype") for flag in extra_flags) else [
                "--kv-cache-dtype bfloat16"]  # fmt: skip
        return " ".join([*parts, *sglang_draft_flags(deployment), *extra_flags])


def _has_state_pool(deployment: Deployment) -> bool:
    """Hybrids: layers with a recurrent state beside layers that keep every token."""
    layers = deployment.model.kv
    return any(item.state is not None for item in layers) and any(item.grows for item in layers)


def _state_warnings(deployment: Deployment, weight_bytes: float) -> tuple[str, ...]:
    """The pool of states, how many it holds, and what sets it."""
    if not _has_state_pool(deployment):
        return ()
    layout = deployment.layout
    one = sum(
        item.layers * (2.0 * item.state.conv_elements + 4.0 * item.state.recurrent_elements)
        for item in deployment.model.kv
        if item.state is not None
    )
    pool = max(_budget(deployment).bytes.best - weight_bytes, 0.0) * STATE_RATIO / (1.0 + STATE_RATIO)
    states = int(pool * layout.tp * layout.pp // one)
    found = [
        f"SGLang sets {to_gib(pool):.1f} GiB aside for states, {STATE_RATIO:g} bytes for each byte of KV, whoever uses"
        f" them: --mamba-full-memory-ratio moves the border"
    ]
    users = replica_users(deployment)
    if 3 * users > states:
        found.append(f"that pool holds {states:,} states; one of {users} users takes 1 to 5: some wait")
    return tuple(found)


def _queueing(deployment: Deployment) -> tuple[str, ...]:
    most, users = deployment.settings.max_num_seqs, replica_users(deployment)
    if most is None or users <= most:
        return ()
    return (f"--max-running-requests is {most}: of {users} users on a replica the rest wait",)


def _chunk_tokens(deployment: Deployment) -> float:
    """As given, else by card: 2048 below 35 GB, 4096 below 60, 8192 below 160, else 16384."""
    if deployment.settings.max_num_batched_tokens is not None:
        return float(deployment.settings.max_num_batched_tokens)
    total = to_gib(deployment.host.gpu.hbm_bytes.best) if deployment.host.gpu else 0.0
    sizes = ((35, 2048.0), (60, 4096.0), (160, 8192.0))
    return next((tokens for ceiling, tokens in sizes if total < ceiling), 16384.0)


def _budget(deployment: Deployment) -> Term:
    gpu = deployment.host.gpu
    assert gpu is not None  # assess refuses SGLang on a host without a GPU
    total = gpu.hbm_bytes
    layout = deployment.layout
    reserved_gib = (512 + 1.5 * max(_chunk_tokens(deployment), 2048.0) + layout.tp * layout.pp / 8 * 1024) / 1024
    if total.best > 60 * GIB:
        reserved_gib = max(reserved_gib, 10.0)
    default = (total.best - reserved_gib * GIB) / total.best
    fraction = given(deployment.settings, "mem_fraction_static", round(default, 3))
    context = Interval(gib(0.4), gib(0.8), gib(1.2)) if layout.tp == 1 else Interval(gib(1.5), gib(2.0), gib(2.8))
    reserve = display_reserve(deployment.host)
    free = less(total, context.plus(reserve.bytes))
    words = f" (less {reserve.formula})" if reserve.bytes.high else ""
    return Term(free.scaled(fraction), f"{fraction:g} x memory free before loading{words}", _SOURCE)


ENGINE = Sglang()
