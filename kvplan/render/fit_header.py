"""What was asked, line by line: model, host, load, engine, memory. Counts of tokens are printed in full."""

from __future__ import annotations

from kvplan.domain.assessment import Assessment, GpuMemory
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.workload import Neighbours, Workload
from kvplan.render import humans
from kvplan.units import to_ms


def header(assessment: Assessment) -> list[tuple[str, str]]:
    """(label, text) of each line."""
    deployment = assessment.deployment
    return [
        ("Model", f"{model_words(deployment)}, {weights_words(assessment)}"),
        ("Host", host_words(deployment)),
        ("Load", load_words(deployment)),
        ("Engine", engine_words(assessment)),
        ("Memory", memory_words(assessment.gpu_memory, assessment.deployment.layout.gpus)),
    ]


def model_words(deployment: Deployment) -> str:
    """``Llama-3.1-8B-Instruct (llama3-8b)``."""
    model = deployment.model
    known_as = f" ({model.catalog_name})" if model.catalog_name and model.catalog_name != model.name else ""
    return humans.clean(model.name + known_as)


def weights_words(assessment: Assessment) -> str:
    """``bf16 weights 15.0 GiB``."""
    deployment = assessment.deployment
    scheme = deployment.settings.weights or deployment.model.dtype
    each = " a GPU" if deployment.layout.tp * deployment.layout.pp > 1 else ""
    return f"{scheme} weights {humans.gib(assessment.gpu_memory.weight_bytes)} GiB{each}"


def host_words(deployment: Deployment) -> str:
    """``h100-server: 1 of 8 H100 SXM 80 GB, 96 CPU cores, PCIe 5.0 x16, 2,048 GiB DRAM``."""
    host = deployment.host
    cores = None if host.cpu_cores is None else f"{humans.count(host.cpu_cores.best)} CPU cores"
    parts = [gpus_words(deployment), cores, *_pools(host)]
    return f"{humans.clean(host.name)}: {', '.join(part for part in parts if part)}"


def gpus_words(deployment: Deployment) -> str:
    """``1 of 8 H100 SXM 80 GB``, ``2 x RTX 4090 24 GB``."""
    gpu = deployment.host.gpu
    if gpu is None or gpu.kernel_class == "cpu":
        return "no GPU"
    used, installed = deployment.layout.gpus, deployment.gpus_installed
    return f"{used} of {installed} {gpu.name}" if used < installed else f"{used} x {gpu.name}"


def _pools(host: Host) -> list[str]:
    """Memory and the way to it. One pool has no link worth naming; its rate is what decode waits for."""
    if host.unified_memory:
        rate = host.gpu.hbm_bytes_per_s if host.gpu else None
        pace = f" at {humans.rate_words(rate)}" if rate else ""
        memory_bytes = host.dram_bytes or (host.gpu.hbm_bytes.best if host.gpu else None)
        kind = "DRAM" if host.gpu is None or host.gpu.kernel_class == "cpu" else "unified memory"
        return [f"{humans.gib_words(memory_bytes)} {kind}{pace}"] if memory_bytes else []
    link = humans.link_words(host.link.kind) if host.link else "link not known"
    dram = f"{humans.gib_words(host.dram_bytes)} DRAM" if host.dram_bytes else "DRAM not known"
    return [link, dram]


def load_words(deployment: Deployment) -> str:
    """``8 users x 131,072 tokens, at most 50 ms a token``."""
    workload, objectives = deployment.workload, deployment.objectives
    parts = [f"{humans.users(workload.users)} x {tokens_words(workload)}"]
    if workload.output_tokens is not None and workload.lengths is None:
        prompt, output = humans.count(workload.prompt_tokens), humans.count(workload.output_tokens)
        parts[0] += f" ({prompt} in + {output} out)"
    parts.append(f"at most {humans.number(to_ms(objectives.itl_s))} ms a token")
    if objectives.ttft_s is not None:
        parts.append(f"at most {humans.number(objectives.ttft_s)} s to the first")
    return ", ".join([*parts, *_reuse(workload), *_neighbours(deployment.neighbours)])


def tokens_words(workload: Workload) -> str:
    """``131,072 tokens``, or ``8,579 tokens on average (6,520..10,723), the longest 131,072``."""
    lengths = workload.lengths
    if lengths is None:
        return f"{humans.count(workload.context_tokens)} tokens"
    low, best, high = (humans.count(round(value)) for value in lengths.mean_tokens)
    span = "" if lengths.mean_tokens.is_exact else f" ({low}..{high})"
    return f"{best} tokens on average{span}, the longest {humans.count(workload.context_tokens)}"


def _reuse(workload: Workload) -> list[str]:
    found = []
    if workload.prefix_hit_fraction:
        found.append(f"{workload.prefix_hit_fraction:.0%} of prompts found in DRAM")
    if workload.shared_prefix_tokens:
        found.append(f"{humans.count(workload.shared_prefix_tokens)} tokens of shared prefix")
    if workload.idle_sessions:
        found.append(f"{humans.count(workload.idle_sessions)} idle sessions")
    return found


def _neighbours(neighbours: Neighbours) -> list[str]:
    found = [f"{neighbours.tenants} such tenants"] if neighbours.tenants > 1 else []
    if neighbours.link_bytes_per_s or neighbours.cpu_cores or neighbours.dram_bytes:
        found.append("beside other work")
    return found


def engine_in_short(deployment: Deployment) -> str:
    """``vllm 0.33 tp 8``."""
    counts = ((name, getattr(deployment.layout, name)) for name in ("tp", "pp", "dp", "ep", "dcp"))
    layout = [f"{name} {ways}" for name, ways in counts if ways > 1]
    return " ".join([deployment.engine.name, deployment.engine.version, *layout])


def engine_words(assessment: Assessment) -> str:
    """``vllm 0.33 tp 8, KV pool 54.9 GiB (53.9..57.5) a GPU = 449,771 tokens``."""
    split, engine = assessment.gpu_memory, engine_in_short(assessment.deployment)
    if split.kv_pool_bytes.high <= 0.0:
        return f"{engine}, no room for KV beside the weights"
    each = " a GPU" if assessment.deployment.layout.gpus > 1 else ""
    tokens = "" if split.kv_pool_tokens is None else f" = {humans.count(split.kv_pool_tokens)} tokens"
    return f"{engine}, KV pool {humans.gib_span(split.kv_pool_bytes)}{each}{tokens}"


def memory_words(split: GpuMemory, gpus: int) -> str:
    """``65.7 weights + 2.0 activations + 2.1 runtime of 71.3 GiB a GPU; --max-num-seqs 64 gives KV 1.6 GiB more``."""
    terms = {"weights": split.weight_bytes, "activations": split.activation_bytes, "runtime": split.runtime_bytes,
             "graphs": split.graph_bytes}  # fmt: skip
    parts = " + ".join(f"{humans.gib(value)} {name}" for name, value in terms.items() if value)
    each = " a GPU" if gpus > 1 else ""
    levers = [f"; {flag} gives KV {humans.gib(gained)} GiB more" for flag, gained in split.pool_levers]
    return f"{parts} of {humans.gib(split.budget_bytes)} GiB{each}{''.join(levers)}"
