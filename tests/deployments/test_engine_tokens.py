"""Counts as each engine's own parser reads them."""

from __future__ import annotations

import pytest

from kvplan.deployments.engine_tokens import parse_engine_tokens
from kvplan.errors import InputError


@pytest.mark.parametrize(("engine", "text", "tokens"), [
    ("vllm", "32k", 32000), ("vllm", "32K", 32768), ("vllm", "25.6k", 25600), ("vllm", "1T", 2**40),
    ("sglang", "32k", 32000), ("sglang", "32Ki", 32768), ("sglang", "1M", 10**6), ("tensorrt-llm", "8192", 8192),
])  # fmt: skip
def test_counts(engine: str, text: str, tokens: int) -> None:
    """The examples in the docstrings of human_readable_int of both engines."""
    assert parse_engine_tokens(engine, text, "--x") == tokens


@pytest.mark.parametrize(
    ("engine", "text"), [("sglang", "32K"), ("tensorrt-llm", "8k"), ("vllm", "8Ki"), ("vllm", "-3")]
)
def test_what_the_engine_refuses(engine: str, text: str) -> None:
    with pytest.raises(InputError, match="--x must"):
        parse_engine_tokens(engine, text, "--x")
