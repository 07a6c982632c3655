"""How numbers read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.domain.assessment import AccuracyLoss, Budget
from kvplan.domain.interval import Interval
from kvplan.render import humans

GIB_BYTES = 2**30


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.17, "0.17"),
        (0.0004, "<0.001"),
        (2.5, "2.5"),
        (19.37, "19.4"),
        (99.94, "99.9"),
        (99.96, "100"),
        (1819.98, "1,820"),
        (1e7, "10,000,000"),
    ],
)
def test_numbers_have_three_digits_and_never_an_exponent(value: float, text: str) -> None:
    assert humans.number(value) == text


@given(st.floats(min_value=1e-3, max_value=1e15))
def test_numbers_keep_their_value(value: float) -> None:
    text = humans.number(value)
    assert "e" not in text
    assert math.isclose(float(text.replace(",", "")), value, rel_tol=0.051)


def test_an_interval_has_its_best_value_first() -> None:
    assert humans.milliseconds(Interval(0.036, 0.044, 0.061)) == "44 (36..61)"
    assert humans.milliseconds(Interval.exact(0.044)) == "44"
    assert humans.milliseconds(Interval(0.04401, 0.04402, 0.04403)) == "44"
    assert humans.milliseconds(None) == "?"
    assert humans.ms_per_token(Interval(1.0, 2.0, 3.0)) == "2,000 ms a token (1,000..3,000)"
    assert humans.gib_span(Interval(1.0 * GIB_BYTES, 2.0 * GIB_BYTES, 2.5 * GIB_BYTES)) == "2.0 GiB (1.0..2.5)"


@pytest.mark.parametrize(
    ("used", "limit", "text"),
    [
        (145.9, 72.9, "146/73"),
        (0.0, 55.4, "0/55"),
        (0.01, 55.4, "<0.1/55"),
        (73.2, 72.9, "73.2/72.9"),
        (72.9, 72.9, "73/73"),
        (1820.0, 55.4, "1820/55"),
        (6.77, 8.0, "6.8/8"),
    ],
)
def test_a_number_comes_before_its_limit(used: float, limit: float, text: str) -> None:
    budget = Budget("cpu_cores", Interval.exact(used), limit)
    assert humans.used_of_limit(budget) == text


def test_each_budget_has_its_unit() -> None:
    assert humans.used_of_limit(Budget("hbm", Interval.exact(20.0 * GIB_BYTES), 40.0 * GIB_BYTES)) == "20/40"
    assert humans.used_of_limit(Budget("link", Interval.exact(20e9), 40e9)) == "20/40"


def test_what_is_not_known_is_not_a_number() -> None:
    assert humans.used_of_limit(None) == "-"
    assert humans.used_of_limit(Budget("link", None, None)) == "-"
    assert humans.used_of_limit(Budget("link", None, 55e9)) == "?/55"
    assert humans.loss(AccuracyLoss(None, None, "", "")) == "?"
    assert humans.bytes_per_token(None) == "?"


@pytest.mark.parametrize(("factor", "text"), [(33.2, "33x"), (2.04, "2.0x"), (1.12, "1.12x"), (1.004, "1.004x")])
def test_how_often_a_limit_is_needed(factor: float, text: str) -> None:
    assert humans.times(factor) == text


def test_one_user_is_not_users() -> None:
    assert humans.users(1) == "1 user"
    assert humans.users(1200) == "1,200 users"
    assert humans.more(0) == ""
    assert humans.more(1) == "1 more strategy, "


@pytest.mark.parametrize(
    ("kind", "text"), [("pcie5x16", "PCIe 5.0 x16"), ("c2c", "NVLink-C2C"), ("pcie", "pcie"), ("25 GB/s", "25 GB/s")]
)
def test_links_are_called_what_people_call_them(kind: str, text: str) -> None:
    assert humans.link_words(kind) == text


def test_nothing_that_a_terminal_obeys() -> None:
    cleaned = humans.clean("a\x1b[31mb\nc\udc80")
    assert cleaned.isprintable()
    assert cleaned.startswith("a") and "b" in cleaned
