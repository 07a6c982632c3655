"""llama.cpp's start-up lines (llama-server, llama-cli, ik_llama.cpp, what ollama prints of them), 2024 to 2026.

Buffers are printed device by device; sizes are MiB. Buffers of the CPU and pinned ones (``CUDA_Host``) are host memory.
The table of the whole device comes when the server ends, or at verbosity 4.
"""

from __future__ import annotations

import re

from kvplan.engine_logs.interface import Draft, LogLine, Rank, Value

_N = r"\d+(?:\.\d+)?"
_M = r"\s*MiB"
_DEVICE = r"(?P<rank>[A-Za-z]\w{0,30}(?:\[\w+\])?)"
_HOST_DEVICE = re.compile(r"CPU|_Host|_Mapped|REPACK|Host\b|AMX|BLAS", re.IGNORECASE)

_BUILD = re.compile(r"\bbuild(?:_info)?: b?(\d{4,6})\b|\bversion: (\d{4,6}) \(")
_FILE = re.compile(r"loaded meta data with .{1,80} from (?P<path>\S.{0,500}?)(?: \(version| *$)")
_NAME = re.compile(r"general\.name\s+(?:str\s+)?= (?P<name>\S.{0,120}?)\s*$")
_TYPE = re.compile(r"(?:file type|model ftype)\s+= (?P<type>[A-Z]+[\w]*(?: - \w+)?)")
_COUNTS = re.compile(r"\b(?P<key>n_ctx|n_ctx_seq|n_ctx_per_seq|n_seq_max|n_ubatch|n_layer)\s+= (?P<count>\d{1,12})\b")
_KEY_TYPE = re.compile(r"\bK \((?P<type>\w+)\):")
_GPU = re.compile(r"using device \w+ \((?P<gpu>[^()]{1,80})\)|Device 0: (?P<cuda>[^,]{1,80}),")
_STARTS = ("build:", "build_info:", "starting llama server", "starting runner", "starting llama-server")
_WORDS = {"n_ctx_seq": "context", "n_ctx_per_seq": "context", "n_seq_max": "users"}


class LlamaCppFormat:
    """``llama-server`` and its relatives."""

    engine = "llama.cpp"
    looked_for = ("model buffer size =", "KV buffer size =", "compute buffer size =", "llama_kv_cache: size =")
    keywords = (
        "buffer size", "KV self size", "llama_kv_cache", "memory_breakdown_print", "loaded meta data with",
        "general.name", "file type", "model ftype", "n_ctx", "n_seq_max", "n_ubatch", "using device", "Device 0:",
        "version: ", *_STARTS,
    )  # fmt: skip
    rank_pattern = re.compile(r"(?!)")
    figure_patterns = tuple(
        re.compile(text)
        for text in (
            rf"(?:load_tensors|llm_load_tensors): *{_DEVICE} (?:model )?buffer size = *(?P<weight_mib>{_N}){_M}",
            rf"{_DEVICE} KV buffer size = *(?P<kv_pool_mib>{_N}){_M}",
            rf"{_DEVICE} RS buffer size = *(?P<state_pool_mib>{_N}){_M}",
            rf"{_DEVICE} compute buffer size = *(?P<activation_mib>{_N}){_M}",
            rf"using device {_DEVICE} \(.{{1,120}}\) - (?P<free_mib>{_N}){_M} free",
            rf"- {_DEVICE} \([^|]{{0,120}}\|\s*(?P<total_mib>{_N}) = *{_N} \+ \( *{_N} = *(?P<table_weight_mib>{_N}) \+"
            rf" *(?P<table_kv_mib>{_N}) \+ *(?P<table_compute_mib>{_N})\) \+ *(?P<runtime_mib>-?{_N})",
            rf"size = *{_N} MiB \( *(?P<kv_tokens>\d+) cells",
        )
    )

    def opens(self, line: LogLine, draft: Draft) -> bool:
        """A new process, or the same file once more after its buffers were set up; a second file is a draft model."""
        if any(words in line.text for words in _STARTS) and not draft.has("activation_bytes"):
            return draft.has("weight_bytes")
        if any(words in line.text for words in _STARTS):
            return True
        match = _FILE.search(line.text)
        again = match is not None and f"file {match['path']}" in draft.marks
        return again and draft.has("activation_bytes")

    def read(self, line: LogLine, draft: Draft) -> bool:
        if "drafts" in draft.marks:
            return False
        said = dict(_named(line.text))
        file = _FILE.search(line.text)
        if file is not None:
            if draft.has("activation_bytes"):
                draft.marks.add("drafts")
                return False
            draft.marks.add(f"file {file['path']}")
            said.setdefault("file", file["path"])
        for name, value in said.items():
            if name != "model" or name not in draft.said:
                draft.said[name] = value
        build = _BUILD.search(line.text)
        if build is not None:
            draft.version = build[1] or build[2]
        return bool(said or build)

    def finish(self, draft: Draft) -> tuple[Rank, ...]:
        """Devices that hold weights, the host left out. Pools of one device add up: windows have one of their own."""
        if "model" not in draft.said and "file" in draft.said:
            draft.said["model"] = draft.said["file"]
        cells = [value for values in draft.values.values() for value in values.get("kv_tokens", ())]
        common = {"kv_tokens": max(cells)} if cells else {}
        devices = {name: values for name, values in draft.values.items() if name and not _HOST_DEVICE.search(name)}
        ranks = [Rank(name, {**_figures(values), **common}) for name, values in devices.items()
                 if values.keys() & {"weight_bytes", "table_weight_bytes"}]  # fmt: skip
        held = {name: values for name, values in draft.values.items() if "weight_bytes" in values}
        return tuple(ranks) or tuple(Rank(name, {**_figures(values), **common}) for name, values in held.items())


