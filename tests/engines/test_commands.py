"""The line to paste, engine by engine, spelled as each engine's own help spells it."""

from __future__ import annotations

import shlex

import pytest

from kvplan.engines import all_engines
from kvplan.strategies import all_strategies
from tests.engines.kit import judged, line

KNOWN = {
    "vllm": {
        "--max-model-len", "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size",
        "--decode-context-parallel-size", "--enable-expert-parallel", "--quantization", "--max-num-seqs",
        "--kv-cache-dtype", "--gpu-memory-utilization", "--max-num-batched-tokens", "--block-size", "--enforce-eager",
        "--cpu-offload-gb", "--cpu-offload-params", "--kv-offloading-size", "--kv-transfer-config",
    },
    "sglang": {
        "-m", "--model-path", "--context-length", "--max-running-requests", "--tp", "--pp-size", "--dp", "--ep-size",
        "--quantization", "--mem-fraction-static", "--kv-cache-dtype", "--attention-backend", "--page-size",
        "--cpu-offload-gb", "--enable-hierarchical-cache", "--hicache-ratio", "--hicache-size", "--kt-method",
        "--kt-num-gpu-experts", "--kt-cpuinfer", "--kt-weight-path", "--kt-threadpool-count", "--kt-amx-weight-path",
    },
    "llama.cpp": {"-m", "-fa", "-c", "-np", "-ngl", "-ctk", "-ctv", "-nkvo", "-ncmoe", "-cmoe", "-ot", "-ts"},
    "tensorrt-llm": {
        "--max_seq_len", "--max_batch_size", "--tp_size", "--pp_size", "--ep_size",
        "--kv_cache_free_gpu_memory_fraction", "--kv_cache_dtype", "--extra_llm_api_options",
    },
    "mlx": {
        "--model", "--decode-concurrency", "--prompt-concurrency", "--prompt-cache-bytes", "--max-tokens", "--prompt",
        "--kv-bits", "--kv-group-size", "--quantized-kv-start",
    },
    "ollama": set(),
}  # fmt: skip
"""deployments.md A2, hardware.md (KV types), the engines' own help: what each line may hold."""
OLLAMA_VARIABLES = {
    "OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL", "OLLAMA_FLASH_ATTENTION", "OLLAMA_KV_CACHE_TYPE",
    "OLLAMA_SCHED_SPREAD", "LLAMA_ARG_NO_KV_OFFLOAD", "LLAMA_ARG_N_CPU_MOE", "LLAMA_ARG_TENSOR_SPLIT",
}  # fmt: skip
PROGRAMS = {
    "vllm": ("vllm", "serve"), "sglang": ("python", "-m", "sglang.launch_server"), "llama.cpp": ("llama-server",),
    "tensorrt-llm": ("trtllm-serve",), "mlx": ("mlx_lm.",), "ollama": ("OLLAMA_CONTEXT_LENGTH=",),
}  # fmt: skip
HOSTS = {"mlx": ("m4-max",), "vllm": ("rtx4090", "h100-server", "mi300x-server"), "sglang": ("rtx4090", "h100-server"),
         "tensorrt-llm": ("rtx4090", "h100-server", "b200-server"), "llama.cpp": ("rtx4090", "m4-max", "rtx4090-2x"),
         "ollama": ("rtx4090", "m4-max", "rtx4090-2x")}  # fmt: skip


def test_every_engine_is_looked_at() -> None:
    assert set(KNOWN) | {"generic"} == set(all_engines())


@pytest.mark.parametrize("model", ["llama3-8b", "qwen3-30b-a3b", "deepseek-v3"])
@pytest.mark.parametrize("engine", sorted(KNOWN))
def test_every_flag_is_one_that_the_engine_has(engine: str, model: str) -> None:
    for host in HOSTS[engine]:
        for users in (1, 16):
            found = judged(*all_strategies(), model=model, host=host, engine=engine, users=users)
            texts = [item.flags for item in found.strategies if item.flags is not None]
            assert texts
            for text in texts:
                words = shlex.split(text.replace("<(", " ").replace(")", " "))
                assert words[0].startswith(PROGRAMS[engine][0])
                assert [word for word in words if word.startswith("-") and len(word) > 1] == [
                    word for word in words if word in KNOWN[engine]
                ]
                if engine == "ollama":
                    assert {word.split("=")[0] for word in words[:-2]} <= OLLAMA_VARIABLES
                    assert words[-2:] == ["ollama", "serve"]


