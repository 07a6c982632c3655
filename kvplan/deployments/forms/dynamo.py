"""NVIDIA Dynamo's graph deployments: one deployment a worker.

``v1alpha1`` has ``services`` with ``extraPodSpec.mainContainer`` and GPUs under ``resources``, ``v1beta1`` has
``components`` with pod templates. A worker runs ``python3 -m dynamo.ENGINE`` with the engine's own flags beside
Dynamo's; its engine file lies in a ConfigMap that ``--config`` or ``--extra-engine-args`` names by its mounted path.
``multinode.nodeCount`` pods are one worker. Source: Dynamo's API reference for DynamoGraphDeployment, 0.8 to 1.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import engine_words
from kvplan.deployments.controllers.container_words import command_nodes, with_texts
from kvplan.deployments.controllers.custom_resources import Found, Resource, ResourceForm
from kvplan.deployments.controllers.embedded import embedded_map
from kvplan.deployments.controllers.engine_files import arguments_of_options, file_wins
from kvplan.deployments.controllers.pods import Start, joined, launched, unknown_engine
from kvplan.deployments.controllers.resources import given_by, put_count, put_text, read_resources
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.pod_commands import PodCommand, command_of, environment_of
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

_ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm"}
_WRAPPER = re.compile(r"(?:(?<=\s)|(?<=^))(?:-m[ \t]+)?dynamo\.(vllm|sglang|trtllm)(?:\.main)?(?=\s|$)")
_FILE = re.compile(r"--(?:config|extra[-_]engine[-_]args|extra[-_]llm[-_]api[-_]options)[=\s]+[\"']?([^\s\"']+)")
_MODEL = re.compile(r"--model(?:[-_]path)?[=\s]+[\"']?([^\s\"'$]+)")
_NOTHING = Node("map", 0)
DEFAULT_SHM = "8Gi"
"""What the operator mounts at /dev/shm of a worker (its constant DefaultSharedMemorySize)."""


class Dynamo(ResourceForm):
    """``kind: DynamoGraphDeployment``, and single components."""

    name = "dynamo"
    group = "nvidia.com"
    kinds = ("DynamoGraphDeployment", "DynamoComponentDeployment")
    traces = (b"DynamoGraphDeployment", b"DynamoComponentDeployment")

    def found_in(self, resource: Resource) -> Iterator[Found]:
        spec = resource.root.get("spec") or _NOTHING
        services, components = spec.get("services"), spec.get("components")
        workers = list(services.entries.items()) if services is not None else []
        workers += [(item.scalar("name"), item) for item in (components.items if components is not None else [])]
        if not workers and resource.root.scalar("kind") == "DynamoComponentDeployment":
            workers = [("", spec)]
        for name, worker in workers:
            if worker.kind == "map":
                yield from _worker(resource, spec, name, worker)


def _worker(resource: Resource, spec: Node, name: str, worker: Node) -> Iterator[Found]:
    pod = worker.get("extraPodSpec") or worker.get("podTemplate", "spec") or _NOTHING
    for container in _containers(pod):
        found = list(_of_container(resource, spec, name, worker, pod, container))
        if found:
            yield from found
            return


def _of_container(
    resource: Resource, spec: Node, name: str, worker: Node, pod: Node, container: Node
) -> Iterator[Found]:
    source = resource.source
    texts = [node.text for node in command_nodes(container)]
    wrapper = next((match for text in texts if (match := _WRAPPER.search(text))), None)
    environment = environment_of(_with_environment(container, spec, worker), resource.roots, source)
    if wrapper is not None:
        unknown = unknown_engine(_ENGINES[wrapper[1]], source.at(container.line))
        if unknown is not None:
            yield unknown
            return
    command = command_of(_as_engine(container, wrapper), source, environment)
    if command is None and wrapper is not None and _ENGINES[wrapper[1]] == "tensorrt-llm":
        command = PodCommand("tensorrt-llm", Arguments(), container.line, {})  # its flags are Dynamo's, the rest a file
    if command is None:
        if wrapper is not None:
            message = f"the command of {shorten(name)} cannot be read"
            yield Unreadable(source.at(container.line), message, "write the engine's flags literally")
        return
    files = _FILE.search(" ".join(texts))
    arguments, unresolved = _with_file(command, files[1] if files else "", pod, container, resource)
    given = _given(worker, container, pod, source)
    yield launched(Start(
        command.engine, arguments, container, source.at(command.line), source,
        environment=environment, given=given, model=_model(container, source),
        name=f"{resource.name}-{name}" if name else resource.name, form=FORM.name, unresolved=unresolved,
    ))  # fmt: skip


def _containers(pod: Node) -> list[Node]:
    """The main container, then what else runs in the pod: with a sidecar, the engine is another one."""
    main = pod.get("mainContainer")
    found = [main] if main is not None and main.kind == "map" else []
    return found + [item for item in _items(pod.get("containers")) if item.kind == "map"]


def _as_engine(container: Node, wrapper: re.Match[str] | None) -> Node:
    """The command with the engine's own entry in the place of Dynamo's, where the engine's reader lacks that."""
    if wrapper is None or engine_words().search(f"python3 -m dynamo.{wrapper[1]} ") is not None:
        return container
    changed = with_texts(container, _WRAPPER, _ENGINES)
    for key in ("command", "args"):
        node = changed.get(key)
        if node is not None:
            text = re.sub(r"\S*python3?[ \t]+(?:-m[ \t]+)?trtllm-serve", "trtllm-serve", node.text)
            items = [
                replace(item, text=re.sub(r"\S*python3?[ \t]+(?:-m[ \t]+)?trtllm-serve", "trtllm-serve", item.text))
                for item in node.items
            ]
            changed.entries[key] = replace(node, items=items, text=text)
    return changed


