"""Ollama's library as data: what a model's name and size stand for. Source: ollama.com/library/NAME/tags, 2026.

``latest`` is the first size. Sizes without a name of their own go by the family's pattern. Tags without a quantization
are Q4_K_M in families of 2024 and later, Q4_0 in older ones, MXFP4 in gpt-oss.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Family(NamedTuple):
    """One name of the library."""

    pattern: str
    """The model's own name, with ``{size}``."""
    sizes: tuple[str, ...]
    """The first is ``latest``."""
    named: dict[str, str] = {}
    """Sizes whose model has another name."""
    quantization: str = "q4_k_m"
    """Of tags that state none; empty: as the model's makers store it."""


_OLD: Final = "q4_0"

FAMILIES: Final[dict[str, Family]] = {
    "llama2": Family("Llama-2-{size}", ("7b", "13b", "70b"), quantization=_OLD),
    "llama3": Family("Meta-Llama-3-{size}-Instruct", ("8b", "70b"), quantization=_OLD),
    "llama3.1": Family("Llama-3.1-{size}-Instruct", ("8b", "70b", "405b")),
    "llama3.2": Family("Llama-3.2-{size}-Instruct", ("3b", "1b")),
    "llama3.2-vision": Family("Llama-3.2-{size}-Vision-Instruct", ("11b", "90b")),
    "llama3.3": Family("Llama-3.3-{size}-Instruct", ("70b",)),
    "llama4": Family("", ("16x17b", "128x17b"),
                     {"scout": "Llama-4-Scout-17B-16E-Instruct", "16x17b": "Llama-4-Scout-17B-16E-Instruct",
                      "maverick": "Llama-4-Maverick-17B-128E-Instruct",
                      "128x17b": "Llama-4-Maverick-17B-128E-Instruct"}),
    "codellama": Family("CodeLlama-{size}-Instruct-hf", ("7b", "13b", "34b", "70b"), quantization=_OLD),
    "mistral": Family("Mistral-{size}-Instruct-v0.3", ("7b",)),
    "mistral-nemo": Family("Mistral-Nemo-Instruct-2407", ("12b",)),
    "mistral-small": Family("Mistral-Small-{size}-Instruct-2501", ("24b", "22b"),
                            {"22b": "Mistral-Small-Instruct-2409"}),
    "mistral-small3.1": Family("Mistral-Small-3.1-{size}-Instruct-2503", ("24b",)),
    "mistral-small3.2": Family("Mistral-Small-3.2-{size}-Instruct-2506", ("24b",)),
    "mistral-large": Family("Mistral-Large-Instruct-2411", ("123b",)),
    "mixtral": Family("Mixtral-{size}-Instruct-v0.1", ("8x7b", "8x22b"), quantization=_OLD),
    "devstral": Family("Devstral-Small-2507", ("24b",)),
    "magistral": Family("Magistral-Small-2506", ("24b",)),
    "qwen2": Family("Qwen2-{size}-Instruct", ("7b", "72b", "1.5b", "0.5b"), quantization=_OLD),
    "qwen2.5": Family("Qwen2.5-{size}-Instruct", ("7b", "72b", "32b", "14b", "3b", "1.5b", "0.5b")),
    "qwen2.5-coder": Family("Qwen2.5-Coder-{size}-Instruct", ("7b", "32b", "14b", "3b", "1.5b", "0.5b")),
    "qwen2.5vl": Family("Qwen2.5-VL-{size}-Instruct", ("7b", "72b", "32b", "3b")),
    "qwq": Family("QwQ-{size}", ("32b",)),
    "qwen3": Family("Qwen3-{size}", ("8b", "32b", "14b", "4b", "1.7b", "0.6b"),
                    {"30b": "Qwen3-30B-A3B", "30b-a3b": "Qwen3-30B-A3B", "235b": "Qwen3-235B-A22B",
                     "235b-a22b": "Qwen3-235B-A22B"}),
    "qwen3-coder": Family("", ("30b", "480b"),
                          {"30b": "Qwen3-Coder-30B-A3B-Instruct", "30b-a3b": "Qwen3-Coder-30B-A3B-Instruct",
                           "480b": "Qwen3-Coder-480B-A35B-Instruct"}),
    "qwen3-next": Family("", ("80b",), {"80b": "Qwen3-Next-80B-A3B-Instruct",
                                        "80b-a3b": "Qwen3-Next-80B-A3B-Instruct"}),
    "qwen3-vl": Family("Qwen3-VL-{size}-Instruct", ("8b", "32b", "4b", "2b"),
                       {"30b": "Qwen3-VL-30B-A3B-Instruct", "235b": "Qwen3-VL-235B-A22B-Instruct"}),
    "qwen3.5": Family("Qwen3.5-{size}", ("9b", "27b", "4b", "2b", "0.8b"),
                      {"35b": "Qwen3.5-35B-A3B", "35b-a3b": "Qwen3.5-35B-A3B", "122b": "Qwen3.5-122B-A10B",
                       "122b-a10b": "Qwen3.5-122B-A10B"}),
    "qwen3.6": Family("Qwen3.6-{size}", ("27b",), {"35b": "Qwen3.6-35B-A3B", "35b-a3b": "Qwen3.6-35B-A3B"}),
    "deepseek-r1": Family("DeepSeek-R1-Distill-Qwen-{size}", ("8b", "671b", "70b", "32b", "14b", "7b", "1.5b"),
                          {"8b": "DeepSeek-R1-0528-Qwen3-8B", "70b": "DeepSeek-R1-Distill-Llama-70B",
                           "671b": "DeepSeek-R1"}),
    "deepseek-v3": Family("DeepSeek-V3", ("671b",)),
    "deepseek-v3.1": Family("DeepSeek-V3.1", ("671b",)),
    "gemma2": Family("gemma-2-{size}-it", ("9b", "27b", "2b"), quantization=_OLD),
    "gemma3": Family("gemma-3-{size}-it", ("4b", "27b", "12b", "1b", "270m")),
    "gemma3n": Family("gemma-3n-{size}-it", ("e4b", "e2b")),
    "gemma4": Family("gemma-4-{size}-it", ("e4b", "e2b", "31b"), {"26b": "gemma-4-26B-A4B-it"}),
    "gpt-oss": Family("gpt-oss-{size}", ("20b", "120b"), quantization=""),
    "phi3": Family("", ("3.8b", "14b"), {"3.8b": "Phi-3-mini-128k-instruct", "14b": "Phi-3-medium-128k-instruct"},
                   quantization=_OLD),
    "phi4": Family("phi-4", ("14b",)),
    "phi4-mini": Family("Phi-4-mini-instruct", ("3.8b",)),
    "command-r": Family("c4ai-command-r-v01", ("35b",), quantization=_OLD),
    "command-r-plus": Family("c4ai-command-r-plus", ("104b",), quantization=_OLD),
    "command-a": Family("c4ai-command-a-03-2025", ("111b",)),
    "glm-4.7-flash": Family("GLM-4.7-Flash", ("30b",)),
    "smollm2": Family("SmolLM2-{size}-Instruct", ("1.7b", "360m", "135m")),
    "olmo2": Family("", ("7b", "13b"), {"7b": "OLMo-2-1124-7B-Instruct", "13b": "OLMo-2-1124-13B-Instruct"}),
    "tinyllama": Family("TinyLlama-{size}-Chat-v1.0", ("1.1b",), quantization=_OLD),
    "yi": Family("Yi-{size}-Chat", ("6b", "34b", "9b"), quantization=_OLD),
    "falcon": Family("falcon-{size}-instruct", ("7b", "40b", "180b"), quantization=_OLD),
    "falcon3": Family("Falcon3-{size}-Instruct", ("7b", "10b", "3b", "1b")),
}  # fmt: skip
"""Name of the library -> what it stands for."""
