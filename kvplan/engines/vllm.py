"""vLLM, 0.6 to 0.33, on GPUs.

KV pool = total x utilization - weights - activation peak - non-torch memory [- CUDA-graph estimate].
Constants by version come from start-up logs that print every term (153 rows; the identity closes within 0.03 GiB).
"""

from __future__ import annotations

from kvplan.core.activations import ForwardShape, activation_bytes
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.engines.drafting import draft_warnings, vllm_draft_flags
from kvplan.engines.free_memory import display_reserve, gib_words, less
from kvplan.engines.interface import (
    KvKernel,
    MemoryPolicy,
    Term,
    gguf_warnings,
    given,
    kv_word,
    replica_users,
    served_model,
)
from kvplan.engines.versions import release, within
from kvplan.engines.vllm_kv import kv_kernels
from kvplan.units import GIB, gib

_SIXTEEN_BIT_WORDS = {"bf16": "bfloat16", "fp16": "float16", "f16": "float16", "half": "float16"}
_LOGS = "vLLM start-up logs, 0.6 to 0.33 (llm-d-planner DEBUG runs on H100, issues and public repositories)"


class Vllm:
    """``vllm serve``."""

    name = "vllm"
    aliases: tuple[str, ...] = ()
    newest_version = "0.33"
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
        gpu = _gpu(deployment)
        tokens, sequences = default_batch(gpu, version)
        batched_tokens = given(settings, "max_num_batched_tokens", tokens)
        max_sequences = int(given(settings, "max_num_seqs", max(sequences, replica_users(deployment))))
        workers = deployment.layout.gpus
        return MemoryPolicy(
            budget=_budget(deployment, version),
            activation=_activation(deployment, version, batched_tokens, max_sequences),
            runtime=_runtime(deployment, version),
            graphs=_graphs(deployment, version),
            block_tokens=int(given(settings, "block_size", 16)),
            prefill_chunk_tokens=int(batched_tokens),
            window_in_flight_tokens=int(batched_tokens) - 1,
            frees_chunks=False,
            engine_dram=Term(
                Interval(gib(1.5), gib(3), gib(8)).scaled(workers),
                f"3 GiB x {workers} worker processes",
                "class estimate: resident host memory of a vLLM worker",
            ),
            engine_cores=2.0 + workers,
            engine_cores_source="vLLM docs, CPU resources: API server + engine core + one worker for each GPU",
            warnings=(
                *_warnings(deployment),
                *_no_start(deployment, version),
                *_queueing(deployment, max_sequences),
                *gguf_warnings(deployment, "--tokenizer"),
                *draft_warnings(deployment),
            ),
        )

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        return kv_kernels(gpu.kernel_class)

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        return (f"--kv-cache-dtype {kv_word(kernel, deployment)}",)

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        layout, settings = deployment.layout, deployment.settings
        parts = ["vllm serve", served_model(deployment), f"--max-model-len {deployment.workload.context_tokens}"]
        sizes = (("tensor", layout.tp), ("pipeline", layout.pp), ("data", layout.dp))
        parts += [f"--{kind}-parallel-size {count}" for kind, count in sizes if count > 1]
        parts += [f"--decode-context-parallel-size {layout.dcp}"] if layout.dcp > 1 else []
        parts += ["--enable-expert-parallel"] if layout.ep > 1 else []
        parts += ["--quantization fp8"] if settings.weights == "fp8" and deployment.model.dtype != "fp8" else []
        default = default_batch(_gpu(deployment), release(deployment.engine.version))[1]
        if settings.max_num_seqs is None and replica_users(deployment) > default:
            parts.append(f"--max-num-seqs {replica_users(deployment)}")
        word = (settings.kv_cache_dtype or "").lower()
        values = {name: getattr(settings, name) for name in self.settings_flags if name not in ("enforce_eager", "dcp")}
        values["kv_cache_dtype"] = _SIXTEEN_BIT_WORDS.get(word, word) or None
        if _no_start(deployment, release(deployment.engine.version)):
            values["gpu_memory_utilization"] = _startable(deployment)
        for name, value in values.items():
            flag = self.settings_flags[name]
            if value is not None and not any(extra.startswith(flag) for extra in extra_flags):
                parts.append(f"{flag} {value}")
        parts += ["--enforce-eager"] if settings.enforce_eager else []
        parts += vllm_draft_flags(deployment)
        return " ".join([*parts, *extra_flags])


