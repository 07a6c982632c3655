import pytest

from kvplan.deployments.quantized_names import unquantized

# Published checkpoints of the Hub
NAMES = {
    "Qwen/Qwen3-32B-AWQ": ("Qwen3-32B", "awq-int4"),
    "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic": ("Llama-3.3-70B-Instruct", "fp8"),
    "neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8": ("Meta-Llama-3.1-70B-Instruct", "fp8"),
    "amd/Llama-3.1-405B-Instruct-FP8-KV": ("Llama-3.1-405B-Instruct", "fp8"),
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16": ("Meta-Llama-3.1-8B-Instruct", "gptq-int4"),
    "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4": ("Qwen2.5-72B-Instruct", "gptq-int4"),
    "nvidia/Qwen3-32B-NVFP4": ("Qwen3-32B", "nvfp4"),
    "unsloth/phi-4-bnb-4bit": ("phi-4", "bnb-nf4"),
    "/models/DeepSeek-R1-BF16/": ("DeepSeek-R1", "bf16"),
    "Qwen/Qwen3-32B": None,
    "/data/chat": None,
    "org/model-FP8-mine": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_the_scheme_stands_behind_the_name(name: str) -> None:
    assert unquantized(name) == NAMES[name]
