"""Which models llama-swap may run beside each other: its matrix of sets, or its older groups.

Without either one model runs at a time. A set is written with ``&`` (beside), ``|`` (either), brackets, and ``+name``
for another set. Source: config.example.yaml of mostlygeek/llama-swap.
"""

from __future__ import annotations

import re
from itertools import islice

from kvplan.deployments.yaml_tree import Node

_TOKEN = re.compile(r"(\+?[\w.-]+)|([&|()])")
MOST_SETS = 2000
_DEEPEST = 20

Sets = list[frozenset[str]]


def together(root: Node) -> dict[str, tuple[str, ...]]:
    """Model -> the others of the largest set in which it runs."""
    found: dict[str, tuple[str, ...]] = {}
    models = root.get("models")
    names = list(models.entries) if models is not None else []
    for members in [*_matrix(root.get("matrix")), *_groups(root.get("groups"), names)]:
        for name in members:
            others = tuple(sorted(members - {name}))
            if len(others) > len(found.get(name, ())):
                found[name] = others
    return found


def _groups(node: Node | None, models: list[str]) -> Sets:
    """Members of a group without ``swap`` run together; a group that is not exclusive unloads nothing that runs.

    Models in no group are one more that swaps and is exclusive.
    """
    groups = [_group(group) for group in node.entries.values()] if node is not None else []
    grouped = {name for members, _, _ in groups for name in members}
    if groups:
        groups.append(([name for name in models if name not in grouped], True, True))
    shared = [(members, swaps) for members, swaps, exclusive in groups if not exclusive]
    sets: Sets = []
    for members, swaps, _ in groups:
        own = [frozenset({name}) for name in members] if swaps else [frozenset(members)]
        later = frozenset(
            name for other, others_swap in shared if other is not members
            for name in (other[:1] if others_swap else other)
        )  # fmt: skip
        sets += [one | later for one in own]
    return sets[:MOST_SETS]


def _group(node: Node) -> tuple[list[str], bool, bool]:
    """(members, whether one at a time, whether it unloads the other groups): both unless it says false."""
    listed = node.get("members")
    members = [item.text for item in listed.items] if listed is not None else []
    return members, node.scalar("swap").lower() != "false", node.scalar("exclusive").lower() != "false"


def _matrix(node: Node | None) -> Sets:
    sets, names = (node.get("sets"), node.get("vars")) if node is not None else (None, None)
    if sets is None:
        return []
    full = {short: item.text for short, item in names.entries.items()} if names is not None else {}
    texts = {name: item.text for name, item in sets.entries.items() if item.kind == "scalar"}
    found: Sets = []
    for text in texts.values():
        for members in _Expression(text, texts).sets():
            found.append(frozenset(full.get(name, name) for name in members))
            if len(found) >= MOST_SETS:
                return found
    return found


class _Expression:
    """``(a | b) & c`` -> {a, c}, {b, c}."""

    def __init__(self, text: str, named: dict[str, str], depth: int = 0) -> None:
        self._tokens = [name or sign for name, sign in _TOKEN.findall(text)]
        self._named, self._depth = named, depth
        self._at = 0

    def sets(self) -> Sets:
        return self._either(0)

    def _either(self, depth: int) -> Sets:
        found = self._both(depth)
        while self._next() == "|":
            self._at += 1
            found = [*found, *self._both(depth)][:MOST_SETS]
        return found

    def _both(self, depth: int) -> Sets:
        found = self._one(depth)
        while self._next() == "&":
            self._at += 1
            right = self._one(depth)
            found = list(islice((left | other for left in found for other in right), MOST_SETS))
        return found

    def _one(self, depth: int) -> Sets:
        token = self._next()
        self._at += 1
        if token == "(" and depth < _DEEPEST:
            found = self._either(depth + 1)
            self._at += self._next() == ")"
            return found
        if token.startswith("+"):
            text = self._named.get(token[1:], "")
            return _Expression(text, self._named, self._depth + 1).sets() if self._depth < _DEEPEST else []
        return [frozenset({token})] if token and token not in "&|()" else [frozenset()]

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""
