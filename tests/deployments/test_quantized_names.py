"""Names of quantized checkpoints, as they stand on the Hub."""

import pytest

from kvplan.deployments.names.quantized import quantized_name

NAMES = {
    "nvidia/Qwen3.6-27B-NVFP4": ("Qwen3.6-27B", "nvfp4"),
    "nvidia/Llama-3.1-405B-Instruct-FP4": ("Llama-3.1-405B-Instruct", "nvfp4"),
    "RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic": ("Llama-3.1-8B-Instruct", "fp8"),
    "RedHatAI/gemma-4-31B-it-FP8-block": ("gemma-4-31B-it", "fp8"),
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16": ("Meta-Llama-3.1-8B-Instruct", "gptq-int4"),
    "RedHatAI/Qwen2.5-7B-Instruct-quantized.w8a8": ("Qwen2.5-7B-Instruct", "int8"),
    "Qwen/Qwen3-32B-AWQ": ("Qwen3-32B", "awq-int4"),
    "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4": ("Qwen2.5-7B-Instruct", "gptq-int4"),
    "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8": ("Qwen2.5-7B-Instruct", "int8"),
    "unsloth/Llama-3.1-8B-Instruct-bnb-4bit": ("Llama-3.1-8B-Instruct", "bnb-nf4"),
    "unsloth/DeepSeek-R1-BF16": ("DeepSeek-R1", "bf16"),
    "/models/Qwen3.8-27B-W4A16-AutoRound": ("Qwen3.8-27B", "gptq-int4"),
}


@pytest.mark.parametrize("name", NAMES)
def test_base_and_scheme(name: str) -> None:
    assert quantized_name(name) == NAMES[name]


@pytest.mark.parametrize(
    "name", ["Qwen/Qwen3-32B", "org/FP8", "org/AWQ", "Qwen3-8B-FP8ish", "", "/", "a-b", "Int4Bench-7B"]
)
def test_other_names(name: str) -> None:
    assert quantized_name(name) is None
