"""KV303: fewer CPU cores than the engine's processes keep busy.

A warning and no more: too few cores slow things down, no hard threshold is published, and one public claim of a gain
was withdrawn. The CPU engine is another matter: its cores are what computes. On it, an answer took a minute with 5 CPUs
and a second with 13. Source: gateway-api-inference-extension, pull request 464.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from kvplan.domain.deployment import Layout
from kvplan.engines.host_lines import CoreLine, busy_cores
from kvplan.engines.processes import sglang_processes, tensorrt_llm_processes, vllm_processes
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding
from kvplan.rules.surroundings import cpus

ID = "KV303"
TITLE = "fewer CPU cores than the engine's processes keep busy"
LEVEL = "warn"
UNUSABLE_CPUS, USABLE_CPUS = 5.0, 13.0
"""Logical CPUs of the CPU engine: with so many an answer took 58 s, with so many 1 s."""
SEEN_PARAMETERS = 1.5e9
"""Of the model that was seen, Qwen2.5-1.5B."""
_PROCESSES = {"vllm": vllm_processes, "sglang": sglang_processes, "tensorrt-llm": tensorrt_llm_processes}
_LONGEST_IMAGE = 500
_CPU_IMAGE = re.compile(r"vllm[-_/\w]*cpu|:[^/]*\bcpu\b", re.IGNORECASE)


def check(context: Context) -> Iterator[Finding]:
    if runs_on_cpu(context):
        yield from _cpu_engine(context)
        return
    lines = _lines(context)
    used = busy_cores(lines) * max(context.number("tenants"), 1.0) + context.number("other_cpu_cores")
    there, text = _there(context), context.translated.values.get("cpu_limit")
    what = "the budget is"
    cores = there
    request = _cpus(context, "cpu_request")
    if text is None and request is not None and request / 2 < used:
        cores, what, text = request / 2, "what is guaranteed is", f"{request:g}"
    if cores is None or used <= cores:
        return
    half = f": {text} logical CPU{'' if text == '1' else 's'}, two to a core" if text is not None else ""
    yield finding(
        ID, LEVEL, context, ("cpu_limit", "cpu_request", "cpu_cores", "model"),
        f"{used:.3g} CPU cores are kept busy, and {what} {cores:.3g}{half}",
        figures={
            "used_cores": used,
            "limit_cores": cores,
            **{f"{line.name.replace(' ', '_').replace('-', '_')}_cores": line.cores for line in lines},
        },
        formula=f"{' + '.join(line.name for line in lines)} <= physical cores ({lines[0].source})" if lines else None,
        remedy=f"a CPU limit of {2 * math.ceil(used)}" if text is not None else "a host with more cores",
    )  # fmt: skip


def _lines(context: Context) -> tuple[CoreLine, ...]:
    """The engine's processes; by its ranks alone where the model or the host is not known."""
    if context.judged is not None:
        return context.judged.frame.situation.policy.core_lines
    processes = _PROCESSES.get(context.found.engine)
    if processes is None or any(item.name in ("tp", "pp", "dp", "arguments") for item in context.found.unresolved):
        return ()
    local = "dp_local" if context.has("dp_local") else "dp"
    tp, pp, dp = (max(int(context.number(name)), 1) for name in ("tp", "pp", local))
    return processes(Layout(tp=tp, pp=pp, dp=dp))


def _there(context: Context) -> float | None:
    """Physical cores that the deployment may use."""
    if context.judged is not None:
        cores = context.judged.deployment.host.cpu_cores
        return None if cores is None else cores.best
    limit = _cpus(context, "cpu_limit")
    return None if limit is None else limit / 2


def runs_on_cpu(context: Context) -> bool:
    """Whether this is vLLM's engine for CPUs: by its image or its variables, or on a host without a GPU."""
    found = context.found
    if found.engine not in ("", "vllm"):
        return False
    image = found.notes.get("image", "")
    variables = any(name.startswith("VLLM_CPU_") for name in found.variables)
    gpu = context.host.gpu if context.host is not None else None
    return (
        bool(_CPU_IMAGE.search(image[:_LONGEST_IMAGE])) or variables or (gpu is not None and gpu.kernel_class == "cpu")
    )


def _cpu_engine(context: Context) -> Iterator[Finding]:
    limit = _cpus(context, "cpu_limit")
    given = limit if limit is not None else _cpus(context, "cpu_request")
    if given is None or given >= USABLE_CPUS:
        return
    unusable = limit is not None and limit <= UNUSABLE_CPUS and _is_as_large(context)
    level = "fail" if unusable else LEVEL
    cpus_given = "1 CPU" if given == 1 else f"{given:g} CPUs"
    seen = f"with {UNUSABLE_CPUS:g} a short answer took 58 s, with {USABLE_CPUS:g} 1 s"
    message = f"{cpus_given} for the CPU engine: {seen}"
    yield finding(
        ID, level, context, ("cpu_limit", "cpu_request"), message,
        figures={"cpus": given, "unusable_cpus": UNUSABLE_CPUS, "usable_cpus": USABLE_CPUS},
        formula="CPUs of the container >= what was seen to answer", remedy=f"a CPU limit of {USABLE_CPUS:g}",
    )  # fmt: skip


def _is_as_large(context: Context) -> bool:
    """Whether the model is at least the one that was seen: what a smaller one needs was not measured."""
    model = context.model
    return model is not None and model.parameters.best >= SEEN_PARAMETERS


def _cpus(context: Context, name: str) -> float | None:
    text = context.translated.values.get(name)
    try:
        return None if text is None else cpus(str(text))
    except InputError:
        return None
