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
from kvplan.strategies.interface import Strategy

PLAIN = [strategy for strategy in all_strategies().values() if "+" not in strategy.id]
EVERY = list(all_strategies().values())


def test_every_file_of_the_folder_is_used() -> None:
    folder = Path(kvplan.strategies.__path__[0])
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "interface", "combined"}
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
    host = "rtx4090" if strategy.kv_suffix in ("q8_0", "q4_0") else "b200-server"
    engine = "llama.cpp" if host == "rtx4090" else "vllm"
    frame = build_frame(resolve(Words(model="llama3-8b", host=host, engine=engine, context="32k")))
    ends = strategy.charges(frame.situation)
    shrink = {"link_rate_fraction", "kv_rate_fraction"}
    for name in Charges._fields:
        values = [getattr(charges, name) for charges in ends]
        assert min(values) >= 0.0
        assert sorted(values, reverse=name in shrink) == values, name


def test_a_misspelt_id_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName) as raised:
        find_strategy("offload-retreive")
    assert "offload-retrieve" in str(raised.value.help)
