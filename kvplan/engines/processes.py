"""The processes of an engine, and the cores that they keep busy: one line for each kind.

A busy process is one core, whatever its threads: two hyper-threads share what a core can do. Tokenizing and the text of
answers are work of the server processes, scheduling of the cores or schedulers, launching kernels of the workers.
"""

from __future__ import annotations

from kvplan.domain.deployment import Layout
from kvplan.engines.host_lines import CoreLine

_VLLM = "vLLM docs, CPU resources: 2 + GPUs; with data parallelism servers + ranks + GPUs + 1"
_SGLANG = "SGLang launch_server: tokenizer, detokenizer, one scheduler for each GPU, a controller with --dp"
_TRTLLM = "class estimate: trtllm-serve, its executor, one MPI process for each GPU"
_LLAMA = "class estimate: server thread and one thread for each GPU"
_MLX = "class estimate: server thread and generation thread"


def vllm_processes(layout: Layout) -> tuple[CoreLine, ...]:
    """API server (tokenizing among others) and engine core, each once for every data-parallel rank, and the workers.

    As many API servers as ranks is the default since 0.11 or so; a coordinator comes with the second rank.
    """
    ranks, gpus = layout.dp, layout.gpus
    lines = [
        CoreLine("API servers", float(ranks), _each(ranks, "data-parallel ranks", "HTTP, tokenizing, text"), _VLLM),
        CoreLine("engine cores", float(ranks), _each(ranks, "data-parallel ranks", "scheduling, KV blocks"), _VLLM),
        CoreLine("GPU workers", float(gpus), _each(gpus, "GPUs", "launches kernels"), _VLLM),
    ]
    if ranks > 1:
        lines.append(CoreLine("coordinator", 1.0, "1 with data parallelism", _VLLM))
    return tuple(lines)


def sglang_processes(layout: Layout) -> tuple[CoreLine, ...]:
    """Server with its tokenizer, detokenizer, a scheduler for every GPU, a controller with data parallelism."""
    lines = [
        CoreLine("tokenizer", 1.0, "1: HTTP and tokenizing", _SGLANG),
        CoreLine("detokenizer", 1.0, "1: text of the answers", _SGLANG),
        CoreLine("schedulers", float(layout.gpus), _each(layout.gpus, "GPUs", "schedules, launches kernels"), _SGLANG),
    ]
    if layout.dp > 1:
        lines.append(CoreLine("data-parallel controller", 1.0, "1 with data parallelism", _SGLANG))
    return tuple(lines)


def tensorrt_llm_processes(layout: Layout) -> tuple[CoreLine, ...]:
    """One server and executor for each replica, since it has no data parallelism of its own, and the ranks."""
    replicas, gpus = layout.dp, layout.gpus
    return (
        CoreLine("servers", float(replicas), _each(replicas, "servers", "HTTP, tokenizing"), _TRTLLM),
        CoreLine("executors", float(replicas), _each(replicas, "servers", "scheduling"), _TRTLLM),
        CoreLine("ranks", float(gpus), _each(gpus, "GPUs", "launches kernels"), _TRTLLM),
    )


def llama_server_processes(layout: Layout) -> tuple[CoreLine, ...]:
    """One server thread for each replica, one thread for each GPU; threads that compute are attention's lines."""
    return (
        CoreLine("servers", float(layout.dp), _each(layout.dp, "servers", "HTTP, tokenizing"), _LLAMA),
        CoreLine("GPU threads", float(layout.gpus), _each(layout.gpus, "GPUs", "launches kernels"), _LLAMA),
    )


def mlx_processes() -> tuple[CoreLine, ...]:
    """Two threads."""
    return (CoreLine("server", 1.0, "1: HTTP, tokenizing", _MLX), CoreLine("generation", 1.0, "1: launches", _MLX))


def _each(count: int, of: str, work: str) -> str:
    return f"1: {work}" if count == 1 else f"1 x {count} {of}: {work}"
