"""Start-up logs of engines: how many are reproduced to the last printed digit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.engines import test_llama_cpp_pool as llama_cpp
from tests.engines import test_sglang_pool as sglang
from tests.engines import test_tensorrt_llm_pool as tensorrt_llm
from tests.engines import test_vllm_pool as vllm

Count = tuple[str, int, int]


def counts() -> list[Count]:
    """(figure, logs, exact)."""
    return [
        _count("vLLM 0.9 to 0.33: blocks, tokens, concurrency of a log (2 known misses left out)", _usable(), _vllm),
        _count("SGLang 0.4.9 to 0.5.23: tokens and sizes of a log", sglang.POOLED, _sglang),
        _count("llama.cpp: cells, layers, K and V of a log", llama_cpp.ROWS, _llama_cpp),
        _count("TensorRT-LLM: blocks or tokens of a log", tensorrt_llm.ROWS, _tensorrt_llm),
    ]


def _count(name: str, rows: list[dict[str, Any]], check: Callable[[dict[str, Any]], None]) -> Count:
    return name, len(rows), sum(_passes(check, row) for row in rows)


def _passes(check: Callable[[dict[str, Any]], None], row: dict[str, Any]) -> bool:
    try:
        check(row)
    except AssertionError:
        return False
    return True


def _usable() -> list[dict[str, Any]]:
    return [row for row in vllm.rows("vllm_logs.jsonl") if "miss" not in row]


def _vllm(row: dict[str, Any]) -> None:
    assert all(vllm.fits(row, version) for version in row.get("fits", row["versions"]))


def _sglang(row: dict[str, Any]) -> None:
    for version in row["versions"]:
        sglang.test_the_figures_of_start_up_logs((version, row))
    sglang.test_the_printed_sizes_determine_the_tokens(row)


def _llama_cpp(row: dict[str, Any]) -> None:
    for build in row["builds"]:
        llama_cpp.test_the_figures_of_start_up_logs((build, row))


def _tensorrt_llm(row: dict[str, Any]) -> None:
    if "free_gib" in row:
        tensorrt_llm.test_free_bytes_give_the_blocks_of_the_log(row)
    if "tokens" in row:
        tensorrt_llm.test_the_line_of_the_log(row)
