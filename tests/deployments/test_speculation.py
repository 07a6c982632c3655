"""What drafting tokens adds to the KV cache."""

from __future__ import annotations

import pytest

import kvplan
from kvplan.errors import InputError

LATENT = 2 * (512 + 64)
MTP = '{"method": "deepseek_mtp", "num_speculative_tokens": 1}'


def token_bytes(model: str, config: str | None) -> int:
    found = kvplan.kv(model=model, speculative_config=config).to_json()
    return int(found["kv_bytes_per_token"])


def test_mtp_layers_cache_only_while_they_draft() -> None:
    assert token_bytes("deepseek-v3", None) == 61 * LATENT
    assert token_bytes("deepseek-v3", MTP) == 62 * LATENT


@pytest.mark.parametrize("config", ['{"method": "ngram"}', "[ngram]", '{"method": "suffix"}'])
def test_drafts_without_weights_cache_nothing(config: str) -> None:
    assert token_bytes("deepseek-v3", config) == 61 * LATENT


def test_a_model_without_mtp_layers_is_told_so() -> None:
    with pytest.raises(InputError, match="has no MTP layers"):
        token_bytes("llama3-8b", MTP)


def test_a_draft_model_is_said_to_be_missing() -> None:
    warnings = kvplan.kv(model="llama3-8b", speculative_config='{"model": "a/draft"}').to_json()["warnings"]
    assert any("draft model's weights and KV are not counted" in text for text in warnings)


@pytest.mark.parametrize("config", ["[1]", "3"])
def test_what_is_no_config_is_one_line(config: str) -> None:
    with pytest.raises(InputError, match="must be a JSON object"):
        token_bytes("llama3-8b", config)
