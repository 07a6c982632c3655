"""Ray Serve's LLM configurations, in a RayService, in a Serve file of their own, or each in one file.

``serveConfigV2`` is YAML in a text. An application has ``llm_configs``: maps, or paths of files beside it. Their
``engine_kwargs`` are vLLM's arguments with underscores. RayLLM before 2.9 had ``engine_config`` and ``scaling_config``,
often as texts of a ConfigMap; ``num_workers`` there is the number of tensor parallel ranks.
Source: Ray's "Serving LLMs" and LLMConfig reference, 2.43 to 2.5x; ray-llm 0.5, ``models/README.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.deployments.controllers.custom_resources import (
    Found,
    Resource,
    ResourceForm,
    read_objects,
    unique_names,
    unread_rest,
)
from kvplan.deployments.controllers.embedded import embedded_documents, embedded_map
from kvplan.deployments.controllers.ray_llm import Cluster, legacy_deployment, llm_deployment
from kvplan.deployments.controllers.resources import given_by
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.yaml_tree import Node, documents
from kvplan.units import shorten

_SERVE_FILE = re.compile(r"^(?:applications|llm_configs|model_loading_config|engine_config)[ \t]*:", re.MULTILINE)
_LANGUAGE = re.compile(r"(?i)llm|sglang|model_?id|huggingface")
"""What tells an application that serves a language model from any other."""
_MARKS = ("llm_configs", "model_loading_config", "engine_kwargs")
_MOST_CONFIGS = 500
_NO_CLUSTER = Cluster()


class _Place(NamedTuple):
    """Where configurations are, and what runs them."""

    name: str
    source: Source
    cluster: Cluster


class RayServe(ResourceForm):
    """``kind: RayService``, ConfigMaps with RayLLM's models, and Serve's own files."""

    name = "ray-serve"
    group = ""
    kinds = ("RayService", "ConfigMap")
    traces = (b"serveConfigV2", b"llm_configs", b"model_loading_config", b"engine_kwargs", b"engine_config")

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", ".json", ""):
            return False
        if "serveConfigV2" in source.text and "RayService" in source.text:
            return True
        if not any(mark in source.text for mark in _MARKS):
            return False
        return _SERVE_FILE.search(source.text) is not None or super().recognises(source)

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        if any("apiVersion" in root.entries for root in roots):
            return read_objects(source)
        found: list[Found] = []
        for root in roots:
            found += _of_file(root, _Place(source.title, source, _NO_CLUSTER))
        unreadable = [item for item in found if isinstance(item, Unreadable)]
        unreadable += unread_rest(source, fault)
        return Reading(unique_names([item for item in found if isinstance(item, FoundDeployment)]), unreadable)

    def is_of(self, root: Node) -> bool:
        if root.scalar("kind") == "RayService":
            return "ray.io" in root.scalar("apiVersion")
        data = root.get("data")
        texts = [node.text for node in data.entries.values()] if data is not None else []
        return root.scalar("kind") == "ConfigMap" and any(_SERVE_FILE.search(text) for text in texts)

    def found_in(self, resource: Resource) -> Iterator[Found]:
        data = resource.root.get("data")
        if resource.root.scalar("kind") == "ConfigMap":
            for node in data.entries.values() if data is not None else ():
                found = embedded_map(node) if _SERVE_FILE.search(node.text) else None
                if found is not None:
                    yield from _of_file(found, _Place(resource.name, resource.source, _NO_CLUSTER))
            return
        spec = resource.root.get("spec")
        if spec is not None:
            yield from _of_service(resource, spec)


def _of_service(resource: Resource, spec: Node) -> Iterator[Found]:
    source = resource.source
    config = spec.get("serveConfigV2")
    if config is None:
        return
    found, fault = embedded_documents(config) if config.kind == "scalar" else ([config], None)
    if fault is not None:
        yield Unreadable(source.at(fault.line), f"serveConfigV2: {fault.message}")
    for root in found[:1]:
        yield from _of_file(root, _Place(resource.name, source, _cluster(spec.get("rayClusterConfig"), source)))


def _cluster(config: Node | None, source: Source) -> Cluster:
    """Containers of the first group with GPUs, and how many of them there are."""
    head = config.get("headGroupSpec") if config is not None else None
    workers = config.get("workerGroupSpecs") if config is not None else None
    image: Node | None = None
    for group in [*(workers.items if workers is not None else []), *([head] if head is not None else [])]:
        pod = group.get("template", "spec")
        containers = pod.get("containers") if pod is not None else None
        for container in containers.items if containers is not None else ():
            image = image or (container if container.scalar("image") else None)
            given = given_by(container, pod, source)
            if "gpus" in given.settings:
                return Cluster(container if container.scalar("image") else image, given)
    return Cluster(image)


def _of_file(root: Node, place: _Place) -> Iterator[Found]:
    """What one map holds: an application, a list of configurations, or one of them."""
    if root.get("model_loading_config") is not None:
        yield from llm_deployment(root, place.name, place.source, place.cluster)
    elif root.get("engine_config") is not None:
        yield from legacy_deployment(root, place.name, place.source, place.cluster)
    elif root.get("llm_configs") is not None:
        yield from _of_configs(root, place)
    else:
        yield from _of_applications(root, place)


def _of_applications(root: Node, place: _Place) -> Iterator[Found]:
    applications = root.get("applications")
    listed = applications.items if applications is not None else [root]
    for application in listed[:_MOST_CONFIGS]:
        arguments = application.get("args")
        if arguments is not None and arguments.get("llm_configs") is not None:
            yield from _of_configs(arguments, place)
        elif "models" in (arguments.entries if arguments is not None else {}):
            yield from _of_paths(arguments.get("models"), place)  # type: ignore[union-attr]
        elif application.scalar("import_path") and _LANGUAGE.search(place.source.text):
            path = application.get("import_path")
            where = place.source.at(path.line if path is not None else application.line)
            message = f"the application {shorten(application.scalar('import_path'))} is Python code, which is not read"
            yield Unreadable(where, message, "give its settings in kvplan's own deployment file")


def _of_configs(holder: Node, place: _Place) -> Iterator[Found]:
    configs = holder.get("llm_configs")
    for item in (configs.items if configs is not None else [])[:_MOST_CONFIGS]:
        if item.kind == "map":
            yield from _of_file(item, place)
        else:
            yield from _of_path(item, place)


def _of_paths(models: Node | None, place: _Place) -> Iterator[Found]:
    for item in (models.items if models is not None else [])[:_MOST_CONFIGS]:
        yield from _of_path(item, place)


def _of_path(item: Node, place: _Place) -> Iterator[Found]:
    """A file that a list names, beside this one; in a container its path means nothing here."""
    other = place.source.beside(item.text)
    if not isinstance(other, Source):
        message = f"the model's file {shorten(item.text)} is not beside this one"
        yield Unreadable(place.source.at(item.line), message, "check the file that holds the model")
        return
    for root in documents(other.text)[0][:1]:
        yield from _of_file(root, _Place(place.name, other, place.cluster))


FORM = RayServe()
