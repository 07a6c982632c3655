"""vLLM's start-up lines, V0 and V1, 0.6 to 0.33, at INFO and at DEBUG.

Formats by version: a block of ``name value`` lines (December 2024), one sentence (0.6.5 to 0.8 and V0 after it),
``Available KV cache memory`` and, at DEBUG, ``Memory profiling takes`` (V1), a summary ``Actual usage is`` (since
0.11), weights and non-torch memory as one figure (since about 0.26). "GB" in older lines is 2^30 bytes.
"""

from __future__ import annotations

import json
import re

from kvplan.engine_logs.interface import Draft, LogLine, Rank, Value
from kvplan.engine_logs.key_values import pairs

_G = r"\s*(?:GiB|GB)"
_N = r"-?[\d,]+(?:\.\d+)?"

_ENGINE_LINE = "LLM engine (v"
_HEADERS = ("vLLM API server version", "non-default args:", "args: Namespace(")
_ARGUMENTS = {
    "model": "model",
    "model_tag": "model",
    "max_model_len": "max_model_len",
    "max_seq_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "kv_cache_dtype": "kv_cache_dtype",
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "decode_context_parallel_size": "dcp",
    "enable_expert_parallel": "ep",
    "block_size": "block_size",
    "enforce_eager": "enforce_eager",
    "cpu_offload_gb": "cpu_offload_gb",
    "kv_offloading_size": "kv_offloading_size",
    "quantization": "quantization",
}
_VERSION = re.compile(r"(?:LLM engine \(|API server version |\bversion )v?(\d+(?:\.\d+){1,3})")
_BATCH = re.compile(r"max_num_batched_tokens(?:=| to )(\d+)")
_SEQUENCES = re.compile(r"max_num_seqs to (\d+)")
_UTILIZATION = re.compile(
    r"gpu_memory_utilization[\s(=]{1,6}(0?\.\d+|1\.0+)|(?:memory: | is \()(0?\.\d+)(?: \(util\)|,)"
)
_DRAFTS = re.compile(r"speculative_config=SpeculativeConfig\(method='(\w+)'.{0,400}?num_spec_tokens=(\d+)")
_DRAFTS_GIVEN = re.compile(r"['\"]speculative_config['\"]: (\{[^{}]{0,1000}\})")


