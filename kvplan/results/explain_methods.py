"""The published methods of a strategy: each with its set-up, its constants, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from kvplan.results.json_shapes import Json, interval
from kvplan.strategies.interface import Accuracy, Input, Method
from kvplan.strategies.methods import families, families_of, methods_of


@dataclass(frozen=True, slots=True)
class MethodSheet:
    """One method of one family."""

    family: str
    default: bool
    """Its constants are taken where nothing else is asked for and the engine has no way of its own."""
    method: Method

    @property
    def notes(self) -> tuple[str, ...]:
        """Who has it, and what to know beside its figures."""
        return (who_has(self.method), *self.method.cautions)

    def to_json(self) -> Json:
        """One row of ``methods``."""
        method = self.method
        return {
            "name": method.name,
            "family": self.family,
            "default": self.default,
            "title": method.title,
            "setup": method.setup,
            "formula": list(method.formula),
            "inputs": inputs_json(method.inputs),
            "accuracy": accuracy_json(method.accuracy),
            "evidence": list(method.evidence),
            "notes": list(self.notes),
            "source": method.source,
        }


def sheets_of(family: str) -> tuple[MethodSheet, ...]:
    """The methods of a strategy; none where it has one way only. A combination has those of its placement."""
    placement = family.rpartition("+")[2]
    return tuple(MethodSheet(placement, not index, method) for index, method in enumerate(methods_of(placement)))


def sheets_named(name: str) -> tuple[MethodSheet, ...]:
    """The methods of this name: some are of two families."""
    found = families_of(name.lower())
    return tuple(sheet for family in found for sheet in sheets_of(family) if sheet.method.name == name.lower())


def method_names() -> dict[str, str]:
    """Every method's name -> its title and families, once for a name."""
    titles: dict[str, str] = {}
    for family in families():
        for method in methods_of(family):
            titles[method.name] = f"{titles[method.name]} and of {family}" if method.name in titles else (
                f"{method.title}: a method of {family}")  # fmt: skip
    return titles


def who_has(method: Method) -> str:
    """The engines that have it, or that none has."""
    if method.stock_engines:
        return f"a feature of {' and '.join(method.stock_engines)}"
    return f"a prototype of its authors ({method.title}), not a feature of stock engines"


def inputs_json(inputs: tuple[Input, ...]) -> list[Json]:
    """Uncertain inputs with their three ends."""
    return [
        {"name": item.name, "value": interval(item.value), "unit": item.unit or None, "source": item.source}
        for item in inputs
    ]


def accuracy_json(loss: Accuracy) -> Json:
    """Points lost, on which benchmark, and who published them."""
    return {"loss_points": {"low": loss.low, "high": loss.high}, "on": loss.on, "source": loss.source}
