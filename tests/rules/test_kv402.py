from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.rules.kv402_version_defects import NOTES, check
from kvplan.rules.look_up import look_up
from kvplan.rules.which_host import Around
from tests.rules.kit import found, only, serve

HERE = Place("serve.yaml", 1)


def levels(engine: str, *settings: tuple[str, str | int]) -> list[str]:
    given = {name: Setting(name, value, HERE) for name, value in (*settings, ("engine", engine))}
    given_deployment = FoundDeployment("a", "trtllm-config", HERE, given, engine="tensorrt-llm")
    return [item.level for item in check(look_up(given_deployment, Around("gb300-node")))]


@pytest.mark.parametrize("engine", ["tensorrt-llm@1.3.0", "tensorrt-llm"])
def test_a_host_tier_that_nobody_asked_for(engine: str) -> None:
    """NVIDIA/TensorRT-LLM#16106: 4 ranks x 161 to 173 GiB on a node with 440 GiB free."""
    manager = ("use_kv_cache_manager_v2", "true")
    assert levels(engine, ("model", "deepseek-r1"), ("tp", 4), manager) == ["warn"]
    assert levels(engine, ("model", "deepseek-r1"), ("tp", 4), manager, ("host_cache_bytes_per_rank", 2**34)) == []
    assert levels(engine, ("model", "deepseek-r1"), ("tp", 4), ("use_kv_cache_manager_v2", "false")) == []


def test_other_engines_are_not_concerned() -> None:
    other = FoundDeployment("a", "shell", HERE, {"model": Setting("model", "gemma3-27b", HERE)}, engine="vllm")
    assert list(check(look_up(other, Around("h100-server")))) == []
    assert list(check(look_up(replace(other, engine="tensorrt-llm"), Around("h100-server")))) != []


def test_every_note_has_its_link(tmp_path: Path) -> None:
    assert all(note.source.startswith("https://") for note in NOTES)


def test_a_default_that_changed_and_a_version_that_nobody_named(tmp_path: Path) -> None:
    """vLLM 0.20 takes 0.92 of a card where 0.19 took 0.9: near the edge the verdict hangs on the version."""
    flags = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 114000"
    item = only(tmp_path, serve(flags, None), "KV402", host="rtx5090")
    assert (item.level, "before vllm 0.20, 0.9, it fails" in item.message) == ("warn", True)
    for other in (serve(flags, "0.33.0"), serve(f"{flags} --gpu-memory-utilization 0.92", None),
                  serve(flags.replace("114000", "32000"), None)):  # fmt: skip
        assert found(tmp_path, other, "KV402", host="rtx5090") == []


def test_a_setting_that_came_to_mean_something_else(tmp_path: Path) -> None:
    extra = '"kv_connector_extra_config":{"cpu_bytes_to_use":1000000000}'
    connector = f'\'{{"kv_connector":"OffloadingConnector","kv_role":"kv_both",{extra}}}\''
    flags = f"google/gemma-3-27b-it --max-model-len 8192 --kv-transfer-config {connector}"
    assert "hybrid KV manager" in only(tmp_path, serve(flags, None), "KV402", host="h100-server").message
    assert found(tmp_path, serve(flags, "0.19.0"), "KV402", host="h100-server") == []
    full = flags.replace("google/gemma-3-27b-it", "llama3-8b")
    assert found(tmp_path, serve(full, None), "KV402", host="h100-server") == []