class VllmFormat:
    """``vllm serve`` and ``LLM(...)``."""

    engine = "vllm"
    looked_for = (
        "Available KV cache memory",
        "GPU KV cache size",
        "Model loading took",
        "Memory profiling takes",
        "model weights take",
        "# GPU blocks",
    )
    keywords = (
        *_HEADERS, _ENGINE_LINE, "version 0.", "Chunked prefill is enabled", "Defaulting max_num_",
        "Model loading took", "Loading model weights took", "total_gpu_memory", "gpu_memory_utilization",
        "model weights take",
        "non_torch_memory", "PyTorch activation peak memory", "available_kv_cache_memory", "Memory profiling takes",
        "worker init memory snapshot", "worker requested memory", "Initial free memory", "Available KV cache memory",
        "KV cache size:", "# GPU blocks:", "CPU blocks:", "Maximum concurrency for", "num_gpu_blocks is:",
        "Estimated CUDA graph memory", "Graph capturing finished", "CUDA graph pool memory", "Free memory on device",
        "the current vLLM instance can use",
    )  # fmt: skip
    rank_pattern = re.compile(
        r"\(Worker_(\w+)[, ]|\(Vllm\w*Worker\w* (rank=\d+)|\((?:Vllm\w*Worker|RayWorker|Worker)\w*[, ]+(pid=\d+)"
        r"|\(EngineCore_(\w+)[, ]"
    )
    figure_patterns = tuple(
        re.compile(text)
        for text in (
            # V0: one sentence, or one line a figure
            rf"total_gpu_memory\s*[(=]?\s*(?P<total_gib>{_N}){_G}",
            rf"gpu_memory_utilization \([\d.]+\)\s*= (?P<budget_gib>{_N}){_G}",
            rf"instance can use\s+(?P<budget_gib>{_N}){_G}",
            rf"model weights take\s+(?P<weight_gib>{_N}){_G}",
            rf"non_torch_memory(?: takes|=|\s)\s*(?P<runtime_gib>{_N}){_G}",
            rf"PyTorch activation peak memory(?: takes)?\s+(?P<activation_gib>{_N}){_G}",
            rf"peak_torch_memory=(?P<torch_peak_gib>{_N}){_G}",
            rf"(?:reserved for KV Cache is|kv_cache_size=|available_kv_cache_memory)\s*(?P<kv_pool_gib>{_N}){_G}",
            rf"# \w+ blocks: (?P<kv_blocks>{_N}), # CPU blocks:",
            rf"# GPU blocks: (?P<kv_blocks>{_N})",
            # V1
            rf"(?:Model loading|Loading model weights) took (?P<weight_gib>{_N}){_G}",
            rf"free_memory=(?P<free_gib>{_N}){_G}, total_memory=(?P<total_gib>{_N}){_G}",
            rf"worker requested memory: (?P<budget_gib>{_N}){_G}",
            rf"Initial free memory: (?P<free_gib>{_N}){_G}",
            rf"Requested memory: [\d.]+ \(util\), (?P<budget_gib>{_N}){_G}",
            rf"torch peak memory increase: (?P<activation_gib>{_N}){_G}",
            rf"non-torch forward increase memory: (?P<runtime_gib>{_N}){_G}",
            rf"total consumed \(from mem_get_info\): (?P<consumed_gib>{_N}){_G}",
            rf"weights memory: (?P<weight_gib>{_N}){_G}",
            rf"Available KV cache memory: (?P<kv_pool_gib>{_N}){_G}",
            rf"[A-Z]+ KV cache size: (?P<kv_tokens>{_N}) tokens",
            rf"num_gpu_blocks is: (?P<kv_blocks>{_N})",
            rf"Maximum concurrency for [\d,]+ tokens per request: (?P<max_concurrency>{_N})x",
            rf"Estimated CUDA graph memory: (?P<graph_estimate_gib>{_N}){_G}",
            rf"Graph capturing finished in .{{1,20}}, took (?P<graph_gib>{_N}){_G}",
            rf"CUDA graph pool memory: (?P<graph_gib>{_N}){_G} \(actual\), (?P<graph_estimate_gib>{_N}){_G}",
            # the summary at the end
            rf"Free memory on device \S*\s*\((?P<free_gib>{_N})/(?P<total_gib>{_N}){_G}\)",
            rf"Desired GPU memory utilization is \([\d.]+, (?P<budget_gib>{_N}){_G}\)",
            rf"(?:Actual usage(?: is|:)|and) (?P<weight_gib>{_N}){_G} for weights?\b",
            rf"(?P<consumed_gib>{_N}){_G}(?: for consumed memory| consumed) \(weights \+ non-torch\)",
            rf"(?P<activation_gib>{_N}){_G}(?: for)? peak activation",
            rf"(?P<runtime_gib>{_N}){_G} for non-torch memory",
            rf"(?P<graph_gib>{_N}){_G}(?: for)? CUDAGraph memory",
        )
    )

    def opens(self, line: LogLine, draft: Draft) -> bool:
        """A header after an engine line, or a second engine line of the same process, begins another start."""
        if any(words in line.text for words in _HEADERS):
            return "engine" in draft.marks or draft.has("weight_bytes")
        return _ENGINE_LINE in line.text and f"engine {line.rank}" in draft.marks

    def read(self, line: LogLine, draft: Draft) -> bool:
        text = line.text
        said: dict[str, Value] = {}
        if _ENGINE_LINE in text or any(words in text for words in _HEADERS):
            said = _arguments(text)
            if _ENGINE_LINE in text:
                draft.marks |= {"engine", f"engine {line.rank}"}
        for name, pattern in (("max_num_batched_tokens", _BATCH), ("max_num_seqs", _SEQUENCES)):
            match = pattern.search(text)
            if match and name not in said:
                said[name] = int(match[1][:15])
        utilization = _UTILIZATION.search(text)
        if utilization and "gpu_memory_utilization" not in draft.said:
            said.setdefault("gpu_memory_utilization", float(utilization[1] or utilization[2]))
        draft.said.update(said)
        version = _VERSION.search(text)
        if version:
            draft.version = version[1]
        return bool(said or version)

    def finish(self, draft: Draft) -> tuple[Rank, ...]:
        """Processes that hold weights are ranks; what others said holds for all of them."""
        ranks = [name for name, values in draft.values.items() if _is_worker(values)]
        others = [values for name, values in draft.values.items() if name not in ranks]
        common = {figure: min(printed) for figure in ("kv_tokens", "kv_blocks", "max_concurrency")
                  if (printed := [value for values in others for value in values.get(figure, ())])}  # fmt: skip
        if not ranks:
            merged = {figure: printed for values in others for figure, printed in values.items()}
            return (Rank("", _figures(merged, draft.version)),) if merged else ()
        named = {name: name or ("driver" if len(ranks) > 1 else "") for name in ranks}
        return tuple(Rank(named[name], {**common, **_figures(draft.values[name], draft.version)}) for name in ranks)


