from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, pod, serve

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def test_a_variable_without_a_value(tmp_path: Path) -> None:
    item = only(tmp_path, f"vllm serve {LLAMA} \\\n  -tp $TP\n", "KV412", host="h100-server")
    assert item.level == "unknown"
    assert item.where.endswith(":2")
    assert "$TP" in item.message
    assert found(tmp_path, f"TP=2\nvllm serve {LLAMA} -tp $TP\n", "KV412", host="h100-server") == []


def test_what_does_not_depend_on_it_is_still_judged(tmp_path: Path) -> None:
    """Weights fit or not whatever the length; the length itself is not judged."""
    text = "vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len $LEN\n"
    rules = {item.rule for item in checked(tmp_path, text, host="h100-server").findings}
    assert {"KV101", "KV412"} <= rules
    assert "KV102" not in rules


def test_what_depends_on_it_is_not(tmp_path: Path) -> None:
    text = "vllm serve meta-llama/Llama-3.1-70B-Instruct -tp $TP\n"
    assert {item.level for item in checked(tmp_path, text, host="h100-server").findings} <= {"unknown", "info"}


def test_a_model_that_no_catalog_has(tmp_path: Path) -> None:
    item = only(tmp_path, serve("acme/secret-7b"), "KV412", host="h100-server")
    assert item.level == "unknown"


def test_a_model_path_that_exists_only_in_the_container(tmp_path: Path) -> None:
    assert only(tmp_path, serve("/models/llama-3"), "KV412", host="h100-server").level == "unknown"


@pytest.mark.parametrize("written", ["'{{ .gpus }}'", "{{ .gpus }}", "$(GPUS)"])
def test_gpus_that_are_filled_in_later(tmp_path: Path, written: str) -> None:
    text = pod("--model=llama3-8b", f"nvidia.com/gpu: {written}")
    item = only(tmp_path, text, "KV412", "pod.yaml", "h100-server")
    assert (item.level, item.where.rsplit(":", 1)[1]) == ("unknown", "12")


def test_one_variable_is_one_question(tmp_path: Path) -> None:
    text = serve("llama3-8b --max-model-len $SOME --max-num-batched-tokens $SOME", "0.19.0")
    item = only(tmp_path, text, "KV412", host="h100-server")
    assert "max_model_len, max_num_batched_tokens" in item.message


def test_what_fails_whatever_the_answer_is(tmp_path: Path) -> None:
    """140 GB of weights fit on no card of 80 GB, however much of it vLLM may take."""
    flags = "meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192 --gpu-memory-utilization $SHARE"
    result = checked(tmp_path, serve(flags, "0.19.0"), host="h100-server")
    levels = {item.rule: item.level for item in result.findings}
    assert levels == {"KV412": "unknown", "KV101": "fail"}
    small = flags.replace("Llama-3.1-70B", "Llama-3.1-8B")
    assert found(tmp_path, serve(small, "0.19.0"), "KV101", host="h100-server") == []


def test_a_path_that_is_called_after_a_model(tmp_path: Path) -> None:
    item = only(tmp_path, serve("/models/Qwen3-32B --max-model-len 8192", "0.19.0"), "KV412", host="h100-server")
    assert (item.level, "Qwen3-32B by its name" in item.message) == ("info", True)
    hub = "/root/.cache/huggingface/hub/models--Qwen--Qwen3-32B/snapshots/9216db5781bf21249d130ec9da846c4624c16137"
    assert only(tmp_path, serve(f"{hub} --max-model-len 8192", "0.19.0"), "KV412", host="h100-server").level == "info"
    for path in ("/models/own", "/models/Qwen3-32B-mine", "/data/chat"):
        assert only(tmp_path, serve(path, "0.19.0"), "KV412", host="h100-server").level == "unknown"


def test_a_quantized_checkpoint_by_its_name(tmp_path: Path) -> None:
    """The Hub's Qwen3-32B-AWQ has 19.3 GB of files, RedHatAI's Meta-Llama-3.1-70B-Instruct-FP8 some 70."""
    for name, least, most in (
        ("nobody/Qwen3-32B-AWQ", 17.5e9, 20.5e9),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8", 68e9, 74e9),
    ):
        result = checked(tmp_path, serve(f"{name} --max-model-len 4096 -tp 2", "0.19.0"), host="h100-server")
        said = next(item for item in result.findings if item.rule == "KV412")
        assert (said.level, "by its name" in said.message) == ("info", True)
        judged = result.deployments[0].context.judged
        assert judged is not None and judged.share is not None
        assert least < 2 * judged.share.weights.best < most


def test_a_copy_under_another_owner(tmp_path: Path) -> None:
    item = only(tmp_path, serve("somebody/gpt-oss-20b --max-model-len 8192", "0.19.0"), "KV412", host="h100-server")
    assert (item.level, "gpt-oss-20b by its name" in item.message) == ("info", True)
    text = serve("somebody/gpt-oss-20b-tuned --max-model-len 8192", "0.19.0")
    assert only(tmp_path, text, "KV412", host="h100-server").level == "unknown"


def test_a_quantized_checkpoint_is_known_by_its_name(tmp_path: Path) -> None:
    """Its weights are lighter than the model's, and known less well; the base must be in the catalog."""
    for name in ("nvidia/Qwen3-32B-NVFP4", "/models/Qwen3-32B-NVFP4"):
        text = serve(f"{name} --quantization modelopt --max-model-len 8192", "0.19.0")
        item = only(tmp_path, text, "KV412", host="rtx5090")
        assert (item.level, "Qwen3-32B with nvfp4 weights" in item.message) == ("info", True)
        assert found(tmp_path, text, "KV101", host="rtx5090") == []
    bf16 = serve("Qwen/Qwen3-32B --max-model-len 8192", "0.19.0")
    assert only(tmp_path, bf16, "KV101", host="rtx5090").level == "fail"
    heavy = serve("org/Qwen3-32B-FP8 --max-model-len 8192", "0.19.0")
    assert only(tmp_path, heavy, "KV101", host="rtx4090").level == "fail"
    assert only(tmp_path, serve("org/Nothing-1B-FP8", "0.19.0"), "KV412", host="rtx4090").level == "unknown"
