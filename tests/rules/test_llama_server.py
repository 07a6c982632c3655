"""How a llama-server is judged: its devices, its slots, what it leaves to the CPU, its cache types."""

from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only

START = "#!/bin/bash\nllama-server "
SMALL = "-m Qwen3-8B-Q4_K_M.gguf -ngl 99 "


def levels(folder: Path, flags: str, host: str = "rtx4090") -> dict[str, str]:
    """Level by rule, of what is neither a remark nor about the host."""
    result = checked(folder, START + flags + "\n", host=host)
    return {item.rule: item.level for item in result.findings if item.level != "info"}


def judged(folder: Path, flags: str, host: str = "rtx4090"):  # type: ignore[no-untyped-def]
    """The judgement of one server."""
    context = checked(folder, START + flags + "\n", host=host).deployments[0].context
    assert context.judged is not None, context.problems
    return context.judged


def test_what_fits_has_no_finding(tmp_path: Path) -> None:
    assert levels(tmp_path, SMALL + "-c 32768 -np 1") == {}


def test_weights_that_are_told_to_be_on_the_card_must_fit(tmp_path: Path) -> None:
    """42.5 GB of Llama-3.3-70B-Instruct-Q4_K_M.gguf on a card of 24."""
    item = only(tmp_path, START + "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 4096\n", "KV101", host="rtx4090")
    assert item.level == "fail"
    assert item.figures["weight_bytes"]["best"] == pytest.approx(42.5e9, rel=0.03)
    assert "--n-gpu-layers " in str(item.remedy)


def test_the_layers_of_the_remedy_fit(tmp_path: Path) -> None:
    model = "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -c 4096"
    layers = str(only(tmp_path, START + model + " -ngl 99\n", "KV101", host="rtx4090").remedy).split(" ")[-1]
    assert not {"KV101", "KV102"} & set(levels(tmp_path, f"{model} -ngl {layers}"))


def test_layers_that_do_not_fit_go_to_the_cpu_by_themselves(tmp_path: Path) -> None:
    """llama.cpp PR 16653, December 2025: nothing fails where -ngl is not given."""
    model = "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -c 4096"
    assert levels(tmp_path, model)["KV101"] == "warn"
    assert levels(tmp_path, f"{model} --fit off")["KV101"] == "fail"


def test_a_part_of_the_layers(tmp_path: Path) -> None:
    share = judged(tmp_path, "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 40 -c 4096").share
    whole = judged(tmp_path, "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 4096").share
    assert share.weights.best == pytest.approx(whole.weights.best / 2, rel=0.04)
    assert share.request_bytes(4096).best == pytest.approx(whole.request_bytes(4096).best / 2)


def test_every_slot_is_reserved(tmp_path: Path) -> None:
    one = judged(tmp_path, SMALL + "-c 32768 -np 1").share.request_bytes(32768)
    four = judged(tmp_path, SMALL + "-c 131072 -np 4").share.request_bytes(32768)
    assert four.best == 4 * one.best
    item = only(tmp_path, START + SMALL + "-c 327680 -np 8\n", "KV102", host="rtx4090")
    assert "KV for 8 slots of 40,960 tokens (ctx_size / parallel)" in item.message
    assert int(str(item.remedy).split(" ")[1]) % 8 == 0


def test_the_size_of_the_remedy_fits(tmp_path: Path) -> None:
    item = only(tmp_path, START + SMALL + "-c 327680 -np 8\n", "KV102", host="rtx4090")
    size = str(item.remedy).split(" ")[1]
    assert not {"KV101", "KV102"} & set(levels(tmp_path, SMALL + f"-c {size} -np 8"))


def test_kv_of_llama_cpps_own_log(tmp_path: Path) -> None:
    """Qwen3-8B at 32768 cells: 4608 MiB in f16, 2448 in q8_0 (36 layers x 8 heads x 128, K and V)."""
    for flags, mib in (("", 4608), ("-ctk q8_0 -ctv q8_0", 2448), ("-ctk q8_0", 3528), ("-ctk q4_0 -ctv q4_0", 1296)):
        share = judged(tmp_path, SMALL + f"-c 32768 -np 1 {flags}").share
        assert share.request_bytes(32768).best == mib * 2**20