def default_batch(gpu: Gpu, version: tuple[int, ...]) -> tuple[int, int]:
    """(max_num_batched_tokens, max_num_seqs) of ``vllm serve``: larger on cards of 70 GiB and more, A100 excepted."""
    large = gpu.hbm_bytes.best >= 70 * GIB and "a100" not in gpu.name.lower()
    return (8192, 1024) if large and version >= (0, 8) else (2048, 256)


def _gpu(deployment: Deployment) -> Gpu:
    assert deployment.host.gpu is not None  # assess refuses vLLM on a host without a GPU
    return deployment.host.gpu


def _utilization(deployment: Deployment, version: tuple[int, ...]) -> float:
    return given(deployment.settings, "gpu_memory_utilization", 0.92 if version >= (0, 21) else 0.90)


def _budget(deployment: Deployment, version: tuple[int, ...]) -> Term:
    """Utilization x total; what is free where that is less, for vLLM does not start then."""
    host, utilization = deployment.host, _utilization(deployment, version)
    total, source = _gpu(deployment).hbm_bytes, "vLLM gpu_worker.py; default utilization 0.92 since 0.21, 0.90 before"
    if host.unified_memory:
        total = total.map(lambda value: value * (host.gpu_share_fraction or 1.0) - host.os_reserve_bytes)
        formula = f"{utilization:g} x what the platform shows of the one pool"
        return Term(total.scaled(utilization), formula, source)
    free, reserve = _free_at_start(deployment), display_reserve(host)
    usable = Interval(*(min(one, other) for one, other in zip(total.scaled(utilization), free, strict=True)))
    formula = f"{utilization:g} x device memory"
    if usable != total.scaled(utilization):
        formula += f", at most what is free: less a CUDA context and {reserve.formula}"
    return Term(usable, formula, source)


def _free_at_start(deployment: Deployment) -> Interval:
    """Device memory that is free when vLLM first looks: less its CUDA context, NCCL's over NVLink, and a display.

    H100: 78.68 of 79.19 GiB alone, 77.2 to 77.7 with tensor parallelism; RTX 4090: a context of 384 MiB.
    """
    gpu, tp = _gpu(deployment), deployment.layout.tp
    context = Interval(1.4, 1.75, 2.05) if tp > 1 and gpu.peer_bytes_per_s is not None else Interval(0.3, 0.45, 0.55)
    return less(gpu.hbm_bytes, context.scaled(GIB).plus(display_reserve(deployment.host).bytes))


def _startable(deployment: Deployment) -> float:
    """The largest utilization, in hundredths, with which vLLM starts at the best estimate."""
    return int(100.0 * _free_at_start(deployment).best / _gpu(deployment).hbm_bytes.best) / 100


def _no_start(deployment: Deployment, version: tuple[int, ...]) -> tuple[str, ...]:
    """vLLM ends at once where less than utilization x total is free."""
    total, utilization = _gpu(deployment).hbm_bytes.best, _utilization(deployment, version)
    free = _free_at_start(deployment).best
    if deployment.host.unified_memory or utilization * total <= free:
        return ()
    words = f"utilization {utilization:g} asks for {gib_words(utilization * total)}, and {gib_words(free)} are free"
    return (f"vLLM does not start: {words}; --gpu-memory-utilization {_startable(deployment):g} does",)