def _named(text: str) -> list[tuple[str, Value]]:
    """Settings on one line. ``n_ctx`` of all sequences counts where the one of a sequence is not printed."""
    found: list[tuple[str, Value]] = []
    counts = _COUNTS.search(text)
    if counts is not None and counts["key"] in _WORDS:
        found.append((_WORDS[counts["key"]], int(counts["count"])))
    elif counts is not None and counts["key"] in ("n_ctx", "n_ubatch"):
        found.append((counts["key"], int(counts["count"])))
    for name, pattern in (("model", _NAME), ("weights", _TYPE), ("kv_cache_dtype", _KEY_TYPE)):
        match = pattern.search(text)
        if match is not None:
            found.append((name, match[1] if name == "model" else _type_word(match[1])))
    gpu = _GPU.search(text)
    if gpu is not None:
        found.append(("gpu", (gpu["gpu"] or gpu["cuda"]).strip()))
    return found


def _type_word(text: str) -> str:
    """``Q4_K - Medium`` -> q4_k_m, ``F16`` -> f16."""
    name, _, grade = text.partition(" - ")
    return name.lower() + (f"_{grade[:1].lower()}" if grade in ("Small", "Medium", "Large") else "")


def _figures(values: dict[str, list[float]]) -> dict[str, float]:
    """The last total, sums of pools, buffers as they were printed first (a second context is a draft's)."""
    last, first = ("total_bytes", "runtime_bytes"), ("free_bytes", "activation_bytes")
    found: dict[str, float] = {figure: values[figure][-1] for figure in last if figure in values}
    found.update({figure: values[figure][0] for figure in first if figure in values})
    for figure in ("weight_bytes", "kv_pool_bytes", "state_pool_bytes"):
        if figure in values:
            found[figure] = sum(values[figure])
    for table, figure in (("weight", "weight"), ("kv", "kv_pool"), ("compute", "activation")):
        printed = values.get(f"table_{table}_bytes")
        if printed and f"{figure}_bytes" not in found:
            found[f"{figure}_bytes"] = printed[-1]
    return found


FORMAT = LlamaCppFormat()
