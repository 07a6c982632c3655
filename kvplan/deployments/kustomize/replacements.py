"""``replacements`` and ``vars``: a field of one object copied into others. Only plain paths, read literally."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.environment import items_of
from kvplan.deployments.kustomize.resources import Layer, Resource, selected
from kvplan.deployments.yaml_files import yaml_of
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

_TOKEN = re.compile(r"\[([^\[\]]*)\]|((?:\\.|[^.\[\]\\])+)")
_INDEX = re.compile(r"-?[0-9]{1,6}")
MOST_REPLACEMENTS = 500
MOST_STEPS = 50


def replace_fields(layer: Layer) -> None:
    """Every replacement of a layer. One whose source is not at hand leaves ``$(KEY)`` where it would go."""
    for entry in _entries(layer):
        origin = entry.get("source")
        if origin is None:
            continue
        path = origin.scalar("fieldPath") or "metadata.name"
        value = _source_value(origin, path, layer)
        if value is None:
            key = _tokens(path)[-1:] or ["value"]
            value = Node("scalar", origin.line, f"$({key[0]})", source=origin.source)
        for target in items_of(entry.get("targets")):
            _into(target, value, layer)


def variables_of_layer(layer: Layer) -> None:
    """``vars``: what ``$(NAME)`` stands for in commands, arguments and variables."""
    for entry in items_of(layer.root.get("vars")):
        reference = entry.get("objref")
        if reference is not None and entry.scalar("name"):
            value = _source_value(reference, entry.scalar("fieldref", "fieldpath") or "metadata.name", layer)
            if value is not None:
                layer.variables[entry.scalar("name")] = value


def _entries(layer: Layer) -> list[Node]:
    found = []
    for entry in items_of(layer.root.get("replacements"))[:MOST_REPLACEMENTS]:
        path = entry.scalar("path")
        if not path:
            found.append(entry)
            continue
        source = layer.source.beside(path)
        if isinstance(source, Source):
            roots = yaml_of(source).roots
            found += [item for root in roots for item in (root.items if root.kind == "list" else [root])]
        else:
            message = f"the replacement {shorten(path, 100)} is not in the tree"
            layer.unreadable.append(Unreadable(entry.place(layer.source), message))
    return found


def _source_value(origin: Node, path: str, layer: Layer) -> Node | None:
    resource = next(selected(layer.resources, origin), None)
    if resource is None:
        return None
    if path == "metadata.name":
        return Node("scalar", origin.line, resource.names[-1], source=origin.source)
    values: list[Node] = []

    def keep(node: Node) -> Node:
        values.append(node)
        return node

    _changed(resource.node, _tokens(path), keep)
    value = values[0] if values and values[0].kind == "scalar" else None
    if value is None:
        return None
    part = _part(value.text, origin)
    return value if part is None else replace(value, text=part)


def _part(text: str, holder: Node) -> str | None:
    delimiter, index = holder.scalar("options", "delimiter"), holder.scalar("options", "index") or "0"
    if not delimiter or not _INDEX.fullmatch(index):
        return None
    parts = text.split(delimiter)
    return parts[int(index)] if 0 <= int(index) < len(parts) else text


def _into(target: Node, value: Node, layer: Layer) -> None:
    chosen = target.get("select")
    rejected = [item for reject in items_of(target.get("reject")) for item in selected(layer.resources, reject)]
    for resource in list(selected(layer.resources, chosen)) if chosen is not None else []:
        if any(resource is item for item in rejected):
            continue
        for path in items_of(target.get("fieldPaths")):
            _put(resource, path.text, value, target, layer)


def _put(resource: Resource, path: str, value: Node, target: Node, layer: Layer) -> None:
    if path == "metadata.name":
        return  # names matter to references alone, and those find an object by each of its names
    node = _changed(resource.node, _tokens(path), lambda old: _new_value(old, value, target))
    if node is not resource.node:
        if path.startswith("spec.") and "labels" not in path.lower():
            layer.change(resource, node)
        else:
            resource.node = node


def _new_value(old: Node, value: Node, target: Node) -> Node:
    delimiter, index = target.scalar("options", "delimiter"), target.scalar("options", "index") or "0"
    if not delimiter or not _INDEX.fullmatch(index):
        return value
    parts = old.text.split(delimiter)
    place = int(index)
    if place < 0:
        parts.insert(0, value.text)
    elif place >= len(parts):
        parts.append(value.text)
    else:
        parts[place] = value.text
    return replace(old, text=delimiter.join(parts))


def _tokens(path: str) -> list[str]:
    """``spec.containers.[name=x].image`` -> its steps; a step in brackets without ``=`` is a key with dots."""
    found = []
    for match in _TOKEN.finditer(path):
        inside = match[1]
        found.append(match[2].replace("\\", "") if inside is None else f"[{inside}]" if "=" in inside else inside)
    return found[:MOST_STEPS]


def _changed(node: Node, tokens: list[str], change: Callable[[Node], Node]) -> Node:
    """The node with every field that the steps lead to changed."""
    if not tokens:
        return change(node)
    first, rest = tokens[0], tokens[1:]
    if node.kind == "map":
        chosen = list(node.entries) if first == "*" else [first] if first in node.entries else []
        new = {key: _changed(node.entries[key], rest, change) for key in chosen}
        same = all(new[key] is node.entries[key] for key in chosen)
        return node if same else replace(node, entries={**node.entries, **new})
    if node.kind == "list":
        items = [_changed(item, rest, change) if _is_meant(item, at, first) else item
                 for at, item in enumerate(node.items)]  # fmt: skip
        same = all(new is old for new, old in zip(items, node.items, strict=True))
        return node if same else replace(node, items=items)
    return node


def _is_meant(item: Node, index: int, token: str) -> bool:
    if token.startswith("["):
        key, _, value = token[1:-1].partition("=")
        return item.scalar(key) == value
    return token in ("*", str(index))
