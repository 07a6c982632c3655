"""Kustomizations: bases with their overlays, patches, generated ConfigMaps and image tags, joined."""

from __future__ import annotations

import re

from kvplan.deployments.commands import traces as traces_of_commands
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.kube.found import Reader, named_apart
from kvplan.deployments.kube.objects import Objects
from kvplan.deployments.kustomize.build import FILE_NAMES, build, changed_here
from kvplan.deployments.kustomize.changes import names_of
from kvplan.deployments.kustomize.resources import Layer, Resource

_OWN_KIND = re.compile(r"^apiVersion:[ \t]*[\"']?kustomize\.config\.k8s\.io/", re.MULTILINE)
_OTHER_KIND = re.compile(r"^apiVersion:[ \t]*[\"']?kustomize\.toolkit\.fluxcd\.io/", re.MULTILINE)
_KEY = re.compile(r"^([A-Za-z]\w*)[ \t]*:", re.MULTILINE)
_PARTS = ("patches", "patchesStrategicMerge", "patchesJson6902", "configMapGenerator")


class Kustomize:
    """``kustomization.yaml`` and what it names."""

    name = "kustomize"
    order = 10
    names: tuple[str, ...] = tuple(name.lower() for name in FILE_NAMES)
    traces = (b"kustomize.config.k8s.io", b"\nresources:", b"resources:\n- ", b"resources:\n  - ", b"\nbases:",
              b"\npatches")  # fmt: skip

    def recognises(self, source: Source) -> bool:
        if source.name in FILE_NAMES:
            return _OTHER_KIND.search(source.text) is None
        if _overlay_of(source) is not None:
            return True
        return source.suffix in (".yaml", ".yml", "") and _OWN_KIND.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        source = _overlay_of(source) or source
        memo = source.memo if source.memo is not None else {}
        known = memo.get(f"kustomize {source.path}")
        if not isinstance(known, Reading):
            known = memo[f"kustomize {source.path}"] = _read(source)
        return known


def _read(source: Source) -> Reading:
    layer = build(source)
    if not layer.root.entries:
        return Reading([], layer.unreadable or [Unreadable(source.at(1), "is no kustomization: it has no fields")])
    objects = Objects([], source)
    for kind, name, node in names_of(layer.resources):
        objects.put(kind, name, node)
    found: list[FoundDeployment] = []
    claims = set(layer.patches)
    for resource in layer.resources:
        deployments = _deployments(resource, layer, objects)
        found += deployments
        if deployments and changed_here(layer, resource):
            claims |= resource.files - {source.path}
    speaks = bool(found) or any(trace.decode() in source.text for trace in traces_of_commands())
    unreadable = [item for item in layer.unreadable if speaks or item.message.startswith("not valid YAML")]
    return Reading(named_apart(found), unreadable, tuple(sorted(claims)))


def _overlay_of(source: Source) -> Source | None:
    """The kustomization beside a patch or a file of variables that is a part of it and nothing by itself."""
    if source.opener is None or source.suffix not in (".env", ".yaml", ".yml") or source.name in FILE_NAMES:
        return None
    for name in FILE_NAMES:
        beside = source.beside(name)
        if isinstance(beside, Source):
            return beside if _names_part(beside.text, source.name) else None
    return None


def _names_part(text: str, name: str) -> bool:
    """Whether a kustomization has this file as a patch or in a generator."""
    start = text.find(name)
    while start >= 0:
        before, after = text[:start], text[start + len(name) : start + len(name) + 1]
        keys = _KEY.findall(before)
        if keys and keys[-1] in _PARTS and before[-1:] in " /'\"[,=" and after in "\n \"'],":
            return True
        start = text.find(name, start + 1)
    return False


def _deployments(resource: Resource, layer: Layer, objects: Objects) -> list[FoundDeployment]:
    reader = Reader(
        layer.source,
        objects,
        FORM.name,
        place=resource.owner,
        partial=resource.partial,
        complaints=tuple(layer.complaints),
        variables=tuple(layer.variables.items()),
    )
    return list(reader.found_in(resource.node, resource.names[-1]))


FORM = Kustomize()
