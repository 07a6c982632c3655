"""What ``kvplan explain`` says of a name that is no model and no host."""

from __future__ import annotations

from dataclasses import dataclass

from kvplan import __version__
from kvplan.domain.assessment import BreakEven
from kvplan.results.explain_methods import MethodSheet, accuracy_json, inputs_json
from kvplan.results.json_shapes import Json, break_even_json
from kvplan.strategies.interface import Accuracy, Input

SCHEMA = "kvplan.explain/1"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What stands behind a name."""

    kind: str
    """``strategy``, ``combination``, ``method``, ``figure`` or ``rule``."""
    name: str
    title: str
    text: str = ""
    unit: str = ""
    formula: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    accuracy: Accuracy | None = None
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""
    see: tuple[str, ...] = ()
    setup: str = ""
    """Of a method: what it was published for."""
    methods: tuple[MethodSheet, ...] = ()
    """What ``--method`` chooses from."""
    by_task: tuple[tuple[str, Accuracy], ...] = ()
    """Class of task -> what is lost there; empty for what is exact."""
    here: str = ""
    """The deployment that it was worked out for."""
    break_even: BreakEven | None = None
    """Where it pays there, if it reloads KV."""

    def to_json(self) -> Json:
        """The envelope ``kvplan.explain/1``."""
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "kind": self.kind,
            "name": self.name,
            "title": self.title,
            "text": self.text or None,
            "unit": self.unit or None,
            "formula": list(self.formula),
            "inputs": inputs_json(self.inputs),
            "accuracy": None if self.accuracy is None else accuracy_json(self.accuracy),
            "evidence": list(self.evidence),
            "notes": list(self.notes),
            "source": self.source or None,
            "see": list(self.see),
            "setup": self.setup or None,
            "methods": [sheet.to_json() for sheet in self.methods],
            "accuracy_by_task": [{"task": task, **accuracy_json(loss)} for task, loss in self.by_task],
            "deployment": self.here or None,
            "break_even": break_even_json(self.break_even),
        }
