"""How firmly the answer of ``kvplan fit`` stands, in words: where reloading pays, and what turns the verdict."""

from __future__ import annotations

from collections.abc import Callable

from kvplan.domain.assessment import BreakEven
from kvplan.domain.interval import Interval
from kvplan.domain.sensitivity import MOST_CHANGE_FRACTION, Sensitivity, Turn
from kvplan.render import humans
from kvplan.render.fit_actions import Note
from kvplan.render.fit_rows import Screenful

MOST_OTHER_TURNS = 2
_PLURAL = ("users", "weights", "activations", "CPU cores", "look-up cores")


def judged_how(screen: Screenful) -> list[Note]:
    """Where reloading pays, and what a row's figures were judged at where the reader could have said more."""
    notes = []
    for item in screen.rows:
        parts = [] if item.break_even is None else break_even_words(item.break_even)
        if item is not screen.winner:  # whose notes are all said elsewhere
            parts += [_in_short(note) for note in item.notes if note.startswith("judged")]
        if parts and "+" not in item.id:
            notes.append(Note(f"{item.id}:", f"{'; '.join(parts)}."))
    return notes


def _in_short(note: str) -> str:
    """The flag alone: what it is worth has been said."""
    return note.replace(": give --prefix-hit-fraction to see what it is worth", " (--prefix-hit-fraction)")


def break_even_words(value: BreakEven) -> list[str]:
    """``a reload beats recomputing from 688 cached tokens on (394..993)``; above which share of hits it pays."""
    found = ["recomputing beats a reload at every length"]
    if value.reload_tokens is not None:
        best, span = humans.count(value.reload_tokens.best), _span(value.reload_tokens, humans.count)
        found = [f"a reload beats recomputing from {best} cached tokens on{span}"]
    if value.hit_fraction is None:
        return [*found, "prefill throughput gains at no share of hits"]
    hits = value.hit_fraction
    return [*found, f"it pays in throughput above {hits.best:.1%} of hits{_span(hits, '{:.1%}'.format)}"]


def _span(value: Interval, words: Callable[[float], str]) -> str:
    low, high = words(value.low), words(value.high)
    return "" if low == high else f" ({low}..{high})"


def sensitivity_notes(found: Sensitivity | None) -> list[Note]:
    """What turns the verdict first, what else does, and where it holds."""
    return [] if found is None else [Note("Sensitivity:", " ".join(sensitivity_words(found)))]


def sensitivity_words(found: Sensitivity) -> list[str]:
    """The sentences of it."""
    if found.holds_fraction is None:
        return ["the verdict does not rest on an uncertain figure."]
    most = f"{MOST_CHANGE_FRACTION:.0%}"
    sentences = [f"no single input that is {most} off turns the verdict."]
    if found.turns:
        first, *others = found.turns
        sentences = [f"the verdict turns if {change_words(first)}: {then_words(first)}."]
        sentences.append(_others_words(others, most))
    share = f"{found.holds_fraction:.1%}" if 0.0 < found.holds_fraction < 1.0 else f"{found.holds_fraction:.0%}"
    inputs = f"{len(found.inputs)} uncertain inputs"
    return [*sentences, f"It holds in {share} of {found.points} draws of {inputs} (seed {found.seed})."]


def _others_words(others: list[Turn], most: str) -> str:
    """The next ones, and how many more."""
    if not others:
        return f"No other input within {most} does."
    named = ", or if ".join(change_words(turn) for turn in others[:MOST_OTHER_TURNS])
    left = len(others) - MOST_OTHER_TURNS
    return f"Also if {named}{f'; {left} more within {most}' if left > 0 else ''}."


def change_words(turn: Turn) -> str:
    """``usable GPU memory is 14.2 % less``."""
    verb = "are" if turn.input.startswith(_PLURAL) else "is"
    return f"{turn.input} {verb} {abs(turn.change_fraction):.1%} {'more' if turn.change_fraction > 0.0 else 'less'}"


def then_words(turn: Turn) -> str:
    """What the verdict is then."""
    if turn.bound_by is None:
        return f"{turn.strategy} then {humans.OUTCOME_WORDS[turn.outcome]}"
    missed = humans.budget_in_short(turn.bound_by)
    instead = f"{turn.strategy} works then" if turn.strategy else "nothing works then"
    return f"it misses {missed}, and {instead}"
