from pathlib import Path

from tests.rules.kit import checked, found, only, pod, serve

LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"


def test_more_ranks_than_gpus(tmp_path: Path) -> None:
    item = only(tmp_path, serve(f"{LLAMA} -tp 8 -pp 2"), "KV301", host="h100-server")
    assert item.level == "fail"
    assert "16 GPUs" in item.message
    assert found(tmp_path, serve(f"{LLAMA} -tp 4 -pp 2"), "KV301", host="h100-server") == []


def test_heads_that_do_not_divide(tmp_path: Path) -> None:
    """Qwen2.5-7B has 28 attention heads: 8 ranks can't share them, 4 can."""
    qwen = "Qwen/Qwen2.5-7B-Instruct --max-model-len 8192"
    item = only(tmp_path, serve(f"{qwen} --tensor-parallel-size 8"), "KV301", host="h100-server")
    assert item.level == "fail"
    assert item.remedy == "--tensor-parallel-size 4"
    assert found(tmp_path, serve(f"{qwen} {item.remedy}"), "KV301", host="h100-server") == []


def test_a_pod_that_asks_for_more_gpus_than_the_host_has(tmp_path: Path) -> None:
    text = pod("--model=meta-llama/Llama-3.1-8B-Instruct", "nvidia.com/gpu: 8")
    assert only(tmp_path, text, "KV301", "pod.yaml", host="l40s-4x").level == "fail"


def test_idle_gpus_are_a_warning(tmp_path: Path) -> None:
    """GKE NeMo-RL and llm-d storage samples: 8 (4) GPUs requested, tp 4 (2)."""
    args = "--model=google/gemma-3-27b-it\n--max-model-len=4096\n--tensor-parallel-size=4"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 8"), "KV301", "pod.yaml", host="h100-server")
    assert item.level == "warn"
    assert found(tmp_path, pod(args, "nvidia.com/gpu: 4"), "KV301", "pod.yaml", host="h100-server") == []


def test_devices_named_by_a_variable_are_the_gpus(tmp_path: Path) -> None:
    text = f"CUDA_VISIBLE_DEVICES=0,1 vllm serve {LLAMA} -tp 4\n"
    assert only(tmp_path, text, "KV301", host="h100-server").level == "fail"
    assert found(tmp_path, text.replace("0,1", "0,1,2,3"), "KV301", host="h100-server") == []


def test_absurd_counts_are_one_line(tmp_path: Path) -> None:
    huge = serve("openai/gpt-oss-120b --max-model-len 8192 -tp 1000000", "0.19.0")
    assert only(tmp_path, huge, "KV301", host="h100-server").level == "fail"
    label = pod("--model=meta-llama/Llama-3.1-8B-Instruct", "nvidia.com/gpu: 999999999").replace(
        "  containers:", "  nodeSelector:\n    nvidia.com/gpu.product: NVIDIA-L4\n  containers:"
    )
    assert only(tmp_path, label, "KV411", "pod.yaml").level == "unknown"


def test_a_layout_that_cannot_start_is_the_only_failure(tmp_path: Path) -> None:
    result = checked(tmp_path, serve("meta-llama/Llama-3.1-70B-Instruct -tp 16"), host="h100-server")
    assert [item.rule for item in result.findings if item.level == "fail"] == ["KV301"]


def test_an_idle_gpu_that_the_model_needs_fails(tmp_path: Path) -> None:
    """xusenlinzy/api-for-open-llm#259: two GPUs given, one rank; 28 GB of weights on cards of 24."""
    args = "--model=Qwen/Qwen2.5-14B-Instruct\n--max-model-len=8192"
    item = only(tmp_path, pod(args, "nvidia.com/gpu: 2"), "KV301", "pod.yaml", "rtx4090-2x")
    assert (item.level, item.remedy) == ("fail", "--tensor-parallel-size 2")
    both = pod(f"{args}\n{item.remedy.replace(' ', '=')}", "nvidia.com/gpu: 2")
    assert found(tmp_path, both, "KV301", "pod.yaml", "rtx4090-2x") == []


def test_counts_speak_without_a_model_or_a_host(tmp_path: Path) -> None:
    args = "--model=/models/own"
    assert only(tmp_path, pod(args, "nvidia.com/gpu: 2"), "KV301", "pod.yaml").level == "warn"
    few = f"{args}\n--tensor-parallel-size=4"
    assert only(tmp_path, pod(few, "nvidia.com/gpu: 2"), "KV301", "pod.yaml").level == "fail"
    assert found(tmp_path, pod(few, "nvidia.com/gpu: 4"), "KV301", "pod.yaml") == []


def test_ranks_in_other_containers_are_asked_for(tmp_path: Path) -> None:
    """With Ray the ranks may be anywhere: that is no failure of this container."""
    args = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192\n--tensor-parallel-size=4"
    ray = f"{args}\n--distributed-executor-backend=ray"
    assert only(tmp_path, pod(args, "nvidia.com/gpu: 2"), "KV301", "pod.yaml", "h100-server").level == "fail"
    assert only(tmp_path, pod(ray, "nvidia.com/gpu: 2"), "KV301", "pod.yaml", "h100-server").level == "unknown"
    assert found(tmp_path, pod(ray.replace("llama/L", "x/y"), "nvidia.com/gpu: 2"), "KV301", "pod.yaml") == []