def _activation(deployment: Deployment, version: tuple[int, ...], tokens: float, sequences: float) -> Term:
    model, tp = deployment.model, deployment.layout.tp
    logit_bytes, copies = (14.6, 5.0) if version >= (0, 17) else (38.1, 4.0)
    experts = model.experts
    workspace = experts is not None and version >= (0, 17) and model.dtype != "mxfp4"
    shape = ForwardShape(
        tokens,
        sequences,
        float(model.vocab_size),
        float(model.hidden_size),
        model.intermediate_size / tp,
        logit_bytes,
        copies,
        float(experts.experts_per_token) if experts and workspace else 0.0,
        experts.intermediate_size / tp if experts and workspace else 0.0,
    )
    best = activation_bytes(shape)
    low, slack = best - gib(0.1), gib(0.15)
    if version >= (0, 21):  # other runners hold fewer logits: an 8B model on 0.33 showed 1.3 GiB less than this form
        low, slack = 0.25 * best, gib(0.3)
    elif version < (0, 17):
        low, slack = 0.35 * best, gib(0.4)
    formula = f"max({logit_bytes} B x {sequences:g} sequences x vocabulary, layer of {tokens:g} tokens) + MoE workspace"
    return Term(Interval(max(min(low, best), 0.0), best, best + slack), formula, _LOGS)


def _runtime(deployment: Deployment, version: tuple[int, ...]) -> Term:
    host, layout = deployment.host, deployment.layout
    if host.unified_memory:
        span, where = Interval(1.0, 3.0, 6.0), "unified memory"
    elif layout.tp == 1:
        span, where = (Interval(0.07, 0.25, 0.46), "one GPU") if version >= (0, 18) else (
            Interval(0.02, 0.10, 0.28), "one GPU")  # fmt: skip
    elif _gpu(deployment).peer_bytes_per_s is not None:
        span, where = Interval(0.95, 2.1, 2.2) if version >= (0, 18) else Interval(0.5, 1.5, 2.1), "NVLink"
    else:
        span, where = Interval(0.1, 0.3, 0.6), "GPUs over PCIe"
    slack = Interval(0.0, 0.03, 0.06)  # rope tables and allocator rounding
    return Term(span.plus(slack).scaled(GIB), f"non-torch memory, {where}, and rope tables", _LOGS)


def _graphs(deployment: Deployment, version: tuple[int, ...]) -> Term:
    source = "0.29 + 0.017 x layers + 0.29 if MoE, GiB: estimates printed by vLLM 0.20 to 0.29 (p90 error 0.33)"
    if deployment.settings.enforce_eager:
        return Term(Interval.exact(0.0), "no graphs with --enforce-eager", source)
    if version < (0, 21):
        return Term(Interval.exact(0.0), "graphs live outside the budget before 0.21", source)
    best = 0.29 + 0.017 * deployment.model.layers + (0.29 if deployment.model.experts else 0.0)
    low = 0.0 if version >= (0, 28) else max(best - 0.33, 0.0)
    return Term(Interval(low, best, best + 0.33).scaled(GIB), "CUDA-graph estimate", source)


def _warnings(deployment: Deployment) -> tuple[str, ...]:
    found = []
    if _gpu(deployment).vendor.lower() != "nvidia":
        found.append("not calibrated: vLLM's memory terms on this vendor rest on NVIDIA logs")
    if deployment.host.unified_memory:
        found.append("not calibrated: on unified memory other processes are counted, and logs scatter by gigabytes")
    if deployment.model.weights.towers or deployment.model.tower_elements_unknown:
        found.append("not calibrated: a vision tower's encoder cache and activations are not modelled")
    return tuple(found)


def _queueing(deployment: Deployment, max_sequences: int) -> tuple[str, ...]:
    """vLLM decodes at most max_num_seqs sequences at once, whatever room the pool has."""
    on_replica = replica_users(deployment)
    if on_replica <= max_sequences:
        return ()
    return (f"max_num_seqs is {max_sequences}: of {on_replica} users on a replica the rest wait, see --max-num-seqs",)


ENGINE = Vllm()
