"""``--method``: whose constants are taken, what is refused, and what ``kvplan explain`` lists."""

from __future__ import annotations

from typing import Any

import pytest

import kvplan
from kvplan.assess import build_frame
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.errors import InputError, UnknownName
from kvplan.results.explain import Explanation, explain
from kvplan.strategies import find_strategy
from kvplan.strategies.interface import Charges, Method
from kvplan.strategies.methods import families, methods_of

METHODS = [(family, method) for family in families() for method in methods_of(family)]
LONG = {"model": "llama3-8b", "host": "h100-server", "gpus": 1, "context": "128k", "users": 8}


def strategies(**words: Any) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in kvplan.fit(**{**LONG, **words}).to_json()["strategies"]}


def charges(family: str, **words: Any) -> Charges:
    given = {**LONG, **words}
    return find_strategy(family).charges(build_frame(resolve(Words(**given))).situation)[1]


def test_families_of_the_contract() -> None:
    names = {family: [method.name for method in methods_of(family)] for family in families()}
    assert names["offload-retrieve"] == ["retroinfer", "shadowkv", "infinigen", "pqcache", "retrievalattention"]
    assert names["offload-cpu-attention"] == ["scoutattention", "llama.cpp", "magicpig", "neo", "ktransformers"]
    assert names["expert-offload"] == ["llama.cpp", "ktransformers", "vllm"]


@pytest.mark.parametrize(("family", "method"), METHODS, ids=lambda item: getattr(item, "name", item))
def test_a_method_says_what_it_is(family: str, method: Method) -> None:
    for text in (method.title, method.setup, method.source, method.accuracy.on, *method.formula, *method.evidence):
        assert text
    assert method.formula
    assert method.evidence
    for item in method.inputs:
        assert item.value.low <= item.value.best <= item.value.high
        assert item.source


def test_the_default_is_the_engines_own_way_where_it_has_one() -> None:
    rows = strategies()
    assert rows["hbm"]["method"] is None
    assert rows["offload-retrieve"]["method"] == "retroinfer"
    assert rows["offload-cpu-attention"]["method"] == "scoutattention"
    assert strategies(engine="llama.cpp")["offload-cpu-attention"]["method"] == "llama.cpp"
    for engine, name in (("llama.cpp", "llama.cpp"), ("sglang", "ktransformers"), ("vllm", "vllm")):
        row = strategies(model="gpt-oss-120b", engine=engine, strategy="expert-offload")["expert-offload"]
        assert row["method"] == name
        assert row["flags"]


def test_a_method_changes_its_family_and_nothing_else() -> None:
    plain, chosen = strategies(), strategies(method="shadowkv")
    assert plain.keys() == chosen.keys()
    changed = {name for name in plain if plain[name] != chosen[name]}
    assert changed == {name for name in plain if "offload-retrieve" in name}
    assert chosen["offload-retrieve"]["method"] == "shadowkv"
    assert "ShadowKV" in chosen["offload-retrieve"]["notes"][0]
    assert chosen["kv-fp8+offload-retrieve"]["method"] == "shadowkv"


def test_an_engine_has_flags_for_its_own_method_only() -> None:
    row = strategies(engine="llama.cpp", strategy="offload-cpu-attention", method="magicpig")["offload-cpu-attention"]
    assert row["method"] == "magicpig"
    assert row["flags"] is None


def test_a_misspelt_method_gets_a_suggestion_and_the_list() -> None:
    with pytest.raises(UnknownName, match="no method named 'retroinfr'") as raised:
        kvplan.fit(**LONG, method="retroinfr")
    assert "did you mean retroinfer?" in str(raised.value.help)
    assert "offload-cpu-attention: scoutattention" in str(raised.value.help)


def test_the_list_is_that_of_the_strategies_that_are_judged() -> None:
    with pytest.raises(UnknownName) as raised:
        kvplan.fit(**LONG, strategy="offload-retrieve", method="best")
    assert "offload-retrieve: retroinfer" in str(raised.value.help)
    assert "magicpig" not in str(raised.value.help)


