"""Options of ``kvplan fit`` beside those that it shares with most commands."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli.options import starting_with
from kvplan.domain.task import MOST_LOSS_POINTS, TASKS
from kvplan.errors import InputError

_GOALS = "Objectives"
_ANSWER = "How firm the answer is"


def complete_task(incomplete: str) -> list[str]:
    """Classes of task for the shell."""
    return starting_with(incomplete, list(TASKS))


TaskName = Annotated[
    str | None,
    typer.Option("--task", help="Accuracy losses of this class: retrieval, reasoning or chat.",
                 autocompletion=complete_task, rich_help_panel=_GOALS),
]  # fmt: skip
MaxLossPoints = Annotated[
    float | None,
    typer.Option("--max-loss-points", help=f"Published loss above which it is TIGHT (default {MOST_LOSS_POINTS:g}).",
                 rich_help_panel=_GOALS),
]  # fmt: skip
WithSensitivity = Annotated[
    bool,
    typer.Option("--sensitivity", help="Which input turns the verdict, and where it holds.", rich_help_panel=_ANSWER),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Other draws for --sensitivity (default 1).", rich_help_panel=_ANSWER)
]


def seed_of(sensitivity: bool, seed: int | None) -> int | None:
    """The seed of the draws; None where no sensitivity is asked for. InputError for a seed of nothing."""
    if not sensitivity:
        if seed is not None:
            raise InputError("--seed goes with --sensitivity", help="add --sensitivity, or leave out --seed")
        return None
    from kvplan.assess.sensitivity import DEFAULT_SEED

    return DEFAULT_SEED if seed is None else seed
