"""llama-server's command line, its variables and its images."""

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.as_words import translate
from kvplan.deployments.commands.llama_cpp import COMMAND

START = "#!/bin/bash\n/opt/llama.cpp/build/bin/llama-server "


def started(flags: str) -> dict[str, object]:
    """Settings of a script's server."""
    return kit.values(kit.one(START + flags + "\n", "serve.sh"))


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        ("-m a.gguf -c 8192", "ctx_size", "8192"),
        ("-m a.gguf --ctx-size 8192", "ctx_size", "8192"),
        ("-m a.gguf --ctx_size 8192", "ctx_size", "8192"),
        ("-m a.gguf -np 4", "parallel", "4"),
        ("-m a.gguf --parallel -1", "parallel", "-1"),
        ("-m a.gguf -ngl 99", "n_gpu_layers", "99"),
        ("-m a.gguf --gpu-layers all", "n_gpu_layers", "all"),
        ("-m a.gguf --n-gpu-layers auto", "n_gpu_layers", "auto"),
        ("-m a.gguf -dev none", "n_gpu_layers", "0"),
        ("-m a.gguf -ctk q8_0 -ctv q8_0", "kv_cache_dtype", "q8_0"),
        ("-m a.gguf -ctk q8_0 -ctv q4_0", "kv_cache_dtype", "q8_0/q4_0"),
        ("-m a.gguf -ctv q8_0", "kv_cache_dtype", "f16/q8_0"),
        ("-m a.gguf -nkvo", "no_kv_offload", True),
        ("-m a.gguf --no-kv-offload", "no_kv_offload", True),
        ("-m a.gguf --swa-full", "swa_full", True),
        ("-m a.gguf -cram 0", "cache_ram_mib", "0"),
        ("-m a.gguf --cache-ram -1", "cache_ram_mib", "-1"),
        ("-m a.gguf -ctxcp 8", "ctx_checkpoints", "8"),
        ("-m a.gguf --swa-checkpoints 3", "ctx_checkpoints", "3"),
        ("-m a.gguf -fit off", "fit", "off"),
        ("-m a.gguf -fitt 512", "fit_target_mib", "512"),
        ("-m a.gguf -fitc 4096", "fit_ctx", "4096"),
        ("-m a.gguf -cmoe", "cpu_moe", True),
        ("-m a.gguf -ncmoe 12", "n_cpu_moe", "12"),
        ("-m a.gguf -ot 'exps=CPU'", "cpu_moe", True),
        (r"-m a.gguf -ot '\.ffn_.*_exps\.=CPU'", "cpu_moe", True),
        ("-m a.gguf -ts 3,1", "tensor_split", "3,1"),
        ("-m a.gguf -sm none -mg 1", "split_mode", "none"),
        ("-m a.gguf --mlock", "mlock", True),
        ("-m a.gguf --no-mmap", "no_mmap", True),
        ("-m a.gguf --mmproj b.gguf", "mmproj", "b.gguf"),
        ("-m a.gguf -kvu", "kv_unified", True),
        ("-m a.gguf -b 4096 -ub 1024", "ubatch_tokens", "1024"),
        ("-m a.gguf -t 8 -tb 16", "threads_batch", "16"),
        ("-m a.gguf -fa -c 4096", "flash_attention", "on"),
        ("-m a.gguf -fa off -c 4096", "flash_attention", "off"),
        ("-hf org/Model-GGUF:Q8_0", "model", "org/Model-GGUF:Q8_0"),
        ("-hfr org/Model-GGUF", "model", "org/Model-GGUF"),
        ("-hf org/Model-GGUF -hff Model-Q6_K.gguf", "model", "org/Model-GGUF/Model-Q6_K.gguf"),
        ("-m a.gguf -md b.gguf", "draft_model", "b.gguf"),
        ("-m a.gguf --spec-draft-model b.gguf --spec-draft-n-max 4", "draft_tokens", "4"),
        ("-m a.gguf --spec-type draft-mtp", "speculative_config", '{"method": "mtp"}'),
        ("-m a.gguf --spec-type draft-mtp -md b.gguf", "speculative_config", '{"method": "draft_model"}'),
        ("-m a.gguf -c 16384 -np 8", "max_model_len", 2048),
        ("-m a.gguf -c 16384 -np 8 -kvu", "max_model_len", 16384),
        ("-m a.gguf -c 16384", "max_model_len", 16384),
        ("--models-preset m.ini --models-max 1", "runners", "1"),
    ],
)  # fmt: skip
def test_arguments(flags: str, name: str, value: object) -> None:
    assert started(flags)[name] == value


def test_an_argument_needs_its_whole_name() -> None:
    assert "ctx_size" not in started("-m a.gguf --ctx 8192")


def test_the_last_of_equal_arguments_holds() -> None:
    assert started("-m a.gguf -c 4096 -c 8192")["ctx_size"] == "8192"