def _with_environment(container: Node, spec: Node, worker: Node) -> Node:
    """Variables of the graph, of the worker and of the container, the later ones holding."""
    lists = [spec.get("envs"), spec.get("env"), worker.get("envs"), container.get("env")]
    items = [item for node in lists if node is not None for item in node.items]
    entries = {**container.entries, "env": Node("list", container.line, items=items)}
    return replace(container, entries=entries)


def _with_file(
    command: PodCommand, path: str, pod: Node, container: Node, resource: Resource
) -> tuple[Arguments, list[Unresolved]]:
    """The arguments joined with the engine's file. TensorRT-LLM's file overrides flags, the others' does not."""
    if not path:
        return command.arguments, []
    own = [item for item in command.arguments.unresolved if item.name != "config" and path not in item.text]
    flags = replace(command.arguments, unresolved=own)
    holder = _mounted(path, pod, container, resource)
    options = embedded_map(holder)
    if options is None:
        place = resource.source.at(command.line)
        reason = f"more options come from {shorten(path)}, which no ConfigMap in this file has"
        return flags, [Unresolved("arguments", shorten(path), place, reason)]
    read = arguments_of_options(command.engine, options, resource.source)
    return (joined(flags, read) if file_wins(command.engine) else joined(read, flags)), []


def _mounted(path: str, pod: Node, container: Node, resource: Resource) -> Node | None:
    """The text in a ConfigMap that is mounted at this path; without a mount the only one of that file name."""
    folder, _, file = path.rpartition("/")
    for mount in _items(container.get("volumeMounts")):
        if mount.scalar("mountPath").rstrip("/") not in (folder, path):
            continue
        for volume in _items(pod.get("volumes")):
            if volume.scalar("name") == mount.scalar("name"):
                keys = {item.scalar("path"): item.scalar("key") for item in _items(volume.get("configMap", "items"))}
                wanted = mount.scalar("subPath") or file
                found = resource.config_map(volume.scalar("configMap", "name")).get(keys.get(wanted, wanted))
                if found is not None:
                    return found
    known = [node for item in resource.maps.values() if (node := item.get("data", file)) is not None]
    return known[0] if len(known) == 1 else None


def _given(worker: Node, container: Node, pod: Node, source: Source) -> Given:
    given = given_by(container, pod, source)
    read_resources(worker.get("resources"), source, given, ("gpu",))
    shm = worker.get("sharedMemory", "size") or worker.get("sharedMemorySize")
    if shm is not None and shm.text:
        put_text("shm_size", shm, source, given)
    elif "shm_size" not in given.settings:
        given.put("shm_size", DEFAULT_SHM, source.at(worker.line))
    for name, path in (("nodes", ("multinode", "nodeCount")), ("replicas", ("replicas",))):
        node = worker.get(*path)
        if node is not None and not (name == "nodes" and node.text == "1"):
            put_count(name, path[-1], node, source, given)
    return given


def _model(container: Node, source: Source) -> Setting | None:
    """``--model-path`` is Dynamo's own flag for every engine."""
    nodes = command_nodes(container)
    for index, node in enumerate(nodes):
        match = _MODEL.search(node.text)
        if match is not None:
            return Setting("model", match[1], source.at(node.line))
        if node.text in ("--model", "--model-path") and index + 1 < len(nodes):
            following = nodes[index + 1]
            if not Word(following.text, source.at(following.line)).text.startswith(("-", "$")):
                return Setting("model", following.text, source.at(following.line))
    return None


def _items(node: Node | None) -> list[Node]:
    return node.items if node is not None and node.kind == "list" else []


FORM = Dynamo()
