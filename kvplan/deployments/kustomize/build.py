"""A kustomization -> the objects that it amounts to, as far as the files of the tree tell.

Nothing is fetched or run. Steps in kustomize's own order: resources, components, generators, patches, names, JSON
patches, replicas, images, replacements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.environment import items_of
from kvplan.deployments.kube.objects import objects_of
from kvplan.deployments.kustomize.changes import rename, retag, scale, touch_readers
from kvplan.deployments.kustomize.generators import generate
from kvplan.deployments.kustomize.patches import patch_all, patch_json
from kvplan.deployments.kustomize.replacements import replace_fields, variables_of_layer
from kvplan.deployments.kustomize.resources import Layer, Resource, resource_of
from kvplan.deployments.yaml_files import YamlFile, yaml_of
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

FILE_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MOST_DEPTH = 20
MOST_FILES = 500
_REMOTE = re.compile(r"^[a-z+]+://|^git@|^(?:www\.)?[\w-]+\.(?:com|org|io|net|dev)/|\?ref=|\.git(?:/|$)")
_UNRENDERED = {"helmCharts": "helm charts are rendered by helm", "generators": "generators are run by kustomize"}


@dataclass(slots=True)
class Walk:
    """The way down to a kustomization, and how many files were opened on all ways."""

    above: tuple[str, ...] = ()
    opened: list[str] = field(default_factory=list)

    def below(self, path: str) -> Walk:
        """One step further down."""
        return Walk((*self.above, path), self.opened)


def build(source: Source, walk: Walk | None = None, into: Layer | None = None) -> Layer:
    """The layer of a kustomization file. A component changes the layer that it is given."""
    file = _yaml(source)
    root = next((root for root in file.roots if root.kind == "map"), Node("map", 1, source=source))
    walk = (walk or Walk()).below(source.path)
    layer = Layer(source, root, unreadable=list(file.unreadable))
    if into is not None:
        layer.resources, layer.variables, layer.remote = into.resources, into.variables, into.remote
    for key in ("resources", "bases"):
        for entry in items_of(root.get(key)):
            _add(entry, layer, walk)
    for entry in items_of(root.get("components")):
        _component(entry, layer, walk)
    names = generate(layer)
    touch_readers(layer, names)
    patch_all(layer)
    variables_of_layer(layer)
    rename(layer)
    patch_json(layer)
    scale(layer)
    retag(layer)
    replace_fields(layer)
    _say_unrendered(layer)
    return layer


def _yaml(source: Source) -> YamlFile:
    """A file's documents, parsed once in a run: layers replace nodes and never change them."""
    memo = source.memo if source.memo is not None else {}
    known = memo.get(f"yaml {source.path}")
    if not isinstance(known, YamlFile):
        known = memo[f"yaml {source.path}"] = yaml_of(source)
    return known


def _add(entry: Node, layer: Layer, walk: Walk) -> None:
    """A file of objects, a folder with a kustomization, or something outside the tree."""
    path = entry.text
    if _REMOTE.search(path):
        layer.remote = layer.remote or f"the base {shorten(path, 120)} is not in the tree: what else does it set?"
        layer.unreadable.append(Unreadable(entry.place(layer.source), layer.remote, "vendor it, or render it first: "
                                           "kustomize build . | kvplan check -"))  # fmt: skip
        return
    source = _open(path, layer, walk)
    if isinstance(source, str):
        layer.unreadable.append(Unreadable(entry.place(layer.source), source))
        return
    if source.name in FILE_NAMES:
        _take_over(build(source, walk), source, layer)
        return
    file = _yaml(source)
    layer.unreadable += file.unreadable
    layer.resources += [resource_of(item, source.path) for item in objects_of(file.roots)]


def _take_over(inner: Layer, source: Source, layer: Layer) -> None:
    for resource in inner.resources:
        resource.files.add(source.path)
        resource.files |= inner.patches if resource.owner == inner.place else set()
    layer.resources += inner.resources
    layer.variables.update(inner.variables)
    layer.unreadable += inner.unreadable
    layer.complaints += inner.complaints
    layer.remote = layer.remote or inner.remote


def _component(entry: Node, layer: Layer, walk: Walk) -> None:
    source = _open(entry.text, layer, walk)
    if _REMOTE.search(entry.text) or isinstance(source, str):
        message = source if isinstance(source, str) else f"the component {shorten(entry.text, 120)} is not in the tree"
        layer.unreadable.append(Unreadable(entry.place(layer.source), message))
        return
    before = [(resource, resource.node) for resource in layer.resources]
    inner = build(source, walk, layer)
    layer.resources = inner.resources
    layer.unreadable += inner.unreadable
    layer.complaints += inner.complaints
    layer.patches |= inner.patches
    layer.remote = layer.remote or inner.remote
    for resource, node in before:
        if resource.node is not node or resource.owner == inner.place:
            layer.change(resource, resource.node)


def _open(path: str, layer: Layer, walk: Walk) -> Source | str:
    """The file of a path, or of the kustomization in the folder of that path, or why there is none."""
    if len(walk.above) >= MOST_DEPTH or len(walk.opened) >= MOST_FILES:
        return f"not read further: more than {MOST_DEPTH} layers or {MOST_FILES} files"
    shown = shorten(path, 120)
    for name in ("", *FILE_NAMES):
        source = layer.source.beside(f"{path.rstrip('/')}/{name}" if name else path)
        if isinstance(source, Unreadable):
            return f"{shown}: {source.message}"
        if source is not None:
            if source.path in walk.above:
                return f"{shown} leads back to itself"
            walk.opened.append(source.path)
            return source
    return f"{shown} is not in the tree"


def _say_unrendered(layer: Layer) -> None:
    for key, why in _UNRENDERED.items():
        node = layer.root.get(key)
        if node is not None and node.items:
            advice = "kustomize build . | kvplan check -"
            layer.unreadable.append(Unreadable(node.place(layer.source), f"{key}: {why}", advice))


def changed_here(layer: Layer, resource: Resource) -> bool:
    """Whether this layer makes another deployment of an object than what it is laid over."""
    return resource.owner == layer.place
