"""The services of a compose file with what they take from others: ``extends``, and the file they override."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node, documents

_OVERRIDE = re.compile(r"^((?:docker-)?compose)\.override(\.ya?ml)$")
MOST_LAYERS = 8


@dataclass(slots=True)
class Service:
    """One service: its own map first, then those of what it extends."""

    name: str
    layers: list[tuple[Node, Source]]
    line: int
    claims: list[str] = field(default_factory=list)

    @property
    def source(self) -> Source:
        """The file that is read."""
        return self.layers[0][1]

    def get(self, *path: str) -> tuple[Node, Source] | None:
        """The value under these keys in the first layer that has it."""
        return next(self.all(*path), None)

    def all(self, *path: str) -> Iterator[tuple[Node, Source]]:
        """The values under these keys, the one that holds first."""
        for node, source in self.layers:
            found = node.get(*path)
            if found is not None:
                yield found, source


def services_of(root: Node, source: Source) -> list[Service]:
    """The services of a file; of ``compose.override.yaml`` with those of the file that it is laid over."""
    base = _overridden(source)
    lower = _services_node(base) if base is not None else None
    own = root.get("services")
    names = list(own.entries if own is not None else ())
    names += [name for name in (lower.entries if lower is not None else ()) if name not in names]
    found = []
    for name in names:
        layers: list[tuple[Node, Source]] = []
        for services, file in ((own, source), (lower, base)):
            node = services.entries.get(name) if services is not None else None
            if node is not None and node.kind == "map" and file is not None and services is not None:
                _extend(node, services, file, layers)
        if layers:
            line = own.key_lines.get(name, layers[0][0].line) if own is not None else layers[0][0].line
            found.append(Service(name, layers, line, [base.path] if base is not None else []))
    return found


def _extend(node: Node, services: Node, source: Source, layers: list[tuple[Node, Source]]) -> None:
    """The service and what it extends, in this file or another of the tree."""
    while len(layers) < MOST_LAYERS and all(node is not known for known, _ in layers):
        layers.append((node, source))
        extends = node.get("extends")
        if extends is None:
            return
        name = extends.text if extends.kind == "scalar" else extends.scalar("service")
        file = extends.scalar("file")
        if file:
            other = source.beside(file)
            found = _services_node(other) if isinstance(other, Source) else None
            if found is None or not isinstance(other, Source):
                return
            services, source = found, other
        following = services.entries.get(name)
        if following is None or following.kind != "map":
            return
        node = following


def _services_node(source: Source | None) -> Node | None:
    if source is None:
        return None
    roots, _ = documents(source.text)
    return next((services for root in roots[:1] if (services := root.get("services")) is not None), None)


def _overridden(source: Source) -> Source | None:
    match = _OVERRIDE.match(source.name)
    found = source.beside(match[1] + match[2]) if match else None
    return found if isinstance(found, Source) else None
