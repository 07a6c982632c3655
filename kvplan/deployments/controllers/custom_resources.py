"""Kubernetes objects that a controller turns into pods: one form a kind, any of them beside each other in one file.

A file of manifests may hold several kinds. Whichever form recognises it first, every object is read by the form of its
own kind, and what no controller's form knows is left to the Kubernetes form.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.yaml_tree import Node, YamlFault, documents, maps_with

MOST_OBJECTS = 2000
_ANNOTATION = "kvplan.dev/"
_NO_PODS = {"ConfigMap", "Secret", "Service", "PersistentVolumeClaim", "CustomResourceDefinition"}


class Resource(NamedTuple):
    """One object, and the file that it is in."""

    root: Node
    roots: list[Node]
    source: Source
    maps: dict[str, Node]
    """ConfigMaps of the file by name."""

    @property
    def name(self) -> str:
        """``metadata.name``, or the file's."""
        own = self.root.scalar("metadata", "name") or self.root.scalar("metadata", "generateName")
        return own or self.source.title

    def config_map(self, name: str) -> dict[str, Node]:
        """The data of a ConfigMap in the same file; empty where there is none."""
        known = self.maps.get(name)
        data = known.get("data") if known is not None else None
        return data.entries if data is not None else {}


Found = FoundDeployment | Unreadable


class ResourceForm:
    """A form of objects: a subclass says which, and what is in one."""

    name: str
    order = 15
    names: tuple[str, ...] = ("*.yaml", "*.yml", "*.json")
    traces: tuple[bytes, ...]
    group: str
    """A part of ``apiVersion`` that these kinds have."""
    kinds: tuple[str, ...]

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", ".json", ""):
            return False
        if self.group not in source.text:
            return False
        kind = rf"(?m)^[ \t{{,-]*\"?kind\"?[ \t]*:[ \t]*[\"']?(?:{'|'.join(self.kinds)})\b"
        group = rf"(?m)^[ \t{{,-]*\"?apiVersion\"?[ \t]*:[ \t]*[\"']?[\w.-]*{re.escape(self.group)}"
        return re.search(kind, source.text) is not None and re.search(group, source.text) is not None

    def read(self, source: Source) -> Reading:
        return read_objects(source)

    def is_of(self, root: Node) -> bool:
        """Whether an object is of one of these kinds."""
        return root.scalar("kind") in self.kinds and self.group in root.scalar("apiVersion")

    def found_in(self, resource: Resource) -> Iterator[Found]:
        """The deployments of one object, and what cannot be read of it."""
        raise NotImplementedError


def objects_of(root: Node) -> list[Node]:
    """The object, or those of a ``kind: List``."""
    items = root.get("items")
    if root.scalar("kind").endswith("List") and items is not None:
        return [item for item in items.items if item.kind == "map"]
    return [root] if root.kind == "map" else []


def read_objects(source: Source) -> Reading:
    """Every object by its own form, the others by the Kubernetes form."""
    roots, fault = documents(source.text)
    objects = [item for root in roots for item in objects_of(root)]
    maps = {item.scalar("metadata", "name"): item for item in objects if item.scalar("kind") == "ConfigMap"}
    found: list[Found] = []
    own: set[int] = set()
    for item in objects[:MOST_OBJECTS]:
        form = _form_of(item)
        if form is not None:
            own.add(item.line)
            resource = Resource(item, roots, source, maps)
            found += [_annotated(one, item, source) for one in form.found_in(resource)]
    deployments = [item for item in found if isinstance(item, FoundDeployment)]
    unreadable = [item for item in found if isinstance(item, Unreadable)]
    unreadable += [_too_many(source.at(item.line)) for item in objects[MOST_OBJECTS:][:1]]
    rest = _others(source, [item for item in objects if item.line not in own])
    if rest is None:
        unreadable += unread_rest(source, fault)
        return Reading(unique_names(deployments), unreadable)
    lines = {item.place.line for item in rest.unreadable}
    unreadable += [item for item in unread_rest(source, fault) if item.place.line not in lines]
    starts = sorted({item.line for item in objects})
    others = [item for item in rest.deployments if _start(starts, item.place.line) not in own]
    return Reading(unique_names([*deployments, *others]), [*unreadable, *rest.unreadable], rest.claims)


def _others(source: Source, objects: list[Node]) -> Reading | None:
    """What the Kubernetes form reads, where there is something left for it."""
    from kvplan.deployments.forms.kubernetes import FORM as KUBERNETES

    pods = any(item.scalar("kind") not in _NO_PODS and any(maps_with(item, "containers")) for item in objects)
    return KUBERNETES.read(source) if pods or not objects else None


def unread_rest(source: Source, fault: YamlFault | None) -> list[Unreadable]:
    """Where and why a file stops being readable, and what to do."""
    if fault is None:
        return []
    advice = "render it first: helm template CHART | kvplan check -" if "{{" in source.text else None
    return [Unreadable(source.at(fault.line), fault.message, advice)]


def unique_names(found: list[FoundDeployment]) -> list[FoundDeployment]:
    """Names that differ: the second ``chat`` of a file is ``chat-2``."""
    counts: dict[str, int] = {}
    named = []
    for item in found:
        number = counts[item.name] = counts.get(item.name, 0) + 1
        named.append(item if number == 1 else replace(item, name=f"{item.name}-{number}"))
    return named


def _form_of(item: Node) -> ResourceForm | None:
    from kvplan.deployments.forms import all_forms

    return next((form for form in all_forms() if isinstance(form, ResourceForm) and form.is_of(item)), None)


def _start(starts: list[int], line: int) -> int:
    """The first line of the object that a line is in."""
    index = bisect_right(starts, line)
    return starts[index - 1] if index else 0


def _annotated(found: Found, item: Node, source: Source) -> Found:
    annotations = item.get("metadata", "annotations")
    if annotations is None or isinstance(found, Unreadable):
        return found
    spoken = {
        key: Setting(key, node.text, source.at(node.line))
        for key, node in annotations.entries.items()
        if key.startswith(_ANNOTATION) and node.kind == "scalar"
    }
    return replace(found, annotations={**spoken, **found.annotations})


def _too_many(place: Place) -> Unreadable:
    return Unreadable(place, f"not read further: more than {MOST_OBJECTS:,} objects", "split the file", "fail")
