"""Remedies are changes that work when they are made."""

from __future__ import annotations

import shlex

import pytest

from kvplan.assess import assess
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.remedy import Remedy
from kvplan.remedies import find_remedies

FLAGS = {"--gpus": "gpus", "--weights": "weights", "--users": "users", "--context": "context", "--itl-ms": "itl_ms",
         "--host": "host"}  # fmt: skip
NUMBERS = {"gpus": int, "users": int, "itl_ms": float}


def remedies_of(**words: object) -> list[Remedy]:
    return find_remedies(assess(resolve(Words(**words))))  # type: ignore[arg-type]


def applied(change: str, words: dict[str, object]) -> dict[str, object]:
    parts = shlex.split(change)
    named = {FLAGS[flag]: value for flag, value in zip(parts[::2], parts[1::2], strict=True)}
    return {**words, **{name: NUMBERS.get(name, str)(value) for name, value in named.items()}}


CASES = [
    {"model": "llama3-70b", "host": "rtx4090", "context": "32k"},
    {"model": "llama3-70b", "host": "m4-max", "context": "32k"},
    {"model": "llama3-8b", "host": "rtx4090", "context": "128k", "users": 4},
    {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": "128k", "users": 400},
    {"model": "qwen3-32b", "host": "rtx4090", "context": "32k"},
    {"model": "llama3-70b", "host": "m4-pro", "context": "8k", "engine": "mlx", "itl_ms": 200.0},
    {"model": "llama3-70b", "host": "rtx4090", "context": "16k", "engine": "ollama"},
]


@pytest.mark.parametrize("words", CASES, ids=lambda words: f"{words['model']}-{words['host']}")
def test_a_remedy_works_when_it_is_applied(words: dict[str, object]) -> None:
    found = remedies_of(**words)
    assert found
    for remedy in found:
        if not remedy.works or not remedy.change.startswith("--"):
            continue
        again = assess(resolve(Words(**applied(remedy.change, words))))  # type: ignore[arg-type]
        assert again.verdict.outcome in ("fits", "tight"), remedy.change
        assert again.strategy(remedy.strategy).works


def test_weights_that_do_not_fit_are_offered_more_gpus_offload_and_another_host() -> None:
    changes = [remedy.change for remedy in remedies_of(model="llama3-70b", host="rtx4090")]
    assert any(" x RTX 4090" in change for change in changes)
    assert any("weight-offload" in change and "tokens/s" in change for change in changes)
    assert any(change.startswith("--host ") for change in changes)


def test_lower_weight_precision_is_offered_where_it_helps() -> None:
    changes = [remedy.change for remedy in remedies_of(model="qwen3-32b", host="rtx4090", context="16k")]
    assert any(change.startswith("--weights ") for change in changes)


def test_fewer_users_and_a_smaller_context_are_offered() -> None:
    found = remedies_of(model="llama3-8b", host="h100-server", gpus=1, context="128k", users=400)
    changes = [remedy.change for remedy in found]
    assert any(change.startswith("--context ") for change in changes)
    assert any(change.startswith("--users ") for change in changes)


def test_weight_offload_is_never_called_a_remedy_when_it_is_too_slow() -> None:
    offload = [
        remedy for remedy in remedies_of(model="llama3-70b", host="rtx4090") if "weight-offload" in remedy.change
    ]
    assert offload and not offload[0].works


def test_a_yes_without_loss_needs_no_remedy() -> None:
    assert remedies_of(model="llama3-8b", host="h100-server", context="8k") == []


def test_a_yes_with_a_loss_is_offered_an_exact_way() -> None:
    found = remedies_of(model="llama3-8b", host="h100-server", gpus=1, context="128k", users=8)
    assert "--users 3" in [remedy.change for remedy in found]