@pytest.mark.parametrize("strategy", ["hbm", "offload-retrieve", "kv-fp8+offload-retrieve"])
def test_a_method_of_a_strategy_that_is_left_out_is_refused(strategy: str) -> None:
    with pytest.raises(InputError, match="--method neo is one of offload-cpu-attention"):
        kvplan.fit(**LONG, strategy=strategy, method="neo")


def test_shadowkv_keeps_what_its_paper_keeps() -> None:
    """14.1 % of the KV with 8 heads of 128 elements, beside the chosen tokens; the values in host memory."""
    row = charges("offload-retrieve", method="shadowkv")
    assert row.resident_fraction - 1.03 * 0.0164 == pytest.approx(0.141, abs=0.001)
    assert row.dram_fraction == 0.5
    split = charges("offload-retrieve", method="shadowkv", gpus=8, tp=8)
    assert split.resident_fraction > 3 * row.resident_fraction, "the factors are of all heads, so every rank has them"


@pytest.mark.parametrize(("context", "gigabytes"), [(98304, 14.0), (65536, 4.7)])
def test_magicpig_tables_take_the_host_memory_of_its_paper(context: int, gigabytes: float) -> None:
    row = charges("offload-cpu-attention", method="magicpig", context=context, users=1)
    tables = row.dram_index_fraction * context * 131072
    assert tables / 2**30 == pytest.approx(gigabytes, rel=0.01), "tables of all layers; its GB are GiB"


def test_shadowkv_and_retroinfer_fill_an_80_gb_card_at_their_largest_batches() -> None:
    for method, context, users in (("shadowkv", 124928, 24), ("retroinfer", 122880, 32)):
        row = strategies(
            model="llama3-8b-1048k", host="a100-server", context=context, users=users,
            strategy="offload-retrieve", method=method,
        )["offload-retrieve"]  # fmt: skip
        assert 74e9 < row["budgets"]["hbm"]["used"]["best"] < 85e9


def test_neo_fills_the_gpu_first() -> None:
    words = {"strategy": "offload-cpu-attention", "method": "neo", "itl_ms": 1000}
    few = strategies(**words, users=2)["offload-cpu-attention"]
    many = strategies(**words)["offload-cpu-attention"]
    parts = [{part["name"] for part in row["budgets"]["dram_capacity"]["parts"]} for row in (few, many)]
    assert "kv" not in parts[0]
    assert "kv" in parts[1]
    crossing = {part["name"]: part["value"] for part in many["budgets"]["link"]["parts"]}
    assert crossing.keys() == {"write-back"}, "new KV goes to the CPU, none comes back"
    assert crossing["write-back"] < 1e6
    assert many["accuracy"]["loss_points"] == {"low": 0.0, "high": 0.0}


def test_scores_hold_for_the_contexts_that_were_scored() -> None:
    row = strategies(context="64k", strategy="offload-cpu-attention")["offload-cpu-attention"]
    assert row["accuracy"]["loss_points"]["high"] == 2.5
    longer = strategies(context="65k", strategy="offload-cpu-attention")["offload-cpu-attention"]
    assert longer["accuracy"]["loss_points"]["high"] is None


def test_explain_lists_the_methods_with_their_set_ups() -> None:
    answer = explain("offload-retrieve").to_json()
    names = [row["name"] for row in answer["methods"]]
    assert names == ["retroinfer", "shadowkv", "infinigen", "pqcache", "retrievalattention"]
    assert [row["name"] for row in answer["methods"] if row["default"]] == ["retroinfer"]
    for row in answer["methods"]:
        assert row["setup"]
        assert row["inputs"]
        assert row["source"]


def test_explain_takes_the_name_of_a_method() -> None:
    answer = explain("RetroInfer")
    assert isinstance(answer, Explanation)
    assert (answer.kind, answer.name) == ("method", "retroinfer")
    assert answer.formula
    assert "A100" in answer.setup
    both = explain("ktransformers")
    assert isinstance(both, Explanation)
    assert [sheet.family for sheet in both.methods] == ["offload-cpu-attention", "expert-offload"]
