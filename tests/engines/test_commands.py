"""The line to paste, engine by engine, spelled as each engine's own help spells it."""

from __future__ import annotations

import shlex

import pytest

from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment
from kvplan.engines import all_engines, find_engine
from kvplan.errors import InputError
from kvplan.strategies import all_strategies
from tests.engines.kit import judged, line, policy_of

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
        "--chunked-prefill-size", "--disable-cuda-graph", "--dcp-size",
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


GIVEN = {"max_num_batched_tokens": 4096, "max_num_seqs": 8, "block_size": 32, "enforce_eager": True}
IN_THE_LINE = [
    ("vllm", {"kv_cache_dtype": "fp8_e5m2", "gpu_memory_utilization": 0.8}, (
        "--kv-cache-dtype fp8_e5m2", "--gpu-memory-utilization 0.8", "--max-num-batched-tokens 4096",
        "--max-num-seqs 8", "--block-size 32", "--enforce-eager")),
    ("vllm", {"kv_cache_dtype": "int8"}, ("--kv-cache-dtype int8_per_token_head",)),
    ("vllm", {"kv_cache_dtype": "bf16"}, ("--kv-cache-dtype bfloat16",)),
    ("sglang", {"kv_cache_dtype": "fp8_e4m3", "mem_fraction_static": 0.8}, (
        "--kv-cache-dtype fp8_e4m3", "--mem-fraction-static 0.8", "--chunked-prefill-size 4096",
        "--max-running-requests 8", "--page-size 32", "--disable-cuda-graph")),
    ("sglang", {"kv_cache_dtype": "fp8_e5m2"}, ("--kv-cache-dtype fp8_e5m2",)),
    ("sglang", {"kv_cache_dtype": "bf16"}, ("--kv-cache-dtype bfloat16",)),
    ("tensorrt-llm", {"kv_cache_dtype": "fp8", "gpu_memory_utilization": 0.8}, (
        "--kv_cache_dtype fp8", "--kv_cache_free_gpu_memory_fraction 0.8", "--max_num_tokens 4096",
        "--max_batch_size 8")),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "words", "flags"), IN_THE_LINE)
def test_what_the_user_set_is_in_the_line(engine: str, words: dict[str, object], flags: tuple[str, ...]) -> None:
    text = line("hbm", host="h100-server", engine=engine, tp=1, **GIVEN, **words)
    assert text is not None
    for flag in flags:
        assert f" {flag} " in f"{text} "
        assert text.count(flag.split()[0]) == 1


def test_a_page_of_one_token_that_a_kv_type_needs_is_not_contradicted() -> None:
    text = line("kv-int8", host="h100-server", engine="sglang", block_size=32)
    assert text is not None and text.count("--page-size") == 1 and "--page-size 1" in text


def test_sglang_takes_the_chunk_and_the_page_that_are_given() -> None:
    plain = policy_of(host="h100-server", engine="sglang")
    given = policy_of(host="h100-server", engine="sglang", max_num_batched_tokens=16384, block_size=64)
    assert (plain.prefill_chunk_tokens, plain.block_tokens) == (8192, 1)
    assert (given.prefill_chunk_tokens, given.block_tokens) == (16384, 64)
    assert given.budget.bytes.best < plain.budget.bytes.best  # 1.5 MiB for each token of a chunk


@pytest.mark.parametrize("engine", ["tensorrt-llm", "llama.cpp", "mlx"])
def test_settings_that_an_engine_lacks_are_said(engine: str) -> None:
    host = "m4-max" if engine == "mlx" else "rtx4090"
    warnings = judged("hbm", host=host, engine=engine, block_size=32, enforce_eager=True).warnings
    for flag in ("--block-size", "--enforce-eager"):
        assert f"{flag} is not a setting of {engine}: not used" in warnings


