"""A change in words: ``KV pool 77k -> 41k tokens, pinned host memory +96 GiB, FITS -> TIGHT``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvplan.render.check_words import binds_and_headroom, model_and_host
from kvplan.render.humans import OUTCOME_WORDS, number
from kvplan.results.diff import DiffResult
from kvplan.results.diff_changes import Changed, DeploymentChange, FindingChange
from kvplan.rules.interface import LEVELS
from kvplan.units import to_gib

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "unchanged": "="}


def verdict_line(answer: DiffResult) -> str:
    """``main -> HEAD: deployments: 1 added, 2 unchanged; findings: 1 new (1 fail), 4 unchanged``."""
    if not answer.deployments:
        return "no deployment is recognised on either side"
    counts = [f"{answer.count(status)} {status}" for status in ("added", "removed", "changed", "unchanged")]
    shown = ", ".join(text for text in counts if not text.startswith("0 "))
    base, head = answer.sides
    return f"{base.name} -> {head.name}: deployments: {shown}; findings: {_finding_counts(answer)}"


def _finding_counts(answer: DiffResult) -> str:
    parts = []
    for status in ("new", "worse", "fixed", "suppressed", "unchanged"):
        found = answer.found(status)
        levels = [f"{n} {level}" for level in LEVELS if (n := _at(found, level))]
        words = f" ({', '.join(levels)})" if levels and status in ("new", "worse") else ""
        if found or status == "new":
            parts.append(f"{len(found)} {status}{words}")
    return ", ".join(parts)


def _at(found: list[FindingChange], level: str) -> int:
    return sum(item.finding.level == level for item in found)


def sign(item: DeploymentChange) -> str:
    """``+``, ``-``, ``~`` or ``=``."""
    return _SIGNS[item.status]


def sentence(item: DeploymentChange) -> str:
    """What a reviewer should know of one deployment, the verdict last."""
    if item.status == "unchanged":
        return f"{OUTCOME_WORDS[item.shown[0].outcome]}, unchanged"
    if item.base is None or item.head is None:
        return _alone(item)
    facts = {fact.name: fact for fact in item.facts}
    words = [f"was {item.places()[0]} {item.base.found.name}"] if item.has_moved else []
    words += [_WORDS[name](facts[name]) for name in _WORDS if name in facts]
    if "kv_pool_tokens" in facts:
        words = [word for word in words if not word.startswith("KV pool") or "tokens" in word]
    outcome = facts.get("outcome")
    now = OUTCOME_WORDS[item.head.outcome]
    words.append(f"{OUTCOME_WORDS[outcome.old]} -> {now}" if outcome is not None else f"still {now}")
    return ", ".join(words)


def _alone(item: DeploymentChange) -> str:
    """What is there on one side only."""
    shown, _ = item.shown
    model, host = model_and_host(shown)
    outcome = OUTCOME_WORDS[shown.outcome]
    binds, headroom = binds_and_headroom(shown)
    left = f", {binds} {headroom}" if binds != "?" else ""
    return f"{model} on {host}, {'was ' if item.head is None else ''}{outcome}{left}"


def _named(label: str) -> Callable[[Changed], str]:
    return lambda fact: f"{label}{fact.old or '?'} -> {fact.new or '?'}"


def _from_to(label: str, unit: str, text: Callable[[float], str]) -> Callable[[Changed], str]:
    def words(fact: Changed) -> str:
        old, new = ("?" if value is None else text(value) for value in (fact.old, fact.new))
        return f"{label} {old} -> {new}{unit}"

    return words


def _grown(label: str) -> Callable[[Changed], str]:
    """A difference of bytes: what is added to a host counts, not what it was."""

    def words(fact: Changed) -> str:
        if fact.old is None or fact.new is None:
            known = fact.new if fact.old is None else fact.old
            return f"{label} {'now' if fact.old is None else 'was'} {number(to_gib(known))} GiB"
        difference = to_gib(fact.new - fact.old)
        return f"{label} {'+' if difference > 0 else '-'}{number(abs(difference))} GiB"

    return words


def thousands(value: float) -> str:
    """``412``, ``9,870``, ``77k``, ``1.25M``."""
    if value < 10_000:
        return f"{value:,.0f}"
    return f"{value / 1e3:,.0f}k" if value < 1e6 else f"{value / 1e6:.3g}M"


def _tokens(fact: Changed) -> str:
    """In full where both would round to the same."""
    old, new = ("?" if value is None else thousands(value) for value in (fact.old, fact.new))
    if old == new:
        old, new = f"{fact.old:,}", f"{fact.new:,}"
    return f"KV pool {old} -> {new} tokens"


_WORDS: dict[str, Callable[[Changed], str]] = {
    "model": _named("model "),
    "host": _named("host "),
    "engine": _named(""),
    "gpus": _from_to("GPUs", "", lambda value: f"{value:,.0f}"),
    "kv_pool_tokens": _tokens,
    "kv_pool_bytes": _from_to("KV pool", " GiB", lambda value: number(to_gib(value))),
    "weight_bytes": _grown("weights on a GPU"),
    "pinned_host_bytes": _grown("pinned host memory"),
    "users_max": _from_to("users at once", "", lambda value: f"{value:,.0f}"),
}
"""Fact -> its words, in the order of a sentence. A pool in GiB is said where tokens are not known.

The time a token is in the JSON alone: it is that of the fullest load, which is another one with every length."""


def value_text(value: Any) -> str:
    """A setting's value, or that there is none."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def setting_where(item: Changed) -> str:
    """Where the new value stands; where the old one did for a setting that is gone."""
    return item.new_where or (f"was {item.old_where}" if item.old_where else "")
