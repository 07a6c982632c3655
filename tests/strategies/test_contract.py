"""Every strategy is found by its folder and says all that kvplan shows of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvplan.strategies
from kvplan.assess import build_frame
from kvplan.core.shapes import Charges
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.errors import UnknownName
from kvplan.strategies import all_strategies, find_strategy
from kvplan.strategies.interface import Ends, Strategy
from kvplan.strategies.methods import families, methods_of

PLAIN = [strategy for strategy in all_strategies().values() if "+" not in strategy.id]
EVERY = list(all_strategies().values())
METHODS = [(family, method.name) for family in families() for method in methods_of(family)]


def test_every_file_of_the_folder_is_used() -> None:
    folder = Path(kvplan.strategies.__path__[0])
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "interface", "combined", "by_method"}
    used = {type(strategy).__module__.rsplit(".", 1)[-1] for strategy in PLAIN}
    assert used == files


@pytest.mark.parametrize("strategy", EVERY, ids=lambda strategy: strategy.id)
def test_a_strategy_says_what_it_is(strategy: Strategy) -> None:
    assert strategy.title
    assert strategy.formula
    assert strategy.evidence
    assert strategy.accuracy.on
    assert strategy.accuracy.source
    for item in strategy.inputs:
        assert item.value.low <= item.value.best <= item.value.high
        assert item.source


@pytest.mark.parametrize("strategy", EVERY, ids=lambda strategy: strategy.id)
def test_costs_grow_from_the_optimistic_to_the_pessimistic_end(strategy: Strategy) -> None:
    engine = "generic" if strategy.kv_suffix in ("q8_0", "q4_0", "kivi-2") else "vllm"
    frame = build_frame(resolve(Words(model="llama3-8b", host="b200-server", engine=engine, context="32k")))
    assert_ordered(strategy.charges(frame.situation))


@pytest.mark.parametrize("method", METHODS, ids=lambda pair: " of ".join(reversed(pair)))
@pytest.mark.parametrize("model", ["llama3-8b", "gpt-oss-120b", "gemma3-27b", "deepseek-v3", "nemotron-h-8b"])
def test_costs_of_every_method_grow_so_too(method: tuple[str, str], model: str) -> None:
    family, name = method
    words = Words(model=model, host="h100-server", context=4096, method=name, tp=1)
    assert_ordered(find_strategy(family).charges(build_frame(resolve(words)).situation))


def assert_ordered(ends: Ends) -> None:
    shrink = {"link_rate_fraction", "kv_rate_fraction", "cpu_rate_fraction"}
    for name in Charges._fields:
        values = [getattr(charges, name) for charges in ends]
        assert min(values) >= 0.0
        assert sorted(values, reverse=name in shrink) == values, name


def test_a_misspelt_id_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName) as raised:
        find_strategy("offload-retreive")
    assert "offload-retrieve" in str(raised.value.help)