@pytest.mark.parametrize("engine", ["tensorrt-llm", "llama.cpp", "ollama"])
def test_decode_context_parallelism_is_for_two_engines(engine: str) -> None:
    words = {"model": "deepseek-v3", "host": "h200-server", "tp": 8, "dcp": 2}
    found = judged("hbm", engine=engine, **words).strategies[0]
    assert (found.outcome, found.bound_by, found.flags) == ("no", "kernel", None)
    for other, flag in (("vllm", "--decode-context-parallel-size 2"), ("sglang", "--dcp-size 2")):
        assert flag in str(line("hbm", engine=other, **words))


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("tensorrt-llm", "--max_batch_size 3"),
        ("llama.cpp", "-c 24576 -np 3"),
        ("ollama", "OLLAMA_NUM_PARALLEL=3"),
    ],
)
def test_one_server_for_each_replica(engine: str, words: str) -> None:
    found = judged("hbm", host="rtx4090-2x", engine=engine, tp=1, dp=2, users=5, weights="fp8")
    assert words in str(found.strategies[0].flags)
    assert "SPREAD" not in str(found.strategies[0].flags)
    assert any("start 2 servers, each on its own GPUs, behind a load balancer" in text for text in found.warnings)
    alone = judged("hbm", host="rtx4090-2x", engine=engine, tp=2, dp=1, users=5, weights="fp8")
    assert not any("load balancer" in text for text in alone.warnings)


MTP = '{"method": "deepseek_mtp", "num_speculative_tokens": 3}'
DEEPSEEK = {"model": "deepseek-v3", "host": "h200-server", "speculative_config": MTP}
NOT_MODELLED = "the speed-up of speculative decoding is not modelled: times are those of one token a step"


def test_drafting_reaches_the_line() -> None:
    text = str(line("hbm", engine="vllm", **DEEPSEEK))
    words = shlex.split(text)
    assert words[words.index("--speculative-config") + 1] == MTP
    assert (
        "--speculative-algorithm NEXTN --speculative-num-steps 3 --speculative-eagle-topk 1"
        " --speculative-num-draft-tokens 4"
    ) in str(line("hbm", engine="sglang", **DEEPSEEK))
    named = str(line("hbm", engine="vllm", **{**DEEPSEEK, "speculative_config": "mtp"}))
    assert '{"method": "mtp"}' in named
    draft = str(line("hbm", host="rtx4090", engine="vllm", speculative_config="Org/Draft-1B"))
    assert '{"model": "Org/Draft-1B"}' in draft


@pytest.mark.parametrize("engine", ["vllm", "sglang", "generic"])
def test_engines_that_draft_are_no_faster_here(engine: str) -> None:
    assert NOT_MODELLED in judged("hbm", engine=engine, **DEEPSEEK).warnings


@pytest.mark.parametrize("engine", ["tensorrt-llm", "llama.cpp", "ollama"])
def test_engines_that_are_not_told_to_draft(engine: str) -> None:
    found = judged("hbm", engine=engine, **DEEPSEEK)
    assert any(f"does not tell {engine} to draft (deepseek_mtp)" in text for text in found.warnings)
    assert NOT_MODELLED not in found.warnings
    assert "spec" not in str(found.strategies[0].flags)


def test_a_draft_model_is_not_started_by_the_line_for_sglang() -> None:
    found = judged("hbm", host="rtx4090", engine="sglang", speculative_config='{"method": "eagle3", "model": "a/b"}')
    assert any("does not tell sglang to draft (eagle3)" in text for text in found.warnings)
    assert "speculative" not in str(found.strategies[0].flags)


@pytest.mark.parametrize("tokens", ["true", "0", "-1", "65", "1e99", "1.5", '"3"', "[1]"])
def test_drafts_have_one_to_sixty_four_tokens(tokens: str) -> None:
    config = f'{{"method": "ngram", "num_speculative_tokens": {tokens}}}'
    with pytest.raises(InputError, match="whole number from 1 to 64"):
        line("hbm", host="rtx4090", engine="vllm", speculative_config=config)


@pytest.mark.parametrize(
    "text",
    ["{}", '{"num_speculative_tokens": 2}', '{"method": ""}', '{"method": 3}', '{"model": 7}', '{"method": "mtp"',
     "fast", "two words 1", "$(x)1", "a//1", "[" * 100_000, "3", "[1]", "null"],
)  # fmt: skip
def test_what_is_no_way_to_draft(text: str) -> None:
    with pytest.raises(InputError) as caught:
        line("hbm", host="rtx4090", engine="vllm", speculative_config=text)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["ngram", "[ngram]", "eagle3", "Org/Draft", "/models/draft-1b", "llama3-1b"])