def test_values_below_zero_are_values() -> None:
    found = translate(kit.one(START + "-m a.gguf -np -1 -cram -1 -ngl -1\n", "serve.sh"))
    assert found.complaints == ()
    assert (found.values["parallel"], found.values["cache_ram_mib"], found.values["n_gpu_layers"]) == (-1, -1, -1)


def test_of_a_path_only_the_name_counts() -> None:
    item = kit.one(START + '-m "$MODELS/Qwen3-8B-Q4_K_M.gguf" -c 4096\n', "serve.sh")
    assert kit.open_names(item) == []
    assert str(item.value("model")).endswith("/Qwen3-8B-Q4_K_M.gguf")


def test_a_model_from_outside_is_open() -> None:
    assert kit.open_names(kit.one(START + '-m "$MODEL" -c 4096\n', "serve.sh")) == ["model"]


def test_threads_stop_no_verdict() -> None:
    item = kit.one(START + "-m Qwen3-8B-Q4_K_M.gguf -c 4096 -t $(nproc) --cache-ram $CACHE\n", "serve.sh")
    assert {one.name: one.stops for one in item.unresolved} == {"threads": False, "cache_ram_mib": False}
    assert kit.one(START + "-m Qwen3-8B-Q4_K_M.gguf -c $CONTEXT\n", "serve.sh").unresolved[0].stops


def test_a_pattern_of_single_layers_is_open() -> None:
    item = kit.one(START + r"-m a.gguf -ot 'blk\.([0-9]|1[0-9])\.ffn_.*_exps\.=CPU'" + "\n", "serve.sh")
    assert kit.open_names(item) == ["override_tensor"]
    assert item.value("cpu_moe") is None


def test_models_of_a_preset_file_are_open() -> None:
    item = kit.one(START + "--models-preset /opt/models.ini --models-max 1\n", "serve.sh")
    assert kit.open_names(item) == ["model"]


IMAGES = {
    "ghcr.io/ggml-org/llama.cpp:server-cuda-b10236": "b10236",
    "ghcr.io/ggml-org/llama.cpp:server-cuda-b10236@sha256:" + "0" * 64: "b10236",
    "ghcr.io/ggml-org/llama.cpp:server-b9000": "b9000",
    "ghcr.io/ggml-org/llama.cpp:server-cuda": None,
    "ghcr.io/ggerganov/llama.cpp:server": None,
    "registry.local:5000/mirror/llama.cpp:full-rocm-b8123": "b8123",
}


@pytest.mark.parametrize("image", IMAGES)
def test_images(image: str) -> None:
    assert COMMAND.is_started_by(image)
    assert COMMAND.version_of(image) == IMAGES[image]


def test_other_images_are_not_its_own() -> None:
    for image in ("ghcr.io/ggml-org/llama.cpp:light-cuda", "vllm/vllm-openai:v0.10.0", "me/llama.cpp-tools:server"):
        assert not COMMAND.is_started_by(image)


POD = """apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
  - name: server
    image: ghcr.io/ggml-org/llama.cpp:server-cuda-b10236
    args: [-m, /models/Qwen3-8B-Q4_K_M.gguf, --parallel, "2"]
    env:
    - {name: LLAMA_ARG_CTX_SIZE, value: "32768"}
    - {name: LLAMA_ARG_N_PARALLEL, value: "9"}
    - {name: LLAMA_ARG_NO_MMAP, value: "1"}
    - {name: LLAMA_ARG_KV_UNIFIED, value: "off"}
    - {name: LLAMA_ARG_CACHE_RAM, value: "2048"}
    resources: {limits: {nvidia.com/gpu: 1, memory: 16Gi}}
"""


def test_a_flag_goes_before_a_variable() -> None:
    found = kit.values(kit.one(POD, "pod.yaml"))
    assert found["engine"] == "llama.cpp@b10236"
    assert (found["ctx_size"], found["parallel"], found["max_model_len"]) == ("32768", "2", 16384)
    assert found["no_mmap"] is True
    assert found["kv_unified"] is False
    assert found["cache_ram_mib"] == "2048"


def test_the_older_name_of_the_server() -> None:
    item = kit.one("#!/bin/bash\n./build/bin/server -m llama-2-7b.Q4_K_M.gguf -c 4096\n", "serve.sh")
    assert item.value("ctx_size") == "4096"
    assert kit.read("#!/bin/bash\n./bin/server -m prod -c 4096\n", "serve.sh")[0] == []


@pytest.mark.parametrize(
    "text", ["~" * 300_000, "llama/" * 50_000, "a/" * 100_000, "server " * 50_000, "exps" * 50_000]
)
def test_long_words_take_no_time(text: str) -> None:
    import time

    start = time.perf_counter()
    kit.read(f"#!/bin/bash\nllama-server -c 4096 -ot {text}=CPU\n{text}\n", "serve.sh")
    assert time.perf_counter() - start < 5.0


def test_words_that_only_look_like_it() -> None:
    for text in ("pkill llama-server", "echo llama-server -m a.gguf", "# llama-server -m a.gguf", "ollama list"):
        assert kit.read(f"#!/bin/bash\n{text}\n", "serve.sh")[0] == []
