"""Names of GGUF files and Ollama tags: which model of the catalog, how its weights are stored, or a question."""

import pytest

from kvplan.catalog.models import model_table
from kvplan.deployments.names.gguf import CatalogNames, catalog_name, gguf_name
from kvplan.deployments.names.ollama import ollama_name

NAMES = CatalogNames(model_table())

FILES = {
    "/models/Qwen3-8B-Q4_K_M.gguf": ("qwen3-8b", "q4_k_m", True),
    "unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL": ("qwen3-8b", "q4_k_m", False),
    "ggml-org/gemma-3-4b-it-GGUF:Q8_0": ("gemma3-4b", "q8_0", True),
    "hf.co/bartowski/Llama-3.3-70B-Instruct-GGUF:Q5_K_M": ("llama3.3-70b", "q5_k_m", True),
    "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf": ("llama3-8b", "q4_k_m", True),
    "llama-2-7b-chat.Q4_K_M.gguf": ("llama2-7b", "q4_k_m", True),
    "gpt-oss-120b-mxfp4-00001-of-00003.gguf": ("gpt-oss-120b", "mxfp4", True),
    "gemma-4-31B-it-QAT-Q4_0.gguf": ("gemma4-31b", "q4_0", False),
    "gemma-4-26B-A4B-it-UD-IQ4_XS.gguf": ("gemma4-26b-a4b", "iq4_xs", False),
    "/m/unsloth_GLM-4.7-Flash-GGUF_GLM-4.7-Flash-Q4_K_M.gguf": ("glm-4.7-flash", "q4_k_m", True),
    "Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf": ("qwen3-30b-a3b-2507", "q4_k_m", True),
    "DeepSeek-R1-0528-Q2_K-00001-of-00006.gguf": ("deepseek-r1", "q2_k", True),
    "Qwen3-8B-F16.gguf": ("qwen3-8b", "fp16", True),
    "Qwen3-8B-BF16.gguf": ("qwen3-8b", "bf16", True),
}


@pytest.mark.parametrize("text", FILES)
def test_files(text: str) -> None:
    named = gguf_name(text)
    assert (catalog_name(named, NAMES)[0], named.scheme, named.exact) == FILES[text]


@pytest.mark.parametrize("text", ["Agents-A1-Q4_K_M.gguf", "model.gguf", "ornith-1.0-9b-Q4_K_M.gguf", "org/thing:Q8_0"])
def test_names_that_no_catalog_has_are_no_guess(text: str) -> None:
    assert catalog_name(gguf_name(text), NAMES) == (None, [])


def test_a_name_without_a_quantization_says_nothing_about_the_weights() -> None:
    named = gguf_name("/models/Qwen3-8B.gguf")
    assert (named.scheme, named.quantization, named.exact) == (None, "", False)


def test_an_unknown_mix_is_kept_as_written() -> None:
    named = gguf_name("Qwen3-8B-Q4_1.gguf")
    assert named.quantization == "Q4_1"


TAGS = {
    "llama3.1:70b": ("llama3-70b", "q4_k_m"),
    "llama3.1": ("llama3-8b", "q4_k_m"),
    "llama3:8b-instruct-q4_K_M": ("meta-llama/Meta-Llama-3-8B-Instruct", "q4_k_m"),
    "llama3": ("meta-llama/Meta-Llama-3-8B-Instruct", "q4_0"),
    "qwen3:8b-q4_K_M": ("qwen3-8b", "q4_k_m"),
    "qwen3:latest": ("qwen3-8b", "q4_k_m"),
    "qwen3:30b-a3b-instruct-2507-q8_0": ("qwen3-30b-a3b-2507", "q8_0"),
    "gemma3:27b-it-qat": ("gemma3-27b", "q4_k_m"),
    "gpt-oss:20b": ("gpt-oss-20b", None),
    "llama3.2:3b-instruct-fp16": ("llama3.2-3b", "fp16"),
    "deepseek-r1:70b": ("deepseek-r1-distill-llama-70b", "q4_k_m"),
    "hf.co/unsloth/Qwen3-8B-GGUF:Q8_0": ("qwen3-8b", "q8_0"),
    "./Qwen3-8B-Q4_K_M.gguf": ("qwen3-8b", "q4_k_m"),
    "library/qwen3:32b": ("qwen3-32b", "q4_k_m"),
}


@pytest.mark.parametrize("tag", TAGS)
def test_tags(tag: str) -> None:
    named = ollama_name(tag)
    assert named is not None
    assert (catalog_name(named, NAMES)[0], named.scheme) == TAGS[tag]


@pytest.mark.parametrize("tag", ["mymodel", "user/llama3", "bge-m3", "qwen3:9000b", "llama3.1:8b-mystery", "", ":"])
def test_tags_that_the_library_does_not_have(tag: str) -> None:
    assert ollama_name(tag) is None
