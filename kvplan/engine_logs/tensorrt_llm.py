"""TensorRT-LLM's start-up lines: engines of 0.5 to 0.12, the PyTorch flow of 0.18 to 1.2, and Triton's backend.

The pool is set up twice in the PyTorch flow: once small to measure the rest, then as it stays.
"""

from __future__ import annotations

import re

from kvplan.engine_logs.interface import Draft, LogLine, Rank
from kvplan.engine_logs.key_values import pairs

_N = r"\d+(?:\.\d+)?"
_ARGUMENTS = {
    "model": "model",
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "moe_expert_parallel_size": "ep",
    "max_seq_len": "max_model_len",
    "max_num_tokens": "max_num_batched_tokens",
    "max_batch_size": "max_num_seqs",
    "free_gpu_memory_fraction": "gpu_memory_utilization",
    "kv_cache_dtype": "kv_cache_dtype",
}
_VERSION = re.compile(r"TensorRT-LLM[\s\]]{1,3}version:? (\d+(?:\.\d+){1,3})|Engine version (\d+(?:\.\d+){1,3})")
_FRACTION = re.compile(r"fraction is set (0?\.\d+)")
_LIMITS = re.compile(r"TRTGptModel (maxBatchSize|maxNumTokens|maxSequenceLen): (\d{1,12})")
_LIMIT_WORDS = {
    "maxBatchSize": "max_num_seqs",
    "maxNumTokens": "max_num_batched_tokens",
    "maxSequenceLen": "max_model_len",
}


class TensorRtLlmFormat:
    """``trtllm-serve``, the LLM API, Triton's backend."""

    engine = "tensorrt-llm"
    looked_for = (
        "[MemUsageChange] Allocated",
        "tokens in paged KV cache",
        "Memory used after loading model weights",
        "Peak memory during memory usage profiling",
    )
    keywords = (
        "TensorRT-LLM version", "Engine version", "LLM Args", "max_seq_len=", "TRTGptModel max", "Loaded engine size",
        "for model weights", "[MemUsageChange] Allocated", "tokens in paged KV cache", "bytes for k/v cache",
        "Memory used after loading model weights", "Memory dynamically allocated during inference",
        "Memory used outside torch", "Peak memory during memory usage profiling", "Estimated max memory in KV cache",
        "Memory usage when calculating max tokens",
    )  # fmt: skip
    rank_pattern = re.compile(r"\[(?:RANK |rank[: ]?)(\d+)\]")
    figure_patterns = tuple(
        re.compile(text)
        for text in (
            rf"Loaded engine size: (?P<weight_mib>{_N}) MiB",
            rf"Use (?P<weight_gib>{_N}) GB for model weights",
            rf"loading model weights \(inside torch\).{{0,60}}: (?P<weight_gib>{_N}) GiB",
            rf"allocated during inference \(inside torch\).{{0,60}}: (?P<activation_gib>{_N}) GiB",
            rf"Allocated (?P<activation_mib>{_N}) MiB for execution context memory",
            rf"Memory used outside torch.{{0,120}}: (?P<runtime_gib>{_N}) GiB",
            rf"device total memory (?P<total_gib>{_N}) GiB",
            rf"max tokens in paged kv cache: total: (?P<total_gib>{_N}) GiB, available: (?P<free_gib>{_N}) GiB",
            rf"Estimated max memory in KV cache : (?P<estimate_gib>{_N}) GiB",
            rf"Allocated (?P<kv_pool_gib>{_N}) GiB for max tokens in paged KV cache \((?P<kv_tokens>\d+)\)",
            r"Allocate (?P<kv_pool_bytes>\d+) bytes for k/v cache",
            r"Using (?P<kv_tokens>\d+) tokens in paged KV cache",
        )
    )

    def opens(self, line: LogLine, draft: Draft) -> bool:
        """The first line of a process after a pool was set up; every rank prints it."""
        return "TensorRT-LLM version" in line.text and draft.has("kv_tokens")

    def read(self, line: LogLine, draft: Draft) -> bool:
        said = pairs(line.text, _ARGUMENTS) if "LLM Args" in line.text or "max_seq_len=" in line.text else {}
        if "LLM Args" not in line.text:
            said.pop("model", None)
        limit = _LIMITS.search(line.text)
        if limit is not None:
            said[_LIMIT_WORDS[limit[1]]] = int(limit[2])
        fraction = _FRACTION.search(line.text)
        if fraction is not None:
            said["gpu_memory_utilization"] = round(float(fraction[1]), 4)
        draft.said.update(said)
        version = _VERSION.search(line.text)
        if version is not None:
            draft.version = version[1] or version[2]
        return bool(said or version)

    def finish(self, draft: Draft) -> tuple[Rank, ...]:
        """Figures as they stay; lines that name no rank hold for all, or are of the only one."""
        named = [name for name in draft.values if name]
        common = _settled(draft.values.get("", {}))
        if not named:
            return (Rank("", common),) if common else ()
        return tuple(Rank(f"rank {name}", {**common, **_settled(draft.values[name])}) for name in named)


def _settled(values: dict[str, list[float]]) -> dict[str, float]:
    """Of weights the first, which is without buffers; pools without their own size take the estimate's."""
    found = {figure: printed[0 if figure == "weight_bytes" else -1] for figure, printed in values.items()}
    estimate = found.pop("estimate_bytes", None)
    if estimate is not None and "kv_pool_bytes" not in found:
        found["kv_pool_bytes"] = estimate
    return found


FORMAT = TensorRtLlmFormat()
