"""Whether ``--method`` names a method, and one of a strategy that is judged."""

from __future__ import annotations

from kvplan.errors import InputError, UnknownName
from kvplan.strategies.methods import families, families_of, methods_of


def check_method(name: str | None, strategy_ids: tuple[str, ...] = ()) -> None:
    """UnknownName for a method that nobody published, InputError for one of a strategy that is left out."""
    if name is None:
        return
    judged = [family for family in families() if not strategy_ids or _is_among(family, strategy_ids)]
    of = families_of(name)
    if not of:
        listed = judged or families()
        known = [method.name for family in listed for method in methods_of(family)]
        words = [f"{family}: {', '.join(method.name for method in methods_of(family))}" for family in listed]
        raise UnknownName.of("method", name, known, listing="known: " + "; ".join(words))
    if not set(of) & set(judged):
        owners = " and of ".join(of)
        raise InputError(f"--method {name} is one of {owners}, which is not judged", help=f"--strategy {of[0]}")


def _is_among(family: str, strategy_ids: tuple[str, ...]) -> bool:
    return any(family in strategy_id.lower().split("+") for strategy_id in strategy_ids)