def _arguments(text: str) -> dict[str, Value]:
    said = pairs(text, _ARGUMENTS)
    drafts = _DRAFTS.search(text)
    given = _DRAFTS_GIVEN.search(text)
    if drafts:
        said["speculative_config"] = json.dumps({"method": drafts[1], "num_speculative_tokens": int(drafts[2][:6])})
    elif given:
        said["speculative_config"] = given[1].replace("'", '"')
    if isinstance(said.get("ep"), bool):
        del said["ep"]  # how many GPUs it means is for the layout to say
    return said


def _is_worker(values: dict[str, list[float]]) -> bool:
    return bool(values.keys() & {"weight_bytes", "kv_pool_bytes", "consumed_bytes"})


def _figures(values: dict[str, list[float]], version: str | None) -> dict[str, float]:
    """The last of each figure (of weights the first, which has more digits), and what is a difference of two."""
    last = {figure: printed[0 if figure == "weight_bytes" else -1] for figure, printed in values.items()}
    if "kv_tokens" in values:
        last["kv_tokens"] = min(values["kv_tokens"])
    weights = last.get("weight_bytes")
    if weights is not None and "torch_peak_bytes" in last:
        last["activation_bytes"] = last["torch_peak_bytes"] - weights
    if weights is not None and "consumed_bytes" in last and "runtime_bytes" not in last:
        last["runtime_bytes"] = last["consumed_bytes"] - weights
    estimate = last.get("graph_estimate_bytes", 0.0)
    if estimate and "activation_bytes" in last and _peak_holds_graphs(version, last, estimate):
        last["activation_bytes"] -= estimate
    return {figure: value for figure, value in last.items() if figure not in ("torch_peak_bytes", "consumed_bytes")}


def _peak_holds_graphs(version: str | None, last: dict[str, float], estimate: float) -> bool:
    """Whether the printed peak contains the graph estimate: since about 0.28, where the sum closes without it.

    Source: vLLM gpu_worker.py of 0.33; sums of start-up logs since 0.28.
    """
    numbers = tuple(int(part) for part in (version or "0").split(".")[:2])
    if numbers < (0, 28) or estimate > last["activation_bytes"]:
        return False
    parts = [last.get(name) for name in ("budget_bytes", "weight_bytes", "runtime_bytes", "kv_pool_bytes")]
    if any(part is None for part in parts):
        return True
    budget, weights, runtime, pool = (part or 0.0 for part in parts)
    left = budget - weights - runtime - pool - last["activation_bytes"]
    return abs(left) < abs(left - estimate)


FORMAT = VllmFormat()
