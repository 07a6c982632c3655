"""Kubernetes objects of some documents: found by kind and name, and their pods wherever a kind has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kvplan.deployments.found import Setting
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.yaml_files import yaml_of
from kvplan.deployments.yaml_tree import Node, maps_with
from kvplan.units import MIB, shorten

MOST_JOINED_FILES = 2000
"""Files of a tree in which an object is looked for that a manifest names."""
MOST_CHARACTERS = 64 * MIB
MISSING = "kvplan.missing"
"""Entry of a generated ConfigMap that names a file it is made of and that is not in the tree."""
_JOINED = re.compile(r"^kind:[ \t]*[\"']?(ConfigMap|ResourceClaimTemplate|ResourceClaim)\b", re.MULTILINE)
_WHOLE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod template and what it belongs to."""

    owner: Node
    """The Deployment or other object."""
    spec: Node
    """The map with ``containers``."""
    template: Node
    """The map with the pod's ``metadata``; the owner itself for a plain Pod."""
    nodes: Setting | None = None
    """Pods that make up one replica, this one included."""
    environment: dict[str, Node] = field(default_factory=dict)
    """Variables that a controller adds."""
    workers: Node | None = None
    """Pods with the GPUs, where this one has none and only starts the engine on theirs."""


def objects_of(roots: Iterable[Node]) -> Iterator[Node]:
    """The manifests, those of a ``kind: List`` one by one."""
    for root in roots:
        items = root.get("items")
        if root.scalar("kind").endswith("List") and items is not None:
            yield from (item for item in items.items if item.kind == "map")
        elif root.kind == "map" and "apiVersion" in root.entries:
            yield root


def name_of(item: Node) -> str:
    """The object's name, or what a name is made of."""
    return item.scalar("metadata", "name") or item.scalar("metadata", "generateName")


class Objects:
    """Objects by kind and name: those at hand first, then those of other files in the same tree."""

    def __init__(self, roots: Iterable[Node], source: Source, *, elsewhere: bool = True) -> None:
        self._known: dict[tuple[str, str], Node] = {}
        self._source = source
        self._elsewhere = elsewhere
        for item in objects_of(roots):
            self.put(item.scalar("kind"), name_of(item), item)

    def put(self, kind: str, name: str, item: Node) -> None:
        """Have an object found by one more name."""
        self._known.setdefault((kind, name), item)

    def find(self, kind: str, name: str) -> Node | str:
        """The object, or why there is none."""
        known = self._known.get((kind, name))
        if known is not None:
            return known
        found = _in_tree(self._source).get((kind, name), []) if self._elsewhere else []
        near = [item for item in found if item.source is not None and item.source.folder == self._source.folder]
        chosen = near or found
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            return f"{len(chosen)} files have a {kind} {shorten(name, 60)}"
        return f"the {kind} {shorten(name, 60)} is not in these files"


def _in_tree(source: Source) -> dict[tuple[str, str], list[Node]]:
    """Joined kinds of every YAML file of the tree, read once."""
    memo = source.memo
    if source.lister is None or memo is None:
        return {}
    index: dict[tuple[str, str], list[Node]] = {}
    known = memo.setdefault("kubernetes objects", index)
    if known is index:
        characters = 0
        for path in source.lister()[:MOST_JOINED_FILES]:
            other = source.opener(path) if source.opener is not None and characters < MOST_CHARACTERS else None
            if other is None or isinstance(other, Unreadable):
                continue
            characters += len(other.text)
            if _JOINED.search(other.text) is None:
                continue
            for item in objects_of(yaml_of(other).roots):
                index.setdefault((item.scalar("kind"), name_of(item)), []).append(item)
    return known if isinstance(known, dict) else {}


def pods_of(item: Node) -> Iterator[Pod]:
    """Every pod template of an object; of a group of pods the leader's, for the others join it."""
    group = item.get("spec", "leaderWorkerTemplate")
    if group is not None:
        yield from _of_leader_worker_set(item, group)
        return
    for head in maps_with(item, "headGroupSpec"):
        yield from _of_ray_cluster(item, head)
        return
    for spec, template in _specs(item):
        yield Pod(item, spec, template)


def _specs(item: Node) -> Iterator[tuple[Node, Node]]:
    """Every pod's ``spec`` below a node, and the template that it is in."""
    templates = {id(node.entries["spec"]): node for node in maps_with(item, "spec")}
    for spec in maps_with(item, "containers"):
        if spec.entries["containers"].kind == "list":
            yield spec, templates.get(id(spec), item)


def _of_leader_worker_set(item: Node, group: Node) -> Iterator[Pod]:
    """LeaderWorkerSet: ``size`` pods a replica, the leader one of them; without a template of its own it is a worker.

    Variables: LWS documentation, "Labels, Annotations and Environment Variables".
    """
    group_pods = group.get("size")
    pods = int(group_pods.text) if group_pods is not None and _WHOLE.fullmatch(group_pods.text) else 1
    nodes = Setting("nodes", pods, group_pods.place()) if group_pods is not None and pods > 1 else None
    leader = group.get("leaderTemplate") or group.get("workerTemplate")
    if leader is None:
        return
    address = Node("scalar", leader.line, f"{name_of(item) or 'leader'}-0", source=leader.source)
    added = {"LWS_LEADER_ADDRESS": address}
    added["LWS_WORKER_INDEX"] = Node("scalar", leader.line, "0", source=leader.source)
    added["LWS_GROUP_SIZE"] = group_pods or Node("scalar", leader.line, "1", source=leader.source)
    for spec, template in _specs(leader):
        yield Pod(item, spec, template, nodes, added)


def _of_ray_cluster(item: Node, cluster: Node) -> Iterator[Pod]:
    """Ray's head and workers (RayCluster, RayJob, AIBrix RayClusterFleet): one replica over all pods with GPUs."""
    head = cluster.entries["headGroupSpec"]
    workers = cluster.get("workerGroupSpecs")
    groups = workers.items if workers is not None else []
    count, place = (1 if _has_gpus(head) else 0), head
    for group in groups:
        if _has_gpus(group):
            replicas = group.get("replicas")
            each = _whole(group.scalar("numOfHosts"), 1)
            count, place = count + each * _whole(group.scalar("replicas"), 1), replicas or group
    nodes = Setting("nodes", count, place.place()) if count > 1 else None
    others = [spec for group in groups if _has_gpus(group) for spec, _ in _specs(group)]
    first = None if _has_gpus(head) else next(iter(others), None)
    for part in (head, *groups):
        for spec, template in _specs(part):
            yield Pod(item, spec, template, nodes, workers=first if part is head else None)


def _whole(text: str, default: int) -> int:
    return int(text) if _WHOLE.fullmatch(text) else default


def _has_gpus(group: Node) -> bool:
    return any(
        _whole(limits.text, 0) > 0
        for resources in maps_with(group, "resources")
        for kind in ("limits", "requests")
        for limits in _of_gpus(resources.get("resources", kind))
    )


def _of_gpus(listed: Node | None) -> list[Node]:
    return [node for name, node in listed.entries.items() if name.endswith("/gpu")] if listed is not None else []


def annotations_of(pod: Pod) -> dict[str, Setting]:
    """Annotations that speak to kvplan, of the object and of its pods."""
    found = {}
    for holder in (pod.owner, pod.template):
        listed = holder.get("metadata", "annotations")
        for name, node in listed.entries.items() if listed is not None else ():
            if name.startswith("kvplan.dev/") and node.kind == "scalar":
                found[name] = Setting(name, node.text, node.place())
    return found
