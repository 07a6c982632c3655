"""Whole start-up logs, as engines write them: with colours, progress bars, several ranks and several starts.

The lines have the forms of public logs; the figures of vllm-v1-debug.log are those of a published H100 run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kvplan.engine_logs import all_formats, read_logs
from kvplan.engine_logs.interface import FIGURES, EngineLog, Rank
from kvplan.errors import CannotJudge, InputError

LOGS = Path(__file__).parent / "logs"
GIB = 2**30


def read(name: str) -> EngineLog:
    return read_logs((str(LOGS / name),))


def in_gib(rank: Rank) -> dict[str, float]:
    return {name: round(value / GIB, 3) if name.endswith("_bytes") else value for name, value in rank.figures.items()}


def written(folder: Path, text: str | bytes, name: str = "some.log") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_vllm_v1_at_debug_with_colours_and_progress_bars() -> None:
    log = read("vllm-v1-debug.log")
    start = log.start
    assert (start.engine, start.version, log.starts, start.complete, log.notes) == ("vllm", "0.19.0", 1, True, ())
    assert in_gib(start.tightest) == {
        "total_bytes": 79.19, "free_bytes": 78.68, "budget_bytes": 75.23, "weight_bytes": 14.99,
        "activation_bytes": 1.89, "runtime_bytes": 0.25, "graph_estimate_bytes": 0.84, "graph_bytes": 0.91,
        "kv_pool_bytes": 58.11, "kv_tokens": 476016, "max_concurrency": 58.11,
    }  # fmt: skip
    said = {"model": "meta-llama/Llama-3.1-8B-Instruct", "max_model_len": 8192, "gpu_memory_utilization": 0.95,
            "max_num_batched_tokens": 8192, "max_num_seqs": 1024, "tp": 1, "pp": 1, "enforce_eager": False}  # fmt: skip
    assert {name: start.said[name] for name in said} == said
    assert "kv_cache_dtype" not in start.said, "auto is not said"


def test_vllm_v0_two_ranks_of_which_the_smaller_pool_counts() -> None:
    start = read("vllm-v0-two-ranks.log").start
    assert (start.version, [rank.name for rank in start.ranks]) == ("0.7.2", ["driver", "pid=240"])
    assert [in_gib(rank)["kv_pool_bytes"] for rank in start.ranks] == [12.5, 12.54]
    assert start.tightest.name == "driver"
    assert in_gib(start.tightest) == {
        "total_bytes": 23.65, "budget_bytes": 21.28, "weight_bytes": 7.144, "activation_bytes": 1.41,
        "runtime_bytes": 0.23, "graph_bytes": 0.31, "kv_pool_bytes": 12.5, "kv_blocks": 29257,
        "max_concurrency": 14.29,
    }  # fmt: skip


def test_the_last_complete_of_three_starts() -> None:
    log = read("vllm-three-starts.log")
    assert log.starts == 3
    assert log.notes == ("the log holds 3 starts; this is the 2nd, the last complete one",)
    assert log.start.said["max_model_len"] == 16384
    assert "max_num_seqs" not in log.start.said, "that was the first start, which failed"
    assert [rank.name for rank in log.start.ranks] == ["TP0", "TP1"]
    assert in_gib(log.start.tightest)["kv_pool_bytes"] == 60.02
    assert in_gib(log.start.tightest)["graph_bytes"] == 0.61


def test_sglang_two_ranks() -> None:
    start = read("sglang-tp2.log").start
    assert (start.engine, start.version, start.said["tp"]) == ("sglang", None, 2)
    assert [rank.name for rank in start.ranks] == ["TP0", "TP1"]
    assert in_gib(start.ranks[1]) == {
        "free_bytes": 77.5, "weight_bytes": 7.7, "kv_pool_bytes": 60.5, "graph_bytes": 0.93, "kv_tokens": 881152,
        "budget_bytes": round(77.5 * 0.88, 3),
    }  # fmt: skip
    assert start.said["max_num_seqs"] == 2048


def test_llama_server_with_its_table() -> None:
    start = read("llama-server.log").start
    assert (start.engine, start.version, start.said["weights"]) == ("llama.cpp", "6730", "q4_k_m")
    assert (start.said["context"], start.said["users"], start.said["gpu"]) == (8192, 2, "NVIDIA GeForce RTX 4090")
    assert [rank.name for rank in start.ranks] == ["CUDA0"], "pinned and mapped buffers are host memory"
    figures = start.tightest.figures
    assert figures["weight_bytes"] == pytest.approx(4403.49 * 2**20)
    assert figures["kv_pool_bytes"] == 2048 * 2**20
    assert figures["activation_bytes"] == 258.5 * 2**20
    assert (figures["runtime_bytes"], figures["total_bytes"]) == (1011 * 2**20, 24080 * 2**20)


def test_tensorrt_llm_sets_its_pool_up_twice() -> None:
    start = read("trtllm-pytorch.log").start
    assert (start.engine, start.version) == ("tensorrt-llm", "1.1.0")
    assert in_gib(start.tightest) == {
        "total_bytes": 79.18, "weight_bytes": 14.96, "activation_bytes": 1.45, "runtime_bytes": 1.61,
        "kv_pool_bytes": 55.01, "kv_tokens": 450656,
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.name for path in LOGS.glob("*.log")))
def test_every_figure_has_a_known_name(name: str) -> None:
    for rank in read(name).start.ranks:
        assert set(rank.figures) <= set(FIGURES)


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        (
            "INFO 12-13 19:54:18 worker.py:243] Memory profiling results:\n"
            "INFO 12-13 19:54:18 worker.py:243] total_gpu_memory     79.22GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] the current vLLM instance can use    71.29GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] model weights take   14.96GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] non_torch_memory     1.79GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] PyTorch activation peak memory       1.26GiB\n"
            "INFO 12-13 19:54:18 worker.py:243] available_kv_cache_memory    53.29GiB\n",
            {"total_bytes": 79.22, "budget_bytes": 71.29, "weight_bytes": 14.96, "runtime_bytes": 1.79,
             "activation_bytes": 1.26, "kv_pool_bytes": 53.29},
        ),
        (
            "INFO 10-09 [worker.py:164] Memory profiling results: total_gpu_memory=44.35GiB"
            " initial_memory_usage=0.52GiB peak_torch_memory=9.52GiB non_torch_memory=0.34GiB"
            " kv_cache_size=8.77GiB gpu_memory_utilization=0.42\nINFO Loading model weights took 8.3215 GB\n",
            {"total_bytes": 44.35, "weight_bytes": 8.322, "runtime_bytes": 0.34, "activation_bytes": 1.198,
             "kv_pool_bytes": 8.77},
        ),
        (
            "INFO [core.py:347] Initializing a V1 LLM engine (v0.29.0) with config: model='m', tensor_parallel_size=1\n"
            "INFO [x.py:1] Model loading took 51.1 GiB memory and 41.914650 seconds\n"
            "INFO [x.py:1] CUDA graph pool memory: 0.71 GiB (actual), 1.55 GiB (estimated), difference: 0.84 GiB.\n"
            "INFO [x.py:1] Available KV cache memory: 19.54 GiB\n"
            "INFO [gpu_worker.py:804] Free memory on device (79.99/80.0 GiB) on startup. Desired GPU memory utilization"
            " is (0.92, 73.6 GiB). Actual usage is 51.66 GiB for consumed memory (weights + non-torch), 2.4 GiB for"
            " peak activation, and 0.71 GiB for CUDAGraph memory.\n",
            {"free_bytes": 79.99, "total_bytes": 80.0, "budget_bytes": 73.6, "weight_bytes": 51.1,
             "runtime_bytes": 0.56, "activation_bytes": 0.85, "graph_bytes": 0.71, "graph_estimate_bytes": 1.55,
             "kv_pool_bytes": 19.54},
        ),
        (
            "[TensorRT-LLM][INFO] Loaded engine size: 6214 MiB\n"
            "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 928.77 MiB for execution context memory.\n"
            "[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache. \n"
            "[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.\n",
            {"weight_bytes": 6.068, "activation_bytes": 0.907, "kv_pool_bytes": 64.75, "kv_tokens": 132608},
        ),
        (
            "[2026-05-15 08:39:36] Load weight begin. avail mem=78.40 GB\n"
            "[2026-05-15 08:39:50] Load weight end. elapsed=3.1 s, type=Gemma4ForCausalLM, avail mem=66.05 GB, mem"
            " usage=12.35 GB.\n"
            "[2026-05-15 08:39:51] KV Cache is allocated. #tokens: 171008, K size: 10.00 GB, V size: 10.00 GB\n"
            "[2026-05-15 08:39:51] KV Cache is allocated. #tokens: 213761, K size: 8.34 GB, V size: 8.35 GB\n"
            "[2026-05-15 08:39:51] SWAKVPool mem usage: 36.69 GB, swa size: 171008, full size: 213761\n"
            "[2026-05-15 08:39:59] Capture target decode CUDA graph end. elapsed=25.74 s, mem usage=2.66 GB, avail"
            " mem=24.45 GB.\n"
            "[2026-05-15 08:39:59] max_total_num_tokens=213761, chunked_prefill_size=-1, available_gpu_mem=24.45 GB\n",
            {"free_bytes": 78.4, "weight_bytes": 12.35, "kv_pool_bytes": 36.69, "graph_bytes": 2.66,
             "kv_tokens": 213761},
        ),
        (
            "llm_load_tensors:      CUDA0 buffer size =  5434.38 MiB\n"
            "llm_load_tensors:        CPU buffer size =  1640.62 MiB\n"
            "llama_kv_cache_init:      CUDA0 KV buffer size =  1536.00 MiB\n"
            "llama_new_context_with_model: KV self size  = 1536.00 MiB, K (f16):  768.00 MiB, V (f16):  768.00 MiB\n"
            "llama_new_context_with_model:  CUDA_Host  output buffer size =     1.95 MiB\n"
            "llama_new_context_with_model:      CUDA0 compute buffer size =   672.01 MiB\n",
            {"weight_bytes": 5.307, "kv_pool_bytes": 1.5, "activation_bytes": 0.656},
        ),
    ],
    ids=["vllm-2024-12", "vllm-2024-10", "vllm-0.29-consumed", "trtllm-0.8", "sglang-windows", "llama-2024"],
)  # fmt: skip
def test_other_forms_of_lines(tmp_path: Path, text: str, figures: dict[str, float]) -> None:
    assert in_gib(read_logs((written(tmp_path, text),)).start.tightest) == figures


def test_wrapped_in_json_by_a_container_runtime(tmp_path: Path) -> None:
    import json

    lines = (LOGS / "vllm-v1-debug.log").read_text(encoding="utf-8").splitlines()
    text = "".join(json.dumps({"log": line + "\n", "stream": "stderr"}) + "\n" for line in lines)
    assert read_logs((written(tmp_path, text),)).start.ranks == read("vllm-v1-debug.log").start.ranks


def test_utf_16_of_powershell(tmp_path: Path) -> None:
    text = (LOGS / "llama-server.log").read_text(encoding="utf-8").replace("\n", "\r\n")
    assert read_logs((written(tmp_path, text.encode("utf-16")),)).start == read("llama-server.log").start


def test_one_file_for_each_rank(tmp_path: Path) -> None:
    lines = (LOGS / "sglang-tp2.log").read_text(encoding="utf-8").splitlines(keepends=True)
    files = []
    for rank in ("TP0", "TP1"):
        own = [line for line in lines if f"{rank}]" in line or "server_args" in line]
        files.append(written(tmp_path, "".join(own), f"{rank}.log"))
    start = read_logs(tuple(files)).start
    assert [rank.name for rank in start.ranks] == ["TP0", "TP1"]
    assert start.said["model"] == "Qwen/Qwen3-8B"


def test_files_of_different_engines_are_refused() -> None:
    with pytest.raises(InputError, match="different engines"):
        read_logs((str(LOGS / "sglang-tp2.log"), str(LOGS / "llama-server.log")))


def test_what_was_looked_for_is_said_of_every_engine(tmp_path: Path) -> None:
    with pytest.raises(CannotJudge, match="no line of an engine's start-up") as caught:
        read_logs((written(tmp_path, "INFO: Uvicorn running on http://0.0.0.0:8000\n"),))
    for log_format in all_formats().values():
        assert f"{log_format.engine}: {log_format.looked_for[0]!r}" in (caught.value.help or "")


def test_a_start_without_figures(tmp_path: Path) -> None:
    with pytest.raises(CannotJudge, match="holds lines of vllm, but none about its memory"):
        read_logs((written(tmp_path, "INFO vLLM API server version 0.10.2\n"),))


def test_a_start_that_failed_says_so(tmp_path: Path) -> None:
    log = read_logs((written(tmp_path, "INFO [x.py:1] Model loading took 14.9 GiB memory and 3.1 seconds\n"),))
    assert not log.start.complete
    assert log.notes == ("this start ends before the KV cache was set up: what it says is incomplete",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\x1f\x8b\x08\x00", "is compressed"),
        (b"\x7fELF\x00\x00\x00" * 100, "is not a text file"),
    ],
)
def test_what_is_no_log(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_logs((written(tmp_path, data),))
    with pytest.raises(InputError, match="is a folder"):
        read_logs((str(tmp_path),))
    with pytest.raises(InputError, match="No such file"):
        read_logs((str(tmp_path / "none"),))


@pytest.mark.parametrize(
    "text",
    [
        "Available KV cache memory: " + "9" * 400 + " GiB\n",
        "Available KV cache memory: 1,,,2 GiB\n" * 3,
        "Model loading took " * 200_000,
        "KV Cache is allocated." * 100_000 + "\n",
        "{" * 50_000 + "Available KV cache memory: 1.00 GiB\n",
        "non-default args: {'speculative_config': {" + "'a': {" * 5000 + "\n",
        "".join(f"(Worker_TP{rank} pid=1) Model loading took 1.0 GiB memory\n" for rank in range(6000)),
        "INFO vLLM API server version 0.10.2\nModel loading took 1.0 GiB memory\n" * 3000,
        "\x1b[" * 100_000 + "Available KV cache memory: 1.00 GiB\n",
    ],
    ids=["digits", "commas", "one-line", "repeated", "braces", "nested", "ranks", "starts", "escapes"],
)
def test_hostile_text_ends_quickly_in_an_answer_or_one_line(tmp_path: Path, text: str) -> None:
    try:
        log = read_logs((written(tmp_path, text),))
    except (InputError, CannotJudge):
        return
    assert len(log.start.ranks) <= 4096
    assert all(abs(value) < 2**100 for rank in log.start.ranks for value in rank.figures.values())


def test_a_long_log_is_read_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvplan.engine_logs.reading.LARGEST_LOG_BYTES", 10_000)
    text = (LOGS / "vllm-v1-debug.log").read_text(encoding="utf-8") + "noise\n" * 10_000
    log = read_logs((written(tmp_path, text),))
    assert any("longer than 64 MiB" in note for note in log.notes)
    assert log.start.tightest.figures["kv_tokens"] == 476016
