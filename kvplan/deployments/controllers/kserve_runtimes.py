"""KServe's serving runtimes: the containers that InferenceServices run in."""

from __future__ import annotations

from typing import Final, NamedTuple

from kvplan.deployments.controllers.custom_resources import Resource, objects_of
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node, documents

RUNTIMES: Final = ("ServingRuntime", "ClusterServingRuntime")


class Runtime(NamedTuple):
    """A serving runtime's container, and the file that it is in."""

    container: Node
    source: Source
    spec: Node


def runtime_of(resource: Resource, name: str) -> Runtime | None:
    """The runtime by its name, in this file or in a file beside it."""
    if not name:
        return None
    found = _runtime_in(resource.roots, name, resource.source)
    for file in ("servingruntime.yaml", "serving-runtime.yaml", "runtime.yaml", f"{name}.yaml"):
        if found is not None:
            return found
        other = resource.source.beside(file)
        if isinstance(other, Source) and "ServingRuntime" in other.text:
            found = _runtime_in(documents(other.text)[0], name, other)
    return found


def _runtime_in(roots: list[Node], name: str, source: Source) -> Runtime | None:
    for item in (item for root in roots for item in objects_of(root)):
        spec = item.get("spec")
        if item.scalar("kind") in RUNTIMES and item.scalar("metadata", "name") == name and spec is not None:
            containers = _containers(spec)
            main = next((one for one in containers if one.scalar("name") == "kserve-container"), None)
            if main is not None or containers:
                return Runtime(main or containers[0], source, spec)
    return None


def _containers(spec: Node) -> list[Node]:
    containers = spec.get("containers")
    return [item for item in (containers.items if containers is not None else []) if item.kind == "map"]
