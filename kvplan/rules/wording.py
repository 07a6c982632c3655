"""How rules say figures, and how they spell a setting in the form of the file that it belongs to."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.llama_wording import spelled_for_server
from kvplan.units import to_gib

_SGLANG = {"max-model-len": "context-length", "max-num-seqs": "max-running-requests",
           "max-num-batched-tokens": "chunked-prefill-size", "block-size": "page-size"}  # fmt: skip
"""What SGLang calls settings that have vLLM's names here. Source: SGLang 0.5.23, server_args.py."""
_FLAGS = {"tp": "tensor-parallel-size", "dp": "data-parallel-size", "pp": "pipeline-parallel-size"}


def gib_text(value_bytes: float) -> str:
    """``15.0 GiB``, with more digits where one would say nothing."""
    value = to_gib(value_bytes)
    return f"{value:,.1f} GiB" if abs(value) >= 0.95 else f"{value:.2f} GiB"


def gib_span(value: Interval) -> str:
    """``55.0 GiB (54.0..55.5)``."""
    if value.is_exact:
        return gib_text(value.best)
    return f"{gib_text(value.best)} ({to_gib(value.low):,.1f}..{to_gib(value.high):,.1f})"


def figures_of(value: Interval) -> dict[str, int]:
    """An interval of bytes or tokens for JSON."""
    return {"low": round(value.low), "best": round(value.best), "high": round(value.high)}


def spelled(context: Context, name: str, value: object) -> str:
    """``--max-model-len 7344``, ``max-model-len: 7344`` or ``max_model_len = 7344``."""
    server = spelled_for_server(context, name, value)
    if server is not None:
        return server
    flag = _FLAGS.get(name, name.replace("_", "-"))
    if _engine(context) == "sglang":
        flag = _SGLANG.get(flag, flag)
    if context.found.form == "kvplan":
        text = f'"{value}"' if isinstance(value, str) else str(value)
        return f"{flag.replace('-', '_')} = {text}"
    return f"{flag}: {value}" if context.found.form == "vllm-config" else f"--{flag} {value}"


def _engine(context: Context) -> str:
    """The engine that is judged, else the one that the file starts."""
    judged = context.judged
    return judged.deployment.engine.name if judged is not None else context.found.engine


def each_gpu(context: Context) -> str:
    """``on each GPU`` where there are several."""
    several = context.judged is not None and context.judged.deployment.layout.gpus > 1
    return " on each GPU" if several else ""
