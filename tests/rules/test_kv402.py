from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.rules.kv402_version_defects import NOTES, check
from kvplan.rules.look_up import look_up
from kvplan.rules.which_host import Around

HERE = Place("serve.yaml", 1)


def levels(engine: str, *settings: tuple[str, str | int]) -> list[str]:
    given = {name: Setting(name, value, HERE) for name, value in (*settings, ("engine", engine))}
    found = FoundDeployment("a", "trtllm-config", HERE, given, engine="tensorrt-llm")
    return [item.level for item in check(look_up(found, Around("gb300-node")))]


@pytest.mark.parametrize("engine", ["tensorrt-llm@1.3.0", "tensorrt-llm"])
def test_a_host_tier_that_nobody_asked_for(engine: str) -> None:
    """NVIDIA/TensorRT-LLM#16106: 4 ranks x 161 to 173 GiB on a node with 440 GiB free."""
    manager = ("use_kv_cache_manager_v2", "true")
    assert levels(engine, ("model", "deepseek-r1"), ("tp", 4), manager) == ["warn"]
    assert levels(engine, ("model", "deepseek-r1"), ("tp", 4), manager, ("host_cache_bytes_per_rank", 2**34)) == []
    assert levels(engine, ("model", "deepseek-r1"), ("tp", 4), ("use_kv_cache_manager_v2", "false")) == []


def test_other_engines_are_not_concerned() -> None:
    found = FoundDeployment("a", "shell", HERE, {"model": Setting("model", "gemma3-27b", HERE)}, engine="vllm")
    assert list(check(look_up(found, Around("h100-server")))) == []
    assert list(check(look_up(replace(found, engine="tensorrt-llm"), Around("h100-server")))) != []


def test_every_note_has_its_link(tmp_path: Path) -> None:
    assert all(note.source.startswith("https://") for note in NOTES)
