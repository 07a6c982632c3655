"""Ways to hold the KV cache: where its bytes live (offload) and how many there are (quantization), and both.

One file a strategy (one file for all formats of quantization, one for combinations), found by its folder. A file
defines ``STRATEGIES``, a tuple of objects of ``interface.Strategy``. What a strategy costs crosses into the core as
three rows of charges: optimistic, best, pessimistic.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kvplan.errors import UnknownName
from kvplan.strategies.interface import Strategy

_NOT_STRATEGIES = {"interface", "by_method", "methods", "scores"}
_ORDER = ("hbm", "kv-", "offload-", "weight-", "expert-")


@cache
def all_strategies() -> dict[str, Strategy]:
    """Every strategy by id: the plain ones, quantized ones, offloads, then combinations."""
    names = sorted(info.name for info in iter_modules(__path__) if info.name not in _NOT_STRATEGIES)
    plain = [name for name in names if name != "combined"]
    found = [strategy for name in plain for strategy in import_module(f"{__name__}.{name}").STRATEGIES]
    found.sort(key=_place)
    combined = import_module(f"{__name__}.combined").combine(found)
    return {strategy.id: strategy for strategy in [*found, *combined]}


def find_strategy(strategy_id: str) -> Strategy:
    """A strategy by id: one of the folder, or any KV format together with any placement (``kv-int8+offload-reuse``)."""
    known, (first, _, second) = all_strategies(), strategy_id.lower().partition("+")
    if strategy_id.lower() in known:
        return known[strategy_id.lower()]
    pair = [known[part] for part in (first, second) if part in known]
    if len(pair) == 2 and "+" not in second:
        made: list[Strategy] = import_module(f"{__name__}.combined").pairs(pair)
        if made:
            return made[0]
    raise UnknownName.of("strategy", strategy_id, known, listing="ids: kvplan explain --list")


def _place(strategy: Strategy) -> tuple[int, int]:
    place = next((index for index, prefix in enumerate(_ORDER) if strategy.id.startswith(prefix)), len(_ORDER))
    return place, strategy.order
