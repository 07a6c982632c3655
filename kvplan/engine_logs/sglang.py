"""SGLang's start-up lines, 0.4 to 0.5. "GB" is 2^30 bytes; ``avail mem`` is what the device has free."""

from __future__ import annotations

import re

from kvplan.engine_logs.interface import Draft, LogLine, Rank
from kvplan.engine_logs.key_values import pairs

_G = r"\s*GB"
_N = r"-?\d+(?:\.\d+)?"
_HEADER = "server_args=ServerArgs("
_FINAL = "max_total_num_tokens="
_ARGUMENTS = {
    "model_path": "model",
    "quantization": "quantization",
    "context_length": "max_model_len",
    "kv_cache_dtype": "kv_cache_dtype",
    "mem_fraction_static": "mem_fraction_static",
    "max_running_requests": "max_num_seqs",
    "chunked_prefill_size": "max_num_batched_tokens",
    "page_size": "block_size",
    "tp_size": "tp",
    "pp_size": "pp",
    "dp_size": "dp",
    "ep_size": "ep",
    "dcp_size": "dcp",
    "disable_cuda_graph": "enforce_eager",
}
_FINAL_ARGUMENTS = {
    "chunked_prefill_size": "max_num_batched_tokens",
    "max_running_requests": "max_num_seqs",
    "context_len": "max_model_len",
}
_FRACTION = re.compile(r"mem_fraction_static=(0?\.\d+)")
_VERSION = re.compile(r"sglang(?:[=\s:]|\s+version)[=\s:]{0,3}v?(\d+(?:\.\d+){1,3})", re.IGNORECASE)


class SglangFormat:
    """``python -m sglang.launch_server``."""

    engine = "sglang"
    looked_for = ("server_args=ServerArgs(", "Load weight end", "KV Cache is allocated", "max_total_num_tokens=")
    keywords = (
        _HEADER, "Load weight begin", "Load weight end", "KV Cache is allocated", "SWAKVPool mem usage",
        "Mamba Cache is allocated", "Memory pool end", "Capture ", _FINAL, "Memory profiling: available_gpu_memory",
        "memory calculation: bytes_per_full_token", "sglang==", "SGLang version", "sglang version",
    )  # fmt: skip
    rank_pattern = re.compile(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?((?: (?:DP|TP|EP|PP|ATTN_?\w{0,6}|MOE_?\w{0,6})\d+){1,6})\]"
        r"|\[gpu_?(?:id)?=(\d+)\]"
    )
    figure_patterns = tuple(
        re.compile(text)
        for text in (
            rf"Load weight begin\..{{0,80}}avail mem=(?P<free_gib>{_N}){_G}",
            rf"Load weight end\..{{0,400}}?avail mem=(?P<free_after_gib>{_N}){_G}"
            rf"(?:, mem usage=(?P<weight_gib>{_N}){_G})?",
            rf"KV Cache is allocated\..{{0,120}}K size: (?P<key_gib>{_N}){_G}, V size: (?P<value_gib>{_N}){_G}",
            rf"KV Cache is allocated\..{{0,120}}KV size: (?P<key_gib>{_N}){_G}",
            rf"SWAKVPool mem usage: (?P<windows_gib>{_N}){_G}",
            rf"Mamba Cache is allocated\..{{0,120}}?conv_state(?: size:)? (?P<conv_gib>{_N}){_G}"
            rf".{{0,40}}?ssm_state(?: size:)? (?P<ssm_gib>{_N}){_G}",
            rf"Memory pool end\. avail mem=(?P<left_gib>{_N}){_G}",
            rf"Capture .{{0,40}}(?:cuda|CUDA) graph end\..{{0,80}}mem usage=(?P<graph_gib>{_N}){_G}",
            rf"Memory profiling: available_gpu_memory=.{{0,120}}rest_memory=(?P<rest_gib>{_N}){_G}",
            rf"memory calculation: bytes_per_full_token=.{{0,60}}available_bytes=(?P<rest_gib>{_N}){_G}",
            r"max_total_num_tokens=(?P<kv_tokens>\d+)",
        )
    )

    def opens(self, line: LogLine, draft: Draft) -> bool:
        """One process prints its arguments once."""
        return _HEADER in line.text and (bool(draft.values) or "header" in draft.marks)

    def read(self, line: LogLine, draft: Draft) -> bool:
        said = {}
        if _HEADER in line.text:
            draft.marks.add("header")
            said = pairs(line.text, _ARGUMENTS)
        elif _FINAL in line.text:
            said = pairs(line.text, _FINAL_ARGUMENTS)
        if not isinstance(said.get("max_num_batched_tokens", 1), int) or said.get("max_num_batched_tokens", 1) == -1:
            del said["max_num_batched_tokens"]  # -1: prompts are not cut
        fraction = _FRACTION.search(line.text)
        if fraction and "mem_fraction_static" not in said:
            said["mem_fraction_static"] = float(fraction[1])
        draft.said.update(said)
        version = _VERSION.search(line.text)
        if version:
            draft.version = version[1]
        return bool(said or version)

    def finish(self, draft: Draft) -> tuple[Rank, ...]:
        """Ranks are the processes that loaded weights; the line of the token count may come from any of them.

        The budget is one for all: a share of the least memory that was free on any.
        """
        ranks = [name for name, values in draft.values.items() if values.keys() & {"free_bytes", "free_after_bytes"}]
        tokens = [value for values in draft.values.values() for value in values.get("kv_tokens", ())]
        common = {"kv_tokens": min(tokens)} if tokens else {}
        free = [values["free_bytes"][0] for values in draft.values.values() if "free_bytes" in values]
        fraction = draft.said.get("mem_fraction_static")
        if free and isinstance(fraction, float):
            common["budget_bytes"] = min(free) * fraction
        if not ranks:
            merged = {figure: printed for values in draft.values.values() for figure, printed in values.items()}
            return (Rank("", {**_figures(merged), **common}),) if merged else ()
        return tuple(Rank(name, {**_figures(draft.values[name]), **common}) for name in ranks)


def _figures(values: dict[str, list[float]]) -> dict[str, float]:
    """Sizes of one rank. The first model that is loaded is the one that answers, a second one drafts for it."""
    first = {figure: printed[0] for figure, printed in values.items()}
    plain = ("free_bytes", "weight_bytes")
    found: dict[str, float] = {figure: first[figure] for figure in plain if figure in first}
    if "weight_bytes" not in found and {"free_bytes", "free_after_bytes"} <= first.keys():
        found["weight_bytes"] = first["free_bytes"] - first["free_after_bytes"]
    pool = _pool(first)
    if pool is not None:
        found["kv_pool_bytes"] = pool
    if "ssm_bytes" in first:
        found["state_pool_bytes"] = first["ssm_bytes"] + first["conv_bytes"]
    if "graph_bytes" in values:
        found["graph_bytes"] = sum(values["graph_bytes"])
    return found


def _pool(first: dict[str, float]) -> float | None:
    """Windows and full layers together where there are two pools, else keys and values, else what was left for them."""
    if "windows_bytes" in first:
        return first["windows_bytes"]
    if "key_bytes" in first:
        return first["key_bytes"] + first.get("value_bytes", 0.0)
    return first.get("rest_bytes")


FORMAT = SglangFormat()
