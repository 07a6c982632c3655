"""Kubernetes manifests: whatever has containers that start an engine.

Deployments, StatefulSets, Jobs, Pods, LeaderWorkerSets and their like differ only in where the pod template is, so
every map with ``containers`` is looked at. One pod is judged: replicas run beside each other on other GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.found import Complaint, FoundDeployment, Setting, Unresolved
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.pod_commands import PodCommand, command_of, environment_of, unread_items
from kvplan.deployments.yaml_tree import Node, documents, maps_with
from kvplan.units import shorten

_GPU = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
_PRODUCT = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name",
            "k8s.amazonaws.com/accelerator", "gpu.nvidia.com/class")  # fmt: skip
_MANIFEST = re.compile(r"^[ \t-]*\"?apiVersion\"?[ \t]*:", re.MULTILINE)
MOST_CONTAINERS = 2000
_WHOLE = re.compile(r"[0-9]{1,9}")


class Kubernetes:
    """Manifests, several documents in a file."""

    name = "kubernetes"
    order = 20
    names = ("*.yaml", "*.yml", "*.json")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", ".json", ""):
            return False
        return "containers" in source.text and _MANIFEST.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        found = [item for root in roots for item in _deployments(root, roots, source)]
        message = f"not read further: more than {MOST_CONTAINERS:,} containers that run an engine"
        unread = [Unreadable(item.place, message, "split the file", "fail") for item in found[MOST_CONTAINERS:][:1]]
        if fault is not None:
            advice = "render it first: helm template CHART | kvplan check -" if "{{" in source.text else None
            unread.append(Unreadable(source.at(fault.line), fault.message, advice))
        return Reading(_named(found[:MOST_CONTAINERS]), unread)


def _deployments(root: Node, roots: list[Node], source: Source) -> Iterator[FoundDeployment]:
    for item in _objects(root):
        workers = item.get("spec", "leaderWorkerTemplate")
        place = workers if workers is not None else item
        for pod in maps_with(place, "containers"):
            for container in pod.entries["containers"].items:
                found = _deployment(item, pod, container, roots, source)
                if found is not None:
                    yield found


def _objects(root: Node) -> Iterator[Node]:
    """The manifest, or those of a ``kind: List``."""
    items = root.get("items")
    if root.scalar("kind").endswith("List") and items is not None:
        yield from (item for item in items.items if item.kind == "map")
    elif root.kind == "map" and "apiVersion" in root.entries:
        yield root


def _deployment(item: Node, pod: Node, container: Node, roots: list[Node], source: Source) -> FoundDeployment | None:
    environment = environment_of(container, roots, source)
    command = command_of(container, source, environment)
    if command is None:
        return None
    image = container.scalar("image") or None
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=source.at(_first_line(container, command)),
        environment=command.environment,
        image=image,
        image_place=source.at(container.key_lines["image"]) if image else None,
    )
    return deployment_of(
        launch,
        name=item.scalar("metadata", "name") or item.scalar("metadata", "generateName") or source.stem,
        form=FORM.name,
        surroundings=(_limits(container, source) | _node(item, pod, source)).values(),
        unresolved=_shared_gpu(container, source),
        complaints=[*unread_items(container, source), *_odd_counts(container, source)],
    )


def _first_line(container: Node, command: PodCommand) -> int:
    return command.line or container.line


def _limits(container: Node, source: Source) -> dict[str, Setting]:
    """GPUs, and what the container may use of the host: limits only, for a request is no ceiling."""
    limits, requests = container.get("resources", "limits"), container.get("resources", "requests")
    settings: dict[str, Setting] = {}
    for listed in (requests, limits):
        for name, node in listed.entries.items() if listed is not None else ():
            if name in _GPU and _WHOLE.fullmatch(node.text):
                settings["gpus"] = Setting("gpus", int(node.text), source.at(node.line))
    for name, key in (("cpu_limit", "cpu"), ("memory_limit", "memory")):
        limit = limits.get(key) if limits is not None else None
        if limit is not None and limit.kind == "scalar" and limit.text:
            settings[name] = Setting(name, limit.text, source.at(limit.line))
    return settings


def _odd_counts(container: Node, source: Source) -> Iterator[Complaint]:
    """GPUs that are no whole number: Kubernetes refuses them, and a placeholder is filled in by something else."""
    for part in ("requests", "limits"):
        listed = container.get("resources", part)
        for name, node in listed.entries.items() if listed is not None else ():
            if name in _GPU and not _WHOLE.fullmatch(node.text):
                level = "unknown" if not node.text or re.search(r"\$[({]|\{\{", node.text) else "fail"
                message = f"{name} must be a whole number (it is {shorten(node.text)!r})"
                yield Complaint(message, source.at(node.line), level=level, stops=True)


def _shared_gpu(container: Node, source: Source) -> Iterator[Unresolved]:
    """Slices of a GPU have other memory than the card."""
    limits = container.get("resources", "limits")
    for name, node in limits.entries.items() if limits is not None else ():
        if name.startswith("nvidia.com/mig-") or "gpumem" in name or name.endswith(".shared"):
            text = f"{name}: {node.text[:20]}"
            yield Unresolved("gpu_product", text, source.at(node.line), "a part of a GPU has less memory than the card")


def _node(item: Node, pod: Node, source: Source) -> dict[str, Setting]:
    """The GPU that the pod asks for by name, and over how many pods a LeaderWorkerSet spreads."""
    settings: dict[str, Setting] = {}
    selector = pod.get("nodeSelector")
    for name, node in selector.entries.items() if selector is not None else ():
        if name in _PRODUCT and node.text:
            settings["gpu_product"] = Setting("gpu_product", node.text, source.at(node.line))
    for term in _affinity(pod):
        values = term.get("values")
        if term.scalar("key") in _PRODUCT and term.scalar("operator") == "In" and values is not None:
            if len(values.items) == 1:
                only = values.items[0]
                settings["gpu_product"] = Setting("gpu_product", only.text, source.at(only.line))
    pods = item.get("spec", "leaderWorkerTemplate", "size")
    if pods is not None and _WHOLE.fullmatch(pods.text) and int(pods.text) > 1:
        settings["nodes"] = Setting("nodes", int(pods.text), source.at(pods.line))
    return settings


def _affinity(pod: Node) -> Iterator[Node]:
    required = pod.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for terms in maps_with(required, "matchExpressions") if required is not None else ():
        yield from terms.entries["matchExpressions"].items


def _named(found: list[FoundDeployment]) -> list[FoundDeployment]:
    """Names that differ: the second ``chat`` of a file is ``chat-2``."""
    from dataclasses import replace

    counts: dict[str, int] = {}
    named = []
    for item in found:
        counts[item.name] = counts.get(item.name, 0) + 1
        number = counts[item.name]
        named.append(item if number == 1 else replace(item, name=f"{item.name}-{number}"))
    return named


FORM = Kubernetes()
