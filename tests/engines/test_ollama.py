"""ollama: llama-server with arguments of its own, held to what ollama's source passes and users saw."""

from __future__ import annotations

import pytest

from kvplan.assess import build_frame
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.engines import find_engine
from kvplan.errors import InputError
from tests.engines.kit import judged, line, policy_of

MIB = 2**20


@pytest.mark.parametrize("version", ["0.29", "0.12.3", "0.34", "1.0"])
def test_releases_with_other_runners_or_unseen_are_refused(version: str) -> None:
    with pytest.raises(InputError, match="not modelled"):
        find_engine("ollama").resolve_version(version)
    assert find_engine("ollama").resolve_version("0.32.15") == "0.32.15"


def test_the_context_of_a_slot_is_multiplied_by_the_slots() -> None:
    # ollama issue 14116: 32768 x 4 on 24 GiB allocates 131072 KV tokens; 128 KiB each for an 8B model
    found = judged("hbm", host="rtx4090", engine="ollama", weights="q4_k_m", context=32768, users=4)
    kv = next(part.value for part in found.strategies[0].budgets["hbm"].parts if part.name == "kv")
    assert kv == 131072 * 128 * 1024


def test_layer_fitting_leaves_a_gibibyte() -> None:
    ollama, server = (policy_of(host="rtx4090", engine=name).budget.bytes for name in ("ollama", "llama.cpp"))
    assert server.best - ollama.best == 1024 * MIB


@pytest.mark.parametrize(
    ("context", "users", "tokens"), [(4096, 1, 512), (8192, 1, 1024), (32768, 1, 1024), (16384, 4, 2048)]
)
def test_the_micro_batch_grows_with_all_slots(context: int, users: int, tokens: int) -> None:
    # sched.go: 512 to 4096 tokens, 1024 to 32768, 2048 above, where 75 and 60 % of the device suffice
    policy = policy_of(host="rtx4090", engine="ollama", weights="q4_k_m", context=context, users=users)
    assert policy.prefill_chunk_tokens == tokens
    assert policy.activation.bytes.best == tokens * (4 * 128256 + 8 * 4096)


def test_a_full_device_keeps_the_small_micro_batch() -> None:
    assert policy_of(host="rtx4090", engine="ollama", context=32768).prefill_chunk_tokens == 512


def test_the_lines_to_paste() -> None:
    words = {"host": "rtx4090", "engine": "ollama", "weights": "q4_k_m", "context": 32768, "users": 4}
    start = "OLLAMA_CONTEXT_LENGTH=32768 OLLAMA_NUM_PARALLEL=4 OLLAMA_FLASH_ATTENTION=1"
    assert line("hbm", **words) == f"{start} ollama serve"
    assert line("kv-q8_0", **words) == f"{start} OLLAMA_KV_CACHE_TYPE=q8_0 ollama serve"
    assert line("offload-cpu-attention", **words) == f"{start} LLAMA_ARG_NO_KV_OFFLOAD=1 ollama serve"
    assert line("weight-offload", **words) == f"{start} ollama serve"
    two = line("hbm", **{**words, "host": "rtx4090-2x"})
    assert two is not None and "OLLAMA_SCHED_SPREAD=1" in two


def test_architectures_that_ollama_serves_one_at_a_time_say_so() -> None:
    host, model = load_host("rtx4090"), load_model("llama3-8b")
    for kind, at_a_time in (("llama", False), ("qwen3_next", True), ("qwen3_5_moe", True)):
        deployment = resolve_on(Words(engine="ollama", users=4), model._replace(model_type=kind), host)
        warnings = build_frame(deployment).situation.policy.warnings
        assert any("one request" in text for text in warnings) is at_a_time
