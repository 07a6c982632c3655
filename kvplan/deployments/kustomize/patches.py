"""Patches of a kustomization: found in files or inline, told apart by their form, laid over the objects they mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.environment import items_of, text_line
from kvplan.deployments.kube.objects import name_of
from kvplan.deployments.kustomize.json_patch import patched
from kvplan.deployments.kustomize.merge import BUILT_IN, merged
from kvplan.deployments.kustomize.resources import Layer, Resource, selected
from kvplan.deployments.yaml_files import yaml_of
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

MOST_PATCHES = 500


class Patch(NamedTuple):
    """One document of a patch."""

    node: Node
    target: Node | None
    entry: Node


def patch_all(layer: Layer) -> None:
    """Every patch that is merged, in the order in which kustomize takes them."""
    for patch in _patches(layer, "patchesStrategicMerge", "patches"):
        _apply(patch, layer)


def patch_json(layer: Layer) -> None:
    """``patchesJson6902``: after names have been changed."""
    for patch in _patches(layer, "patchesJson6902"):
        _apply(patch, layer)


def _patches(layer: Layer, *keys: str) -> Iterator[Patch]:
    for key in keys:
        for entry in items_of(layer.root.get(key))[:MOST_PATCHES]:
            for node in _documents(entry, layer):
                yield Patch(node, entry.get("target") if entry.kind == "map" else None, entry)


def _documents(entry: Node, layer: Layer) -> list[Node]:
    """The documents of an entry: a path, a text, or a map with one of them."""
    inline = entry.get("patch") if entry.kind == "map" else entry if "\n" in entry.text else None
    if inline is not None:
        file = yaml_of(inline.source or layer.source, inline.text, text_line(inline))
    else:
        path = entry.scalar("path") if entry.kind == "map" else entry.text
        source = layer.source.beside(path)
        if not isinstance(source, Source):
            why = source.message if isinstance(source, Unreadable) else "is not in the tree"
            _fault(layer, entry, f"the patch {shorten(path, 100)} {why}")
            return []
        layer.patches.add(source.path)
        file = yaml_of(source)
    layer.unreadable += file.unreadable
    return file.roots


def _apply(patch: Patch, layer: Layer) -> None:
    operations = patch.node.items if patch.node.kind == "list" else [patch.node] if patch.node.get("op") else []
    name, kind = name_of(patch.node), patch.node.scalar("kind")
    if patch.target is not None:
        meant = list(selected(layer.resources, patch.target))
    else:
        meant = list(layer.of_kind(kind, name))
    if not meant and layer.remote is not None and not operations and patch.node.kind == "map":
        meant = [_part_of_remote(patch, layer, layer.remote)]
    if not meant and layer.remote is None:
        what = f"{kind} {name}" if patch.target is None else "its target"
        _fault(layer, patch.entry, f"a patch does not apply: {shorten(what, 100)} is not among the resources")
    for resource in meant:
        _lay_over(resource, patch.node, operations, layer)


def _lay_over(resource: Resource, patch: Node, operations: list[Node], layer: Layer) -> None:
    if operations:
        new = patched(resource.node, operations)
        if isinstance(new, str):
            _fault(layer, operations[0], f"a patch does not apply: {shorten(new, 100)} is not in the object")
            return
    else:
        by_key = resource.kind in BUILT_IN or layer.root.get("openapi") is not None
        named = resource.node.get("metadata", "name")
        laid = merged(resource.node, patch, by_key=by_key)
        if laid is None:
            layer.resources.remove(resource)
            return
        new = laid
        metadata = new.get("metadata")
        if named is not None and metadata is not None:  # a patch with a target may have any name
            kept = replace(metadata, entries={**metadata.entries, "name": named})
            new = replace(new, entries={**new.entries, "metadata": kept})
    layer.change(resource, new)


def _part_of_remote(patch: Patch, layer: Layer, why: str) -> Resource:
    """The object that a patch is for and that only a base outside the tree has: as far as patches tell."""
    target = patch.target
    kind = patch.node.entries.get("kind") or (target.entries.get("kind") if target is not None else None)
    entries = {"apiVersion": Node("scalar", patch.node.line, "v1", source=patch.node.source)}
    if kind is not None:
        entries["kind"] = kind
    names = [name for name in (target.scalar("name") if target is not None else "", name_of(patch.node)) if name]
    part = Node("map", patch.node.line, entries=entries, source=patch.node.source)
    resource = Resource(part, names[:1] or ["patched"], {layer.source.path}, partial=why)
    layer.resources.append(resource)
    return resource


def _fault(layer: Layer, entry: Node, message: str) -> None:
    layer.unreadable.append(Unreadable(entry.place(layer.source), message))
