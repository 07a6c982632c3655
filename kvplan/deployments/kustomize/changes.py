"""What a kustomization changes in objects without a patch: images, replicas, names."""

from __future__ import annotations

import re
from dataclasses import replace

from kvplan.deployments.kube.environment import items_of
from kvplan.deployments.kustomize.resources import Layer, Resource
from kvplan.deployments.yaml_tree import Node

_IMAGE = re.compile(r"^(?P<name>[^@]+?)(?::(?P<tag>[\w.-]+))?(?:@(?P<digest>sha256:\w+))?$")
LONGEST_IMAGE = 512
_LISTS = ("containers", "initContainers")


def rename(layer: Layer) -> None:
    """``namePrefix`` and ``nameSuffix``; the old names are still found by references."""
    prefix, suffix = layer.root.scalar("namePrefix"), layer.root.scalar("nameSuffix")
    if prefix or suffix:
        for resource in layer.resources:
            resource.names.append(f"{prefix}{resource.names[-1]}{suffix}")


def scale(layer: Layer) -> None:
    """``replicas``."""
    for entry in items_of(layer.root.get("replicas")):
        count = entry.get("count")
        for resource in layer.resources:
            spec = resource.node.get("spec")
            if count is not None and spec is not None and entry.scalar("name") in resource.names:
                changed = replace(spec, entries={**spec.entries, "replicas": count})
                layer.change(resource, replace(resource.node, entries={**resource.node.entries, "spec": changed}))


def retag(layer: Layer) -> None:
    """``images``: another name, tag or digest for every image of that name."""
    entries = [entry for entry in items_of(layer.root.get("images")) if entry.scalar("name")]
    for resource in layer.resources if entries else []:
        node = _retagged(resource.node, entries)
        if node is not resource.node:
            layer.change(resource, node)


def _retagged(node: Node, entries: list[Node], depth: int = 0) -> Node:
    if node.kind != "map" or depth > 20:
        return node
    changed = {}
    for key, value in node.entries.items():
        if value.kind == "list" and key in _LISTS:
            items = [_with_image(item, entries) for item in value.items]
            if any(new is not old for new, old in zip(items, value.items, strict=True)):
                changed[key] = replace(value, items=items)
        elif value.kind == "map":
            new = _retagged(value, entries, depth + 1)
            if new is not value:
                changed[key] = new
        elif value.kind == "list":
            inner = [_retagged(item, entries, depth + 1) for item in value.items]
            if any(new is not old for new, old in zip(inner, value.items, strict=True)):
                changed[key] = replace(value, items=inner)
    return replace(node, entries={**node.entries, **changed}) if changed else node


def _with_image(container: Node, entries: list[Node]) -> Node:
    image = container.get("image")
    written = _IMAGE.match(image.text) if image is not None and len(image.text) <= LONGEST_IMAGE else None
    if image is None or written is None:
        return container
    for entry in entries:
        if entry.scalar("name") != written["name"]:
            continue
        name = entry.scalar("newName") or written["name"]
        tag = entry.scalar("newTag") or (written["tag"] if not entry.scalar("digest") else None)
        digest = entry.scalar("digest") or (written["digest"] if not entry.scalar("newTag") else None)
        text = name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")
        said = entry.get("newTag") or entry.get("digest") or entry.get("newName") or entry
        new = replace(said, kind="scalar", text=text, style="", items=[], entries={})
        return replace(container, entries={**container.entries, "image": new})
    return container


def touch_readers(layer: Layer, config_maps: set[str]) -> None:
    """Objects that read one of these ConfigMaps are what this layer makes of them."""
    for resource in layer.resources if config_maps else []:
        if resource.kind != "ConfigMap" and _reads(resource.node, config_maps):
            layer.change(resource, resource.node)


def _reads(node: Node, names: set[str]) -> bool:
    waiting = [node]
    while waiting:
        now = waiting.pop()
        for key, value in now.entries.items():
            if key in ("configMapKeyRef", "configMapRef", "configMap") and value.scalar("name") in names:
                return True
            waiting.append(value)
        waiting.extend(now.items)
    return False


def names_of(resources: list[Resource]) -> list[tuple[str, str, Node]]:
    """(kind, name, object) for every name that an object has or had, the latest object first."""
    return [(item.kind, name, item.node) for item in reversed(resources) for name in reversed(item.names)]