def test_vllm() -> None:
    words = {"model": "llama3-70b", "host": "h100-server", "engine": "vllm", "tp": 4, "pp": 2, "context": "32k"}
    start = (
        "vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 32768"
        " --tensor-parallel-size 4 --pipeline-parallel-size 2"
    )
    assert line("hbm", **words) == start
    assert line("kv-fp8", **words, weights="fp8") == f"{start} --quantization fp8 --kv-cache-dtype fp8"


def test_sglang() -> None:
    words = {"model": "llama3-70b", "host": "h100-server", "engine": "sglang", "tp": 4, "dp": 2, "users": 32}
    start = "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-70B-Instruct --context-length 8192"
    assert line("hbm", **words) == f"{start} --max-running-requests 32 --tp 4 --dp 2"
    assert line("kv-fp8", **words, mem_fraction_static=0.8) == (
        f"{start} --max-running-requests 32 --tp 4 --dp 2 --mem-fraction-static 0.8 --kv-cache-dtype fp8_e4m3"
    )
    shipped = line("hbm", model="deepseek-v3", host="h200-server", engine="sglang")
    assert shipped is not None and "--quantization" not in shipped  # its checkpoint is FP8 already


def test_tensorrt_llm() -> None:
    words = {"model": "llama3-70b", "host": "h100-server", "engine": "tensorrt-llm", "tp": 4, "dp": 2, "users": 32}
    start = "trtllm-serve meta-llama/Llama-3.1-70B-Instruct --max_seq_len 8192 --max_batch_size 16 --tp_size 4"
    assert line("hbm", **words) == start
    assert line("kv-fp8", **words) == f"{start} --kv_cache_dtype fp8"
    older = line("kv-fp8", **{**words, "engine": "tensorrt-llm@1.0"})
    assert older == f"{start} --extra_llm_api_options <(echo 'kv_cache_config: {{dtype: fp8}}')"
    quantized = line("hbm", **words, weights="fp8", gpu_memory_utilization=0.85)
    assert quantized is not None
    assert quantized.startswith("trtllm-serve PATH/TO/Llama-3.1-70B-Instruct-fp8")
    assert quantized.endswith("--kv_cache_free_gpu_memory_fraction 0.85")


def test_llama_cpp() -> None:
    words = {"host": "rtx4090", "engine": "llama.cpp", "weights": "q4_k_m", "users": 4}
    start = "llama-server -m Llama-3.1-8B-Instruct-Q4_K_M.gguf -fa on -c 32768 -np 4 -ngl 99"
    assert line("hbm", **words) == start
    assert line("kv-q8_0", **words) == f"{start} -ctk q8_0 -ctv q8_0"
    assert line("hbm", **words, kv_cache_dtype="q4_0") == f"{start} -ctk q4_0 -ctv q4_0"
    assert line("hbm", **{**words, "engine": "llama.cpp@b6000"}) == start.replace("-fa on", "-fa")


def test_all_layers_of_deep_models_are_offloaded() -> None:
    text = line("hbm", model="llama3-405b", host="h100-server", engine="llama.cpp", weights="q4_k_m")
    assert text is not None and "-ngl 127" in text  # 126 layers and the output


def test_layers_are_named_only_where_some_spill() -> None:
    fitting = line("weight-offload", host="rtx4090", engine="llama.cpp", weights="q4_k_m")
    spilling = line("weight-offload", model="llama3-70b", host="rtx4090", engine="llama.cpp", weights="q4_k_m")
    assert fitting is not None and fitting.endswith("-ngl 99")
    assert spilling is not None and 20 < int(spilling.split("-ngl ")[1]) < 60
