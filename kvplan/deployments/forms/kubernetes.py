"""Kubernetes manifests: whatever has containers that start an engine.

Deployments, StatefulSets, Jobs, Pods, LeaderWorkerSets and their like differ only in where the pod template is, so
every map with ``containers`` is looked at. One pod is judged: replicas run beside each other on other GPUs.
"""

from __future__ import annotations

import re
from itertools import islice

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.kube.found import Reader, named_apart
from kvplan.deployments.kube.objects import Objects, objects_of
from kvplan.deployments.yaml_files import left_to_a_template, repeated_keys, yaml_of

_MANIFEST = re.compile(r"^[ \t{-]*\"?apiVersion\"?[ \t]*:", re.MULTILINE)
MOST_CONTAINERS = 2000


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
        file = yaml_of(source)
        objects = Objects(file.roots, source)
        questions = tuple(left_to_a_template(file, source))
        found: list[FoundDeployment] = []
        for root in file.roots:
            said = tuple(repeated_keys(root, source))
            reader = Reader(source, objects, FORM.name, unresolved=questions, complaints=said)
            every = (item for manifest in objects_of([root]) for item in reader.found_in(manifest))
            found += islice(every, MOST_CONTAINERS + 1 - len(found))
        message = f"not read further: more than {MOST_CONTAINERS:,} containers that run an engine"
        unread = [Unreadable(item.place, message, "split the file", "fail") for item in found[MOST_CONTAINERS:][:1]]
        return Reading(named_apart(found[:MOST_CONTAINERS]), [*unread, *file.unreadable])


FORM = Kubernetes()
