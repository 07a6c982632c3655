"""ConfigMaps that a kustomization generates of literals and files, each value with its own line.

Source: kustomize documentation, ``configMapGenerator``; its reader of env files keeps a value as it is written.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kvplan.deployments.found import Complaint
from kvplan.deployments.interface import Source
from kvplan.deployments.kube.environment import items_of
from kvplan.deployments.kube.objects import MISSING
from kvplan.deployments.kustomize.resources import Layer, Resource
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

MOST_ENTRIES = 10_000
_COMMENT = re.compile(r"[ \t]#.*$")


def generate(layer: Layer) -> set[str]:
    """Adds or changes the ConfigMaps of a layer; returns their names."""
    names = set()
    for entry in items_of(layer.root.get("configMapGenerator")):
        name = entry.scalar("name")
        if not name:
            continue
        names.add(name)
        data, missing = _data(entry, layer)
        old = next(layer.of_kind("ConfigMap", name), None)
        if old is not None and entry.scalar("behavior") in ("merge", "replace"):
            kept = {} if entry.scalar("behavior") == "replace" else _entries(old.node)
            layer.change(old, _config_map(entry, name, {**kept, **data}, missing or old.node.scalar(MISSING)))
        else:
            layer.resources.append(Resource(_config_map(entry, name, data, missing), [name], {layer.source.path}))
    return names


def _entries(node: Node) -> dict[str, Node]:
    data = node.get("data")
    return dict(data.entries) if data is not None and data.kind == "map" else {}


def _config_map(entry: Node, name: str, data: dict[str, Node], missing: str) -> Node:
    def text(value: str) -> Node:
        return Node("scalar", entry.line, value, source=entry.source)

    entries = {
        "apiVersion": text("v1"),
        "kind": text("ConfigMap"),
        "metadata": Node("map", entry.line, entries={"name": text(name)}, source=entry.source),
        "data": Node("map", entry.line, entries=data, source=entry.source),
    }
    if missing:
        entries[MISSING] = text(missing)
    return Node("map", entry.line, entries=entries, source=entry.source)


def _data(entry: Node, layer: Layer) -> tuple[dict[str, Node], str]:
    """Entries of one generator, and the first file that is not at hand."""
    found: dict[str, Node] = {}
    missing = ""
    for path in [*items_of(entry.get("envs")), *items_of(entry.get("env"))]:
        source = layer.source.beside(path.text)
        if isinstance(source, Source):
            found.update(_of_env_file(source, layer))
        else:
            missing = missing or path.text
    for item in items_of(entry.get("files")):
        key, equals, path_text = item.text.partition("=")
        path_text = path_text if equals else key
        source = layer.source.beside(path_text)
        if isinstance(source, Source):
            found[key if equals else source.name] = _whole_file(source)
        else:
            missing = missing or path_text
    for item in items_of(entry.get("literals")):
        key, _, value = item.text.partition("=")
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[key] = replace(item, text=value[1:-1] if quoted else value)
    return found, missing


def _whole_file(source: Source) -> Node:
    """As a block text that begins above the first line."""
    return Node("scalar", 0, source.text, "|", end_line=source.text.count("\n") + 1, source=source)


def _of_env_file(source: Source, layer: Layer) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for number, line in enumerate(source.text.split("\n")[:MOST_ENTRIES], start=1):
        line = line.lstrip()
        key, equals, value = line.partition("=")
        if not line.strip() or line.startswith("#") or not equals:
            continue
        comment = _COMMENT.search(value)
        if comment is not None and not value.lstrip().startswith(("{", "[", "'", '"')):
            said = shorten(comment[0].strip(), 40)
            message = f"{shorten(key, 40)}: kustomize takes {said!r} for a part of the value"
            advice = "put the comment on a line of its own"
            layer.complaints.append(Complaint(message, source.at(number), advice, level="warn"))
            value = value[: comment.start()].rstrip()
        found[key] = Node("scalar", number, value.rstrip("\r"), "", end_line=number, source=source)
    return found