def test_ways_to_draft_without_json(text: str) -> None:
    assert "--speculative-config" in str(line("hbm", host="rtx4090", engine="vllm", speculative_config=text))


def gguf(engine: str, source: str) -> Deployment:
    """Llama 3.1 8B as it would be read from this GGUF file."""
    found = resolve(Words(model="llama3-8b", host="rtx4090", engine=engine))
    return found._replace(model=found.model._replace(source=source, dtype="q4_k_m"))


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_the_line_names_the_gguf_file_that_was_read(engine: str) -> None:
    text = find_engine(engine).command(gguf(engine, "/data/my model-Q4_K_M.gguf"), ())
    assert "'/data/my model-Q4_K_M.gguf'" in text
    asked = judged("hbm", host="rtx4090", engine="vllm", weights="q4_k_m")
    assert "PATH/TO/Llama-3.1-8B-Instruct-Q4_K_M.gguf" in str(asked.strategies[0].flags)
    assert any("add --tokenizer with the original model's id" in text for text in asked.warnings)


@pytest.mark.parametrize(
    ("engine", "weights"), [("vllm", "mlx-4bit"), ("tensorrt-llm", "q4_k_m"), ("vllm", "mxfp4"),
                            ("llama.cpp", "mxfp4_moe"), ("sglang", "int4-g32-experts")],
)  # fmt: skip
def test_no_line_for_weights_that_cannot_be_read(engine: str, weights: str) -> None:
    for found in judged(host="rtx4090", engine=engine, weights=weights).strategies:
        assert found.flags is None
    assert found.outcome in ("no", "na")


def test_weights_of_experts_only_are_for_models_with_experts() -> None:
    dense = judged("hbm", host="h100-server", engine="vllm", weights="mxfp4").strategies[0]
    assert (dense.outcome, dense.bound_by) == ("no", "kernel")
    assert "no routed experts" in str(dense.reason)
    mixture = judged("hbm", model="qwen3-30b-a3b", host="h100-server", engine="vllm", weights="mxfp4").strategies[0]
    assert mixture.outcome == "fits"


def test_states_of_hybrids_have_a_pool_of_their_own_under_sglang() -> None:
    """A start-up log of this model in FP8 on one H100 prints 330,323 tokens of KV."""
    words = {"model": "qwen3.5-27b", "host": "h100-server", "gpus": 1, "engine": "sglang", "weights": "fp8"}
    found = judged("hbm", users=40, **words)
    assert found.gpu_memory.kv_pool_tokens == pytest.approx(330_323, rel=0.05)
    users = found.strategies[0].users_max
    assert users is not None and users.best == found.gpu_memory.kv_pool_tokens // 8192
    assert any("--mamba-full-memory-ratio" in text for text in found.warnings)
    alone = judged("hbm", users=1, **words).strategies[0]
    assert alone.users_max == users  # what is set aside does not depend on who uses it
    assert any("takes 1 to 5" in text for text in judged("hbm", users=100, **words).warnings)
    dense = judged("hbm", host="h100-server", engine="sglang")
    assert not any("mamba" in text for text in dense.warnings)


MLX_RATES = [
    ("deepseek-v3", "m3-ultra", "mlx-4bit", 2048, 17.5),
    ("qwen3.5-35b-a3b", "m2-ultra", "mlx-8bit", 4096, 71.8),
    ("qwen3.5-122b-a10b", "m2-ultra", "mlx-5bit", 4096, 40.6),
    ("qwen3-30b-a3b-2507", "m4-max-128", "mlx-4bit", 2176, 113.3),
    ("qwen3.5-27b", "m2-ultra", "mlx-8bit", 4096, 20.2),
]
"""Published decode rates of one sequence, tokens/s: three mixtures that fell below the interval, two that did not."""


@pytest.mark.parametrize(("model", "host", "weights", "context", "rate"), MLX_RATES)
def test_mlx_rates_are_inside_the_interval(model: str, host: str, weights: str, context: int, rate: float) -> None:
    itl_s = judged("hbm", model=model, host=host, engine="mlx", weights=weights, context=context).strategies[0].itl_s
    assert itl_s is not None
    assert 1.0 / itl_s.high <= rate <= 1.0 / itl_s.low
