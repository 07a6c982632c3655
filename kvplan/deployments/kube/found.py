"""A Kubernetes object -> the deployments of its pods: every container that starts an engine, with what it is given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kvplan.deployments.found import Complaint, FoundDeployment, Place, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source
from kvplan.deployments.kube.claims import claims_of
from kvplan.deployments.kube.environment import files_of, from_elsewhere, items_of, variables_of
from kvplan.deployments.kube.host_memory import memlock_of, shm_of
from kvplan.deployments.kube.nodes import nodes_of
from kvplan.deployments.kube.objects import Objects, Pod, annotations_of, name_of, pods_of
from kvplan.deployments.kube.pod_commands import PodCommand, command_of, unread_items
from kvplan.deployments.kube.resources import fraction_of, resources_of
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node

_COPIES = (("spec", "replicas"), ("spec", "parallelism"), ("spec", "jobTemplate", "spec", "parallelism"))
_WHOLE = re.compile(r"[0-9]{1,9}")
_CPU_IMAGE = re.compile(r"(?:^|[-_/:.])cpu(?:[-_:.@]|$)")


@dataclass(frozen=True, slots=True)
class Reader:
    """What reading the objects of one file needs beside them."""

    source: Source
    """The file that is read; what other files say keeps their places."""
    objects: Objects
    form: str
    place: Place | None = None
    """Of the deployments, where it is not that of their commands: the file that lays something over them."""
    partial: str | None = None
    """Why the objects are only a part of what runs: a base that is not at hand."""
    unresolved: tuple[Unresolved, ...] = field(default=())
    complaints: tuple[Complaint, ...] = field(default=())
    variables: tuple[tuple[str, Node], ...] = ()
    """Names that something else than the container gives a value, such as kustomize's ``vars``."""

    def found_in(self, item: Node, name: str | None = None) -> Iterator[FoundDeployment]:
        """Every engine that the object's pods start."""
        for pod in pods_of(item):
            for container in _containers(pod.spec):
                found = self._found(pod, container, name or self._name(item))
                if found is not None:
                    yield found

    def _name(self, item: Node) -> str:
        name = name_of(item)
        return self.source.stem if not name or is_placeholder(name) else name

    def _found(self, pod: Pod, container: Node, name: str) -> FoundDeployment | None:
        given_variables = {**dict(self.variables), **pod.environment}
        variables = variables_of(container, self.objects, self.source, given_variables)
        files = files_of(container, pod.spec, self.objects, self.source)
        command = command_of(container, self.source, variables, files, by_flags=self.partial is not None)
        if command is None:
            return None
        image = container.get("image")
        literal = image is not None and image.is_text and not is_placeholder(image.text) and "$(" not in image.text
        launch = Launch(
            engine=command.engine,
            arguments=command.arguments,
            place=self.place or (command.source or self.source).at(command.line or container.line),
            environment=command.environment,
            image=image.text if literal and image is not None else None,
            image_place=image.place(self.source) if image is not None else None,
        )
        given, notes = self._given(pod, container, command, variables)
        if not literal and self.partial is None:
            self._ask_for_image(image, container, given)
        found = deployment_of(
            launch,
            name=name,
            form=self.form,
            surroundings=given.settings.values(),
            unresolved=(*self.unresolved, *_told(given.unresolved, container, self.objects)),
            complaints=(*self.complaints, *unread_items(container, self.source), *given.complaints),
        )
        told = tuple(_told(found.unresolved, container, self.objects))
        return replace(found, unresolved=told, annotations=annotations_of(pod), notes={**found.notes, **notes})

    def _given(
        self, pod: Pod, container: Node, command: PodCommand, variables: dict[str, Expansion]
    ) -> tuple[Given, dict[str, str]]:
        given = resources_of(container, pod.spec)
        fraction_of(pod.template, given)
        claims_of(container, pod.spec, self.objects, given)
        nodes_of(pod.spec, given)
        if pod.workers is not None and "gpus" not in given.settings:
            _from_workers(pod.workers, given)
        note = None if self.partial and container.get("volumeMounts") is None else shm_of(container, pod.spec, given)
        memlock_of(container, given)
        if "gpus" not in given.settings and _CPU_IMAGE.search(container.scalar("image")):
            given.put("gpus", 0, container.entries["image"].place(self.source))
        threads = variables.get("OMP_NUM_THREADS")
        if threads is not None and threads.place is not None and _WHOLE.fullmatch(threads.text):
            given.put("omp_num_threads", int(threads.text), threads.place)
        if pod.nodes is not None:
            given.settings["nodes"] = pod.nodes
        _replicas(pod.owner, command, given)
        return given, {"shm_size": note} if note else {}

    def _ask_for_image(self, image: Node | None, container: Node, given: Given) -> None:
        reason = "the image is filled in later, so the engine's version is not known"
        text, place = (image.text, image.place(self.source)) if image is not None else ("image", container.place())
        given.ask("engine", text, place, reason, stops=False)


def _containers(spec: Node) -> Iterator[Node]:
    for key in ("initContainers", "containers"):
        yield from (node for node in items_of(spec.get(key)) if node.kind == "map")


def _replicas(owner: Node, command: PodCommand, given: Given) -> None:
    """Copies that run beside each other; where they are the nodes of one engine they are counted as that."""
    nodes = command.arguments.settings.get("nodes")
    for path in _COPIES:
        node = owner.get(*path)
        if node is not None and _WHOLE.fullmatch(node.text) and int(node.text) > 0:
            if nodes is None or str(nodes.value) != node.text:
                given.put("replicas", int(node.text), node.place())
            return


def _from_workers(workers: Node, given: Given) -> None:
    """The GPUs of the pods that a head without any starts the engine on."""
    for container in _containers(workers):
        theirs = resources_of(container, workers)
        nodes_of(workers, theirs)
        for name in ("gpus", "mig_profile", "gpu_product", "instance_type", "gpu_alternatives"):
            if name in theirs.settings:
                given.settings.setdefault(name, theirs.settings[name])


def _told(unresolved: Iterable[Unresolved], container: Node, objects: Objects) -> Iterator[Unresolved]:
    """Questions about a variable that nothing sets, with the ConfigMap that may set it."""
    missing = from_elsewhere(container, objects)
    for item in unresolved:
        lost = missing is not None and item.reason.endswith("has no value in this file")
        yield replace(item, reason=f"{item.reason}: {missing}") if lost else item


def named_apart(found: list[FoundDeployment]) -> list[FoundDeployment]:
    """Names that differ: the second ``chat`` of a file is ``chat-2``."""
    counts: dict[str, int] = {}
    named = []
    for item in found:
        counts[item.name] = counts.get(item.name, 0) + 1
        number = counts[item.name]
        named.append(item if number == 1 else replace(item, name=f"{item.name}-{number}"))
    return named
