"""Methods of KV that is in HBM or comes back to it: Quest, and the ways to reload."""

from __future__ import annotations

from typing import Any

import kvplan

SHORT = {"model": "llama2-7b", "host": "rtx-6000-ada", "gpus": 1, "context": 4096}
KEPT = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": "64k", "prefix_hit_fraction": 0.9}


def rows(**words: Any) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in kvplan.fit(**words).to_json()["strategies"]}


def test_quest_reads_less_and_keeps_more() -> None:
    long = {"model": "llama3-8b", "host": "a100-server", "gpus": 1, "context": "64k", "users": 4}
    plain, quest = (rows(**long, **more)["hbm"] for more in ({}, {"method": "quest"}))
    assert (plain["method"], quest["method"]) == (None, "quest")
    assert quest["itl_s"]["best"] < 0.75 * plain["itl_s"]["best"]
    parts = [{part["name"]: part["value"] for part in row["budgets"]["hbm"]["parts"]} for row in (plain, quest)]
    assert 1.05 < parts[1]["kv"] / parts[0]["kv"] < 1.0625
    assert quest["flags"] is None
    assert "prototype" in quest["notes"][0]
    assert quest["accuracy"]["loss_points"]["high"] > 0.0


def test_quest_changes_nothing_else() -> None:
    plain, quest = rows(**SHORT), rows(**SHORT, method="quest")
    assert {name for name in plain if plain[name] != quest[name]} == {"hbm"}


def test_latents_have_no_keys_of_heads_to_choose_by() -> None:
    row = rows(model="deepseek-v2-lite", host="h100-server", gpus=1, context=8192, method="quest")["hbm"]
    assert row["outcome"] == "unknown"


def test_each_engine_reloads_its_own_way() -> None:
    found = {engine: rows(**KEPT, engine=engine, strategy="offload-reuse")["offload-reuse"]
             for engine in ("vllm", "vllm@0.11", "sglang", "tensorrt-llm")}  # fmt: skip
    assert [row["method"] for row in found.values()] == ["offloading-connector"] * 2 + ["hicache", None]
    assert found["vllm"]["ttft_s"]["best"] < found["sglang"]["ttft_s"]["best"] < found["vllm@0.11"]["ttft_s"]["best"]
    assert any("blocks of 16 tokens, all layers" in note for note in found["vllm"]["notes"])
    assert any("each layer by itself" in note for note in found["vllm@0.11"]["notes"])


def test_lmcache_does_not_depend_on_the_layout_of_vllm() -> None:
    old = {**KEPT, "engine": "vllm@0.11", "strategy": "offload-reuse"}
    own, lmcache = rows(**old)["offload-reuse"], rows(**old, method="lmcache")["offload-reuse"]
    assert lmcache["ttft_s"]["best"] < 0.5 * own["ttft_s"]["best"]
    assert "--kv-offloading-backend lmcache" in lmcache["flags"]