def test_cache_types_that_do_not_start(tmp_path: Path) -> None:
    image = "docker run ghcr.io/ggml-org/llama.cpp:server-cuda-b10236 "
    assert only(tmp_path, image + SMALL + "-c 4096 -ctk fp8\n", "KV415", host="rtx4090").level == "fail"
    assert only(tmp_path, START + SMALL + "-c 4096 -ctk turbo3\n", "KV415", host="rtx4090").level == "unknown", "a fork"
    assert only(tmp_path, START + SMALL + "-c 4096 -ctv q8_0 -fa off\n", "KV415", host="rtx4090").level == "fail"
    assert found(tmp_path, START + SMALL + "-c 4096 -ctk q8_0 -fa off\n", "KV415", host="rtx4090") == []


def test_layers_are_split_over_every_card(tmp_path: Path) -> None:
    eight = judged(tmp_path, "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192", "h100-server").deployment
    assert (eight.layout.tp, eight.layout.pp) == (1, 8)
    two = judged(tmp_path, "-m Llama-3.3-70B-Instruct-Q4_K_M.gguf -ngl 99 -c 8192 -ts 1,1", "h100-server").deployment
    assert two.layout.pp == 2


def test_experts_on_the_cpu(tmp_path: Path) -> None:
    model = "-m Qwen3-30B-A3B-Q8_0.gguf -ngl 99 -c 8192"
    assert levels(tmp_path, model)["KV101"] == "fail"
    half = judged(tmp_path, f"{model} -ncmoe 24")
    assert half.configured.id == "expert-offload"
    every = judged(tmp_path, f"{model} -cmoe").share.weights.best
    assert every < half.share.weights.best / 3
    assert judged(tmp_path, f"{model} -ot 'exps=CPU'").share.weights.best == every


def test_kv_in_host_memory(tmp_path: Path) -> None:
    found_one = judged(tmp_path, SMALL + "-c 40960 -np 1 -nkvo")
    assert found_one.configured.id == "offload-cpu-attention"
    assert found_one.share.request_bytes(40960).best == 0.0


def test_a_mix_of_its_own_is_known_less_well(tmp_path: Path) -> None:
    plain = judged(tmp_path, "-m gemma-4-31B-it-Q4_K_M.gguf -ngl 99 -c 4096").share.weights
    own = judged(tmp_path, "-m gemma-4-31B-it-qat-UD-Q4_K_XL.gguf -ngl 99 -c 4096").share.weights
    assert own.low <= 16.1e9 <= own.high, "its file has 16.1 GB"
    assert own.low < plain.low


def test_a_name_that_leaves_the_model_open(tmp_path: Path) -> None:
    item = only(tmp_path, START + "-m /m/ornith-1.0-9b-Q4_K_M.gguf -c 4096\n", "KV412", host="rtx4090")
    assert (item.level, "ornith-1.0-9b" in item.message, item.message.count("?")) == ("unknown", True, 1)
    bare = only(tmp_path, START + "-m /m/Qwen3-8B.gguf -c 4096\n", "KV412", host="rtx4090")
    assert "how are the weights" in bare.message


def test_a_hub_name_has_a_default_quantization(tmp_path: Path) -> None:
    deployment = judged(tmp_path, "-hf unsloth/Qwen3-8B-GGUF -c 4096").deployment
    assert deployment.settings.weights == "q4_k_m"


def test_ubatch_is_computed_at_a_time(tmp_path: Path) -> None:
    small = judged(tmp_path, SMALL + "-c 8192").share.overheads.best
    large = judged(tmp_path, SMALL + "-c 8192 -ub 2048").share.overheads.best
    assert large > small + 0.9e9


def test_gpt_oss_keeps_its_experts_as_they_are(tmp_path: Path) -> None:
    """gpt-oss-20b: 12.1 GB as MXFP4, 11.6 as Q4_K_M, 13.8 as F16 (files of the Hub)."""
    for name in ("mxfp4", "F16", "Q4_K_M"):
        weights = judged(tmp_path, f"-m gpt-oss-20b-{name}.gguf -ngl 99 -c 4096").share.weights
        assert 11e9 < weights.best < 14.5e9


OLLAMA = """FROM llama3.1:70b
PARAMETER num_ctx 8192
"""


def test_ollama_spills_instead_of_failing(tmp_path: Path) -> None:
    item = only(tmp_path, OLLAMA, "KV101", "Modelfile", "rtx4090")
    assert item.level == "warn"
    assert "the CPU takes the layers" in item.message
    assert found(tmp_path, OLLAMA, "KV101", "Modelfile", "h100-server") == []


