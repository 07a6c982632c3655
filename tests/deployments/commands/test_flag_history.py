"""Flags by release. What releases have is read from their source packages; issues and pull requests say the same."""

from __future__ import annotations

import pytest

from kvplan.deployments.commands.flag_advice import CHANGED_DEFAULTS, INSTEAD
from kvplan.deployments.commands.flag_history import (
    Life,
    ignored_variables,
    life_of,
    not_there,
)
from kvplan.deployments.commands.sglang_flags import TABLE as SGLANG
from kvplan.deployments.commands.vllm_flags import TABLE as VLLM


@pytest.mark.parametrize(("engine", "flag", "life"), [
    ("vllm", "swap-space", Life(None, "0.18.0")), ("vllm", "speculative-model", Life(None, "0.8.3")),
    ("vllm", "kv-offloading-size", Life("0.11.1", None)), ("vllm", "max-model-len", Life(None, None)),
    ("vllm", "rope-scaling", Life("0.4.3", "0.11.1")), ("vllm", "num-scheduler-steps", Life("0.5.5", "0.10.1")),
    ("vllm", "kv-cache-memory-bytes", Life("0.10.2", None)), ("vllm", "guided-decoding-backend", Life(None, "0.11.0")),
    ("vllm", "language-model-only", Life("0.17.0", None)), ("sglang", "hicache-ratio", Life("0.4.6", None)),
    ("sglang", "cuda-graph-bs", Life("0.4.3", "0.5.20")), ("sglang", "mem-fraction-static", Life(None, None)),
    ("vllm", "never-was", None), ("ollama", "swap-space", None),
])  # fmt: skip
def test_lives(engine: str, flag: str, life: Life | None) -> None:
    """--swap-space went in 0.18.0 (vLLM pull request 36216), --kv-offloading-size came in 0.11.1."""
    assert life_of(engine, flag) == life


@pytest.mark.parametrize(("version", "flags"), [
    ("0.17.1", []), ("0.18.0", ["swap-space"]), ("0.18", ["swap-space"]), ("0.18.0rc1", ["swap-space"]),
    ("0.33", ["swap-space"]), ("0.10.2", ["kv-offloading-size"]), ("nightly", []),
])  # fmt: skip
def test_what_a_version_does_not_have(version: str, flags: list[str]) -> None:
    asked = ["swap-space", "kv-offloading-size", "max-model-len", "no-such-flag"]
    assert [item.flag for item in not_there("vllm", version, asked)] == flags


def test_the_beginning_of_one_flag_stands_for_it() -> None:
    """argparse takes a beginning that only one flag has: --model for --model-path, before SGLang 0.4.10 had both."""
    assert list(not_there("sglang", "0.4.2.post4", ["model"])) == []
    assert [item.flag for item in not_there("sglang", "0.4.2.post4", ["hicache-ratio"])] == ["hicache-ratio"]


def test_what_to_write_instead() -> None:
    gone = next(not_there("vllm", "0.11.1", ["rope-scaling"]))
    assert (gone.removed, gone.instead) == ("0.11.1", "rope_scaling in --hf-overrides")
    early = next(not_there("vllm", "0.9.1", ["kv-offloading-size"]))
    assert (early.removed, early.added, early.instead) == (None, "0.11.1", None)


def test_advice_is_about_flags_that_are_gone() -> None:
    for engine, advice in INSTEAD.items():
        for flag in advice:
            life = life_of(engine, flag)
            assert life is not None, flag
            assert life.removed is not None, flag


@pytest.mark.parametrize(("engine", "variables", "settings", "names"), [
    ("vllm", ["MAX_SEQUENCE_LENGTH", "HF_TOKEN"], [], ["MAX_SEQUENCE_LENGTH"]),
    ("vllm", ["MAX_SEQUENCE_LENGTH"], ["max_model_len"], []),
    ("vllm", ["VLLM_GPU_MEMORY_UTILIZATION", "VLLM_MAX_MODEL_LEN"], ["max_model_len"], ["VLLM_GPU_MEMORY_UTILIZATION"]),
    ("vllm", ["VLLM_PORT", "VLLM_USE_V1", "VLLM_CPU_KVCACHE_SPACE", "VLLM_API_KEY", "VLLM_HOST_IP"], [], []),
    ("vllm", ["LMCACHE_CONFIG_PATH"], ["kv_transfer_config"], ["LMCACHE_CONFIG_PATH"]),
    ("ollama", ["OLLAMA_GPU_LAYERS", "OLLAMA_NUM_PARALLEL"], [], ["OLLAMA_GPU_LAYERS"]),
    ("vllm", ["OLLAMA_GPU_LAYERS"], [], []), ("sglang", ["SGLANG_TP_SIZE"], [], ["SGLANG_TP_SIZE"]),
])  # fmt: skip
def test_variables_that_nothing_reads(engine: str, variables: list[str], settings: list[str], names: list[str]) -> None:
    """vLLM issue 10517: MAX_SEQUENCE_LENGTH=20000 left 131072 in force."""
    assert [item.name for item in ignored_variables(engine, variables, settings)] == names


def test_tables_have_what_the_releases_had() -> None:
    """335 argument definitions in vLLM 0.33.0, of which two are positional; aliases come beside them."""
    alive = [flag for flag in VLLM.flags if (life := life_of("vllm", flag)) and life.removed is None]
    assert 333 <= len(alive) <= 340
    assert len(SGLANG.flags) > 600


def test_defaults_that_changed_name_their_release() -> None:
    by_setting = {item.setting: item for item in CHANGED_DEFAULTS}
    assert (by_setting["gpu_memory_utilization"].since, by_setting["gpu_memory_utilization"].after) == ("0.20", "0.92")
