"""KV302: thread pools are sized by the CPUs of the node, and the container may use fewer.

A CPU limit is a quota of time: libraries still count all the node's CPUs. PyTorch starts a thread for each, and they
are throttled together; decode stalls. With several GPU workers vLLM sets OMP_NUM_THREADS to 1 itself, but its pool that
compiles grammars keeps half the node's CPUs: an info. Sources: vLLM issues 9113, 14538 and 49460, pull request 6109.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import ranks_of
from kvplan.rules.interface import Finding, finding
from kvplan.rules.surroundings import cpus

ID = "KV302"
TITLE = "threads are sized by the node, not by the container"
LEVEL = "warn"
_VARIABLE = "OMP_NUM_THREADS"
_BINDING = "VLLM_CPU_OMP_THREADS_BIND"
_LARGE_NODE = 128.0
"""CPUs of a node that is not known: the half of most machines with eight GPUs. Above half of a node's CPUs the limit is
an info: few threads too many are throttled."""
_PYTORCH = ("vllm", "sglang", "tensorrt-llm")


def check(context: Context) -> Iterator[Finding]:
    limit, engine = _limit(context), _engine(context)
    if limit is None or _BINDING in context.found.variables:
        return
    node = _node_cpus(context)
    if node is not None and limit >= node:
        return
    threads = context.translated.number("omp_num_threads")
    figures = {"cpu_limit": limit, "node_cpus": node, "omp_num_threads": threads}
    remedy = f"{_VARIABLE}={max(1, math.floor(limit))}"
    level = LEVEL if limit * 2 <= (node if node is not None else _LARGE_NODE) else "info"
    several = engine == "vllm" and threads is None and ranks_of(context).gpus > 1
    of_node = f"all {node:g} CPUs of the node" if node is not None else "all CPUs of the node"
    if threads is not None:
        if threads > max(limit, 1.0):
            message = f"{_VARIABLE} is {threads:g}, and the container may use {limit:g} CPUs"
            yield finding(ID, level, context, ("omp_num_threads", "cpu_limit"), message, figures=figures, remedy=remedy)
    elif engine in _PYTORCH and _VARIABLE not in context.found.variables:
        pools = "the pool that compiles grammars is" if several else "pools of threads are"
        message = f"a CPU limit of {limit:g}, and no {_VARIABLE}: {pools} sized for {of_node}"
        yield finding(
            ID, "info" if several else level, context, ("cpu_limit",), message, figures=figures,
            formula="threads of a pool = CPUs of the node <= CPU limit", remedy=remedy,
        )  # fmt: skip
    elif engine == "llama.cpp" and _computes_on_cpu(context):
        message = f"a CPU limit of {limit:g}, and no --threads: llama.cpp starts one for each core of the node"
        yield finding(
            ID, level, context, ("cpu_limit",), message, figures=figures,
            formula="threads = cores of the node <= CPU limit", remedy=f"--threads {max(1, math.floor(limit))}",
        )  # fmt: skip


def _computes_on_cpu(context: Context) -> bool:
    """Whether llama.cpp computes layers or experts on the CPU, and was not told with how many threads."""
    if context.has("threads") or "threads" in context.found.flags:
        return False
    layers = context.translated.values.get("n_gpu_layers")
    return context.has("cpu_moe", "n_cpu_moe") or (layers is not None and str(layers) == "0")


def _engine(context: Context) -> str:
    named = str(context.translated.values.get("engine", "")) or context.found.engine
    return named.partition("@")[0].lower()


def _limit(context: Context) -> float | None:
    text = context.translated.values.get("cpu_limit")
    try:
        return None if text is None else cpus(str(text))
    except InputError:
        return None  # KV416 has said that it is no number of CPUs


def _node_cpus(context: Context) -> float | None:
    """Logical CPUs of the machine, two to a core, where the host is known."""
    host = context.host
    return None if host is None or host.installed_cores is None else 2.0 * host.installed_cores
