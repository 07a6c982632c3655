"""What a reader can do after ``kvplan fit``: the changes that would make it fit or be exact, the command to paste."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.assess.verdict import best_first
from kvplan.domain.assessment import Assessment
from kvplan.domain.remedy import Remedy
from kvplan.render import humans
from kvplan.results.fit import FitResult

MOST_REMEDIES = 5
NOTHING_FITS = "nothing that was tried: more GPUs, lighter weights, fewer users, less context, other hosts."


class Note(NamedTuple):
    """A line with its bold beginning."""

    label: str
    text: str


def what_fits(answer: FitResult) -> list[tuple[str, str]] | None:
    """The remedies of a no; an empty list where none was found, None where the verdict asks for none."""
    if answer.assessment.verdict.outcome not in ("no", "unlikely"):
        return None
    return remedy_lines(answer.remedies)


def remedy_lines(remedies: Sequence[Remedy]) -> list[tuple[str, str]]:
    """(change, what it brings) of each; one that does not work says its honest price."""
    return [(remedy.change, _brings(remedy)) for remedy in remedies[:MOST_REMEDIES]]


def _brings(remedy: Remedy) -> str:
    if not remedy.works:
        return "too slow"
    most = humans.users(remedy.users_max)
    return f"with {remedy.strategy}, {most}, {humans.ms_per_token(remedy.itl_s)}"


def exact_instead(remedies: Sequence[Remedy]) -> list[Note]:
    """``--gpus 2 with kv-fp8 (12 users), or --users 6 with kv-fp8``: what loses no accuracy, where the winner does."""
    ways = [f"{one.change} with {one.strategy} ({humans.users(one.users_max)})" for one in remedies if one.works]
    return [Note("Exact instead:", f"{', or '.join(ways[:MOST_REMEDIES])}.")] if ways else []


class Command(NamedTuple):
    """What to paste."""

    label: str
    text: str


def run_it(assessment: Assessment) -> Command | None:
    """The winner's command, or that of the best strategy that a stock engine has."""
    ordered = [item for item in best_first(assessment.strategies) if item.works and item.flags is not None]
    if assessment.verdict.strategy is None or not ordered:
        return None
    item = next((item for item in ordered if item.id == assessment.verdict.strategy), ordered[0])
    label = "Run it:" if item.id == assessment.verdict.strategy else f"Run {item.id}, the best that a stock engine has:"
    return Command(label, humans.clean(item.flags or ""))
