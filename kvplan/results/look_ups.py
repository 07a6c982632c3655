"""Look-ups of one run, each distinct deployment judged once: a repository has hundreds of copies that differ by name.

A deployment is judged by its settings, its form and its notes. Its name and its lines are none of it, so that a
copy gets the same judgement, with its own lines in what was met on the way.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from kvplan.deployments.found import FoundDeployment, Place
from kvplan.rules.context import Context
from kvplan.rules.look_up import look_up


class LookUps:
    """Remembers what it has looked up."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Context] = {}

    def context(self, found: FoundDeployment, *arguments: Any) -> Context:
        """As ``look_up`` with these arguments."""
        if found.unresolved or found.complaints:
            return look_up(found, *arguments)  # what was not understood is said line by line
        settings = ((name, type(item.value), item.value) for name, item in found.settings.items())
        key = (found.form, found.engine, tuple(settings), tuple(found.notes.items()), arguments)
        known = self._known.get(key)
        copied = None if known is None else _copied(known, found)
        if copied is not None:
            return copied
        context = look_up(found, *arguments)
        if not context.translated.complaints:
            self._known[key] = context
        return context


def _copied(known: Context, found: FoundDeployment) -> Context | None:
    """The same context about a copy; None where something in it can't be moved to the copy's lines."""
    problems = []
    for problem in known.problems:
        place = _moved(problem.place, known.found, found)
        own = (known.found.name, known.found.place.path)
        if place is None or any(text in f"{problem.message} {problem.remedy}" for text in own):
            return None
        problems.append(replace(problem, place=place))
    return replace(known, found=found, problems=tuple(problems))


def _moved(place: Place, old: FoundDeployment, new: FoundDeployment) -> Place | None:
    """Where the same thing stands in the copy."""
    if place == old.place:
        return new.place
    places = {new.settings[name].place for name, item in old.settings.items() if item.place == place}
    return places.pop() if len(places) == 1 else None
