"""Domain figures -> what people read. The one place where a number of bytes, seconds or users becomes text.

A number is followed by its limit (``146/73``), an interval by its best value first (``44 (36..61)``), a count has
thousands separators. What is not known is ``?``, never a number. Nothing here knows a format or a screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kvplan.domain.assessment import AccuracyLoss, Budget
from kvplan.domain.interval import Interval
from kvplan.units import GIB, MIB, to_billions, to_gb_per_s, to_gib, to_kib, to_ms

UNKNOWN: Final = "?"
NOTHING: Final = "-"

OUTCOME_WORDS: Final = {
    "fits": "FITS", "tight": "TIGHT", "unlikely": "UNLIKELY", "no": "NO", "na": "N/A", "unknown": "UNKNOWN",
}  # fmt: skip

_SHORT_BUDGETS: Final = {
    "hbm": "HBM",
    "dram_capacity": "DRAM",
    "dram_bandwidth": "DRAM rate",
    "link": "link",
    "cpu_cores": "cores",
    "itl": "time",
    "ttft": "TTFT",
}
_LINK_NAMES: Final = {"c2c": "NVLink-C2C", "unified": "unified memory"}


def clean(text: str) -> str:
    """Text from outside on one line, without what a terminal would obey: control characters, lone surrogates."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def count(value: float) -> str:
    """``131,072``."""
    return f"{value:,.0f}"


def number(value: float) -> str:
    """Three significant digits, whole from a hundred on: ``6.77``, ``19.4``, ``1,820``; never an exponent."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    if abs(value) >= 0.0995:
        return f"{value:.3g}"
    return f"{value:.2g}" if abs(value) >= 0.001 or value == 0 else "<0.001"


def span(value: Interval, scale: Callable[[float], float] = float, text: Callable[[float], str] = number) -> str:
    """Best value first, then the ends where they look different: ``44 (36..61)``."""
    low, best, high = (text(scale(end)) for end in value)
    return best if low == best == high else f"{best} ({low}..{high})"


def times(factor: float) -> str:
    """How often a limit is needed: ``33x``, ``2.0x``; close above one as close as it takes: ``1.004x``."""
    if factor >= 9.95:
        return f"{factor:,.0f}x"
    digits = 1 if abs(factor - 1.0) >= 0.15 else 2 if abs(factor - 1.0) >= 0.015 else 3
    return f"{factor:.{digits}f}x"


def gib(value_bytes: float) -> str:
    """``15.0``, one decimal, so that sums can be followed."""
    return f"{to_gib(value_bytes):,.1f}"


def gib_or_mib(value_bytes: float) -> str:
    """``0.406 GiB``, ``4.5 MiB``."""
    if value_bytes < GIB / 10:
        return f"{number(value_bytes / MIB)} MiB"
    return f"{number(to_gib(value_bytes))} GiB"


def billions(elements: float) -> str:
    """``8.03B``, ``671B``."""
    return f"{number(to_billions(elements))}B"


def gib_words(value_bytes: float) -> str:
    """``2,048 GiB``, ``15.0 GiB``."""
    value = to_gib(value_bytes)
    return f"{value:,.0f} GiB" if value >= 100 or value == int(value) else f"{value:.1f} GiB"


def bytes_per_token(value_bytes: float | None) -> str:
    """``128 KiB``."""
    if value_bytes is None:
        return UNKNOWN
    return f"{number(to_kib(value_bytes))} KiB"


def rate_words(bytes_per_s: float) -> str:
    """``55.4 GB/s``."""
    return f"{number(to_gb_per_s(bytes_per_s))} GB/s"


def milliseconds(value_s: Interval | None) -> str:
    """Milliseconds without their unit: ``19.4 (11.3..41)``."""
    return UNKNOWN if value_s is None else span(value_s, to_ms)


def ms_per_token(value_s: Interval | None) -> str:
    """``19.4 ms a token (11.3..41)``."""
    if value_s is None:
        return "an unknown time per token"
    best, ends = _apart(milliseconds(value_s))
    return f"{best} ms a token{ends}"


def seconds(value_s: Interval) -> str:
    """``13.1 s (9.09..21.8)``."""
    best, ends = _apart(span(value_s))
    return f"{best} s{ends}"


def gib_span(value_bytes: Interval) -> str:
    """``54.9 GiB (53.9..57.5)``."""
    best, ends = _apart(span(value_bytes, text=gib))
    return f"{best} GiB{ends}"


def _apart(text: str) -> tuple[str, str]:
    best, space, ends = text.partition(" ")
    return best, space + ends


def users(most: float) -> str:
    """``1 user``, ``12 users``."""
    return f"{count(most)} user" + ("" if most == 1 else "s")


def more(strategies: int) -> str:
    """``10 more strategies, ``, or nothing."""
    return "" if strategies < 1 else f"{strategies} more {'strategy' if strategies == 1 else 'strategies'}, "


def verb(amount: float) -> str:
    """The ending of a verb in the present tense: 1 user fit-s, 6 users fit."""
    return "s" if amount == 1 else ""


def loss(value: AccuracyLoss) -> str:
    """Points lost, in a table's cell: ``0``, ``0.66..1.97``, ``?``."""
    if value.low is None or value.high is None:
        return UNKNOWN
    if value.low == value.high:
        return f"{value.high:.3g}"
    return f"{value.low:.3g}..{value.high:.3g}"


def loss_words(value: AccuracyLoss) -> str:
    """``2.1 to 2.5 points on LongBench``."""
    if value.low is None or value.high is None:
        return "accuracy that nobody has measured"
    if value.high == 0.0:
        return "nothing"
    span = f"{value.high:.3g}" if value.low == value.high else f"{value.low:.3g} to {value.high:.3g}"
    return f"{span} points on {value.on}"


def in_its_unit(budget_name: str, value: float) -> float:
    """Bytes -> GiB, bytes a second -> GB/s, cores as they are."""
    if budget_name in ("hbm", "dram_capacity"):
        return to_gib(value)
    return to_gb_per_s(value) if budget_name in ("link", "dram_bandwidth") else value


def used_of_limit(budget: Budget | None) -> str:
    """``146/73``: whole numbers from ten on, unless that would hide which of the two is the larger one."""
    if budget is None or budget.limit is None:
        return NOTHING
    limit = in_its_unit(budget.name, budget.limit)
    if budget.used is None:
        return f"{UNKNOWN}/{_rough(limit)}"
    used = in_its_unit(budget.name, budget.used.best)
    if _rough(used) == _rough(limit) and abs(used - limit) >= 0.05:
        return f"{used:.1f}/{limit:.1f}"
    return f"{_rough(used)}/{_rough(limit)}"


def _rough(value: float) -> str:
    """Without thousands separators: two numbers share a narrow cell."""
    if value >= 9.95 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.05 else "<0.1"


def budget_in_short(name: str | None) -> str:
    """What binds, in one or two short words of a table's cell."""
    return _SHORT_BUDGETS.get(name or "", name or "")


def link_words(kind: str) -> str:
    """``pcie5x16`` -> ``PCIe 5.0 x16``."""
    generation, x, lanes = kind.removeprefix("pcie").partition("x")
    if kind.startswith("pcie") and x and generation.isdigit():
        return f"PCIe {generation}.0 x{lanes}"
    return _LINK_NAMES.get(kind, clean(kind))
