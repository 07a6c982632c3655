"""KubeAI's ``kind: Model``, and the catalog in the values of its model chart.

``resourceProfile: nvidia-gpu-h100:8`` is eight units of a profile; each profile of the chart's own list is one GPU and
is called by it. The controller gives the engine ``--model`` from the URL and then ``args``.
Source: KubeAI's model reference and ``charts/kubeai/values.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.container_words import list_words
from kvplan.deployments.controllers.custom_resources import Found, Resource, ResourceForm, read_objects, unread_rest
from kvplan.deployments.controllers.models_named import model_of
from kvplan.deployments.controllers.pods import Start, launched, unknown_engine
from kvplan.deployments.controllers.resources import put_count, put_text
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node, documents
from kvplan.units import shorten

_ENGINES = {"vllm": "vllm", "ollama": "ollama"}
_NOT_LANGUAGE = {"fasterwhisper", "infinity"}
_PROFILE = re.compile(r"^(?:nvidia-gpu|amd-gpu)-([a-z0-9-]+?)(?:-spot)?(?::(\d{1,9}))?$")
_CATALOG = re.compile(r"^(?:catalog|models)[ \t]*:", re.MULTILINE)
_CARD = re.compile(r"^([a-z]*\d+[a-z]*)-?(\d+gb)?$")


class KubeAi(ResourceForm):
    """Models of KubeAI."""

    name = "kubeai"
    group = "kubeai.org"
    kinds = ("Model",)
    traces = (b"kubeai.org", b"resourceProfile")

    def recognises(self, source: Source) -> bool:
        return super().recognises(source) or _is_catalog(source)

    def read(self, source: Source) -> Reading:
        if not _is_catalog(source):
            return read_objects(source)
        roots, fault = documents(source.text)
        found = list(_of_catalog(roots, source))
        unreadable = [item for item in found if isinstance(item, Unreadable)]
        unreadable += unread_rest(source, fault)
        return Reading([item for item in found if isinstance(item, FoundDeployment)], unreadable)

    def found_in(self, resource: Resource) -> Iterator[Found]:
        spec = resource.root.get("spec")
        if spec is not None:
            yield from _deployment(resource.name, spec, resource.source)


def _is_catalog(source: Source) -> bool:
    yaml = source.suffix in (".yaml", ".yml", "")
    return yaml and "resourceProfile:" in source.text and _CATALOG.search(source.text) is not None


def _of_catalog(roots: list[Node], source: Source) -> Iterator[Found]:
    """Models of the chart's values that are switched on."""
    for root in roots[:1]:
        listed = root.get("catalog") or root.get("models", "catalog")
        for name, spec in listed.entries.items() if listed is not None else ():
            if spec.kind == "map" and spec.scalar("enabled").lower() == "true":
                yield from _deployment(name, spec, source)


def _deployment(name: str, spec: Node, source: Source) -> Iterator[Found]:
    asked = spec.scalar("engine") or "VLLM"
    if asked.lower() in _NOT_LANGUAGE:
        return
    engine = _ENGINES.get(asked.lower())
    place = source.at(spec.line)
    if engine is None:
        yield Unreadable(place, f"KubeAI's engine {shorten(asked)!r} is not known", "engines: VLLM, OLlama")
        return
    unknown = unknown_engine(engine, place)
    if unknown is not None:
        yield unknown
        return
    listed = spec.get("args")
    variables = spec.get("env")
    environment = {
        key: Expansion(node.text, place=source.at(node.line))
        for key, node in (variables.entries.items() if variables is not None else ())
        if node.kind == "scalar"
    }
    words = list_words(listed.items if listed is not None else [], source, environment)
    yield launched(Start(
        engine, command_of_engine(engine).read(words, "api_server"), spec, place, source,
        environment=environment, given=_given(engine, spec, source), model=model_of(spec.get("url"), None, source),
        name=name, form=FORM.name,
    ))  # fmt: skip


def _given(engine: str, spec: Node, source: Source) -> Given:
    given = Given()
    profile = spec.get("resourceProfile")
    named = _PROFILE.match(profile.text) if profile is not None else None
    if profile is not None and named is not None:
        card = _CARD.match(named[1][:60])
        product = "-".join(part.upper() for part in (card[1], card[2]) if part) if card else named[1]
        given.put("gpu_product", product, source.at(profile.line))
        given.put("gpus", int(named[2] or 1), source.at(profile.line))
    elif profile is not None and not profile.text.startswith("cpu"):
        put_text("instance_type", profile, source, given)
        count = profile.text.rpartition(":")[2]
        if count.isdigit() and len(count) < 10:
            given.put("gpus", int(count), source.at(profile.line))
    if engine == "vllm":  # the controller mounts memory there, without a limit
        given.put("shm_size", "host", source.at(spec.line))
    replicas = spec.get("minReplicas")
    if replicas is not None and replicas.text != "0":
        put_count("replicas", "minReplicas", replicas, source, given)
    return given


FORM = KubeAi()
