"""The objects that a kustomization is about, with every name they had and every file they went through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kvplan.deployments.found import Complaint, Place
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.objects import name_of
from kvplan.deployments.yaml_tree import Node

MOST_REPEATS = 3
"""Of a pattern that selects objects."""
LONGEST_NAME = 253
"""Of an object. Source: Kubernetes, "Object Names and IDs"."""


@dataclass(slots=True)
class Resource:
    """One object on its way through the layers. Its node is replaced, never changed."""

    node: Node
    names: list[str]
    """Every name that it had, the present one last: patches and references may use any of them."""
    files: set[str] = field(default_factory=set)
    owner: Place | None = None
    """The last kustomization that changed it."""
    partial: str | None = None
    """Why it is only a part: its base is not at hand."""

    @property
    def kind(self) -> str:
        """``Deployment``."""
        return self.node.scalar("kind")


@dataclass(slots=True)
class Layer:
    """What a kustomization amounts to."""

    source: Source
    root: Node
    resources: list[Resource] = field(default_factory=list)
    variables: dict[str, Node] = field(default_factory=dict)
    """``vars``: names that ``$(NAME)`` stands for in every object."""
    unreadable: list[Unreadable] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    patches: set[str] = field(default_factory=set)
    """Files of patches: alone they are no deployments."""
    remote: str | None = None
    """Why there may be more objects than these."""

    @property
    def place(self) -> Place:
        """Where the kustomization begins."""
        return self.source.at(self.root.line)

    def change(self, resource: Resource, node: Node) -> None:
        """An object as this kustomization leaves it."""
        resource.node = node
        resource.owner = self.place

    def of_kind(self, kind: str, name: str) -> Iterator[Resource]:
        """Objects that have or had this name."""
        return (item for item in self.resources if item.kind == kind and name in item.names)


def resource_of(node: Node, path: str) -> Resource:
    """An object of a file."""
    return Resource(node, [name_of(node)], {path})


def selected(resources: Iterable[Resource], target: Node) -> Iterator[Resource]:
    """Those that a ``target`` or ``select`` means: kind and name are patterns that must match as a whole."""
    kind, name = target.scalar("kind"), target.scalar("name")
    labels = _labels(target.scalar("labelSelector"))
    for item in resources:
        if kind and not _matches(kind, item.kind):
            continue
        if name and not any(_matches(name, known) for known in item.names):
            continue
        if all(_label(item.node, key) in values for key, values in labels.items()):
            yield item


def _matches(pattern: str, text: str) -> bool:
    if pattern == text:
        return True
    repeats = re.findall(r"[+*?{]", pattern)
    if not 1 <= len(repeats) <= MOST_REPEATS or re.search(r"\)[+*{]", pattern):  # others may take for ever
        return False
    try:
        return re.fullmatch(pattern, text[:LONGEST_NAME]) is not None
    except re.error:
        return False


def _labels(selector: str) -> dict[str, list[str]]:
    """``a=b,c==d``; other operators select nothing."""
    found = {}
    for part in selector.split(",") if selector else ():
        key, _, value = part.partition("=")
        found[key.strip("! ")] = [value.strip("= ")]
    return found


def _label(node: Node, key: str) -> str:
    labels = node.get("metadata", "labels")
    value = labels.entries.get(key) if labels is not None else None
    return value.text if value is not None else ""