def test_ollama_takes_no_more_cards_than_it_needs(tmp_path: Path) -> None:
    for tag, cards in (("qwen3:8b", 1), ("llama3.1:405b", 3)):
        context = checked(tmp_path, f"FROM {tag}\nPARAMETER num_ctx 4096\n", "Modelfile", "h100-server").deployments[0]
        assert context.context.judged is not None
        assert context.context.judged.deployment.layout.pp == cards


def test_ollamas_forced_layers_may_fail(tmp_path: Path) -> None:
    assert only(tmp_path, OLLAMA + "PARAMETER num_gpu 81\n", "KV101", "Modelfile", "rtx4090").level == "fail"
    assert found(tmp_path, OLLAMA + "PARAMETER num_gpu 25\n", "KV101", "Modelfile", "rtx4090") == []


def test_a_tag_that_the_library_does_not_have(tmp_path: Path) -> None:
    item = only(tmp_path, "FROM mine:latest\nPARAMETER num_ctx 4096\n", "KV412", "Modelfile", "rtx4090")
    assert item.level == "unknown"


POD = """apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
  - name: ollama
    image: ollama/ollama:0.33.0
    args: [run, "qwen3:8b"]
    env:
    - {{name: OLLAMA_CONTEXT_LENGTH, value: "32768"}}
{env}
"""


def ollama(**variables: str) -> str:
    """A pod of Ollama with these variables."""
    return POD.format(env="\n".join(f'    - {{name: {name}, value: "{text}"}}' for name, text in variables.items()))


def test_variables_without_effect(tmp_path: Path) -> None:
    item = only(tmp_path, ollama(OLLAMA_GPU_LAYERS="18"), "KV401", "pod.yaml", "rtx4090")
    assert (item.level, item.where.rsplit(":")[-1]) == ("warn", "11")
    assert only(tmp_path, ollama(OLLAMA_CTX_SIZE="18"), "KV401", "pod.yaml", "rtx4090").level == "warn"
    text = ollama(OLLAMA_KV_CACHE_TYPE="q8_0", OLLAMA_FLASH_ATTENTION="0")
    assert only(tmp_path, text, "KV416", "pod.yaml", "rtx4090").level == "warn"
    assert found(tmp_path, ollama(OLLAMA_KV_CACHE_TYPE="q8_0"), "KV416", "pod.yaml", "rtx4090") == []


def test_ollamas_cache_type(tmp_path: Path) -> None:
    """Qwen3-8B, 32768 cells: 4608 MiB in f16, 2448 in q8_0."""
    for flash, mib in (("1", 2448), ("0", 4608)):
        text = ollama(OLLAMA_KV_CACHE_TYPE="q8_0", OLLAMA_FLASH_ATTENTION=flash)
        context = checked(tmp_path, text, "pod.yaml", "rtx4090").deployments[0].context
        assert context.judged is not None
        assert context.judged.share is not None
        assert context.judged.share.request_bytes(32768).best == mib * 2**20


def test_memory_that_ollama_keeps_free(tmp_path: Path) -> None:
    def budget(**variables: str) -> float:
        context = checked(tmp_path, ollama(**variables), "pod.yaml", "rtx4090").deployments[0].context
        assert context.judged is not None
        assert context.judged.share is not None
        return context.judged.share.budget.best

    assert budget() - budget(OLLAMA_GPU_OVERHEAD="2147483648") == 2 * 2**30


def test_without_a_gpu_there_is_nowhere_to_go(tmp_path: Path) -> None:
    """ggml-org/llama.cpp#8101: n_ctx 1048576 on a host of 128 GiB asks for 137 GB of KV alone."""
    host = tmp_path / "host.toml"
    host.write_text('name = "box"\ncpu = "x"\ncpu_cores = 32\ndram_gib = 128\ndram_gb_per_s = 200\nsource = "test"\n')
    text = START + "-m Llama-3-8B-Instruct-Gradient-1048k-Q4_K_M.gguf -c 1048576 -np 1\n"
    item = only(tmp_path, text, "KV102", host=str(host))
    assert item.level == "fail"
    assert item.figures["needed_bytes"]["best"] == pytest.approx(137.4e9, rel=0.001)
