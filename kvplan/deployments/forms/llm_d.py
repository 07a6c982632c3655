"""Values of llm-d's modelservice chart: a deployment for ``decode`` and one for ``prefill``.

The chart writes the model and the layout in front of a container's ``args`` when ``modelCommand`` is ``vllmServe`` or
``imageDefault``, and asks for tensor x dataLocal GPUs where ``resources`` name none; ``workers`` pods are one replica.
Source: llm-d-modelservice 0.2 to 0.5, ``charts/llm-d-modelservice/templates/_helpers.tpl``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.argv import Word
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.container_words import list_words
from kvplan.deployments.controllers.custom_resources import unread_rest
from kvplan.deployments.controllers.models_named import model_of
from kvplan.deployments.controllers.options import option
from kvplan.deployments.controllers.pods import Start, joined, launched
from kvplan.deployments.controllers.resources import (
    CONTAINER_SHM,
    given_by,
    put_count,
    put_text,
    read_node_terms,
)
from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.kube.pod_commands import command_of, environment_of
from kvplan.deployments.yaml_tree import Node, documents

ENGINE = "vllm"
_ROLES = ("decode", "prefill")


class LlmD:
    """``modelArtifacts`` with ``decode`` or ``prefill``."""

    name = "llm-d"
    order = 16
    names = ("*.yaml", "*.yml")
    traces = (b"modelArtifacts",)

    def recognises(self, source: Source) -> bool:
        keys = set(re.findall(r"(?m)^(modelArtifacts|decode|prefill)[ \t]*:", source.text))
        return source.suffix in (".yaml", ".yml", "") and "modelArtifacts" in keys and len(keys) > 1

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        found = [item for root in roots for role in _ROLES for item in _of_role(root, role, source)]
        return Reading(found, unread_rest(source, fault))


def _of_role(root: Node, role: str, source: Source) -> Iterator[FoundDeployment]:
    part = root.get(role)
    if part is None or part.scalar("create").lower() == "false":
        return
    containers = part.get("containers")
    for container in containers.items if containers is not None else ():
        found = _deployment(root, role, part, container, source) if container.kind == "map" else None
        if found is not None:
            yield found


def _deployment(root: Node, role: str, part: Node, container: Node, source: Source) -> FoundDeployment | None:
    environment = environment_of(container, [], source)
    layout = _layout(part.get("parallelism"), source)
    by_chart = container.scalar("modelCommand") in ("vllmServe", "imageDefault")
    command = None if by_chart else command_of(container, source, environment)
    if command is None and not by_chart:
        return None
    engine = command.engine if command is not None else ENGINE
    if command is not None:
        arguments = command.arguments
    else:
        reader = command_of_engine(ENGINE)
        listed = container.get("args")
        own = list_words(listed.items if listed is not None else [], source, environment)
        arguments = joined(reader.read(_flags(layout)), reader.read(own, "api_server"))
    given = _given(root, part, container, layout, source)
    model = (
        model_of(root.get("modelArtifacts", "uri"), root.get("modelArtifacts", "name"), source) if by_chart else None
    )
    name = source.title
    return launched(Start(
        engine, arguments, container, source.at(container.line), source,
        environment=environment, given=given, model=model, name=f"{name}-{role}", form=FORM.name,
    ))  # fmt: skip


def _layout(parallelism: Node | None, source: Source) -> dict[str, Setting]:
    """``tensor``, ``data``, ``dataLocal`` and ``workers``, each made of the others where it is missing."""
    given = Given()
    for key in ("tensor", "data", "dataLocal", "workers"):
        node = parallelism.get(key) if parallelism is not None else None
        if node is not None and node.text not in ("", "0"):
            put_count(key, f"parallelism.{key}", node, source, given)
    found = given.settings
    data, local, workers = (_count(found, key) for key in ("data", "dataLocal", "workers"))
    if not data and local:
        _derive(found, "data", local * (workers or 1), "dataLocal")
    if not local and data:
        _derive(found, "dataLocal", max(data // (workers or 1), 1), "data")
    if not workers and data and local:
        _derive(found, "workers", max(data // local, 1), "data")
    return found


def _count(found: dict[str, Setting], key: str) -> int:
    return int(str(found[key].value)) if key in found else 0


def _derive(found: dict[str, Setting], name: str, value: int, of: str) -> None:
    found[name] = Setting(name, value, found[of].place)


def _flags(layout: dict[str, Setting]) -> list[Word]:
    names = {"tensor": "tensor-parallel-size", "data": "data-parallel-size", "dataLocal": "data-parallel-size-local"}
    return [
        option(flag, _count(layout, key), layout[key].place) for key, flag in names.items() if _count(layout, key) > 1
    ]


def _given(root: Node, part: Node, container: Node, layout: dict[str, Setting], source: Source) -> Given:
    given = given_by(container, part, source)
    accelerators = part.get("acceleratorTypes") or root.get("acceleratorTypes")
    if "shm_size" not in given.settings:
        given.put("shm_size", CONTAINER_SHM, source.at(container.line))
    kind = _accelerator(root, part)
    if accelerators is not None:
        _put_accelerators(accelerators, given, source)
    elif kind is not None and kind.text.lower() not in ("", "cpu", "nvidia", "amd"):
        put_text("gpu_product", kind, source, given)
    asks = kind is None or kind.text.lower() != "cpu"
    if "gpus" not in given.settings and not given.complaints and asks:
        gpus = max(_count(layout, "tensor"), 1) * max(_count(layout, "dataLocal"), 1)
        place = next((layout[key].place for key in ("tensor", "dataLocal") if key in layout), source.at(container.line))
        given.settings["gpus"] = Setting("gpus", gpus, place)
    workers = _count(layout, "workers")
    if workers > 1:
        given.settings["nodes"] = Setting("nodes", workers, layout["workers"].place)
    replicas = part.get("replicas")
    if replicas is not None and replicas.text:
        put_count("replicas", "replicas", replicas, source, given)
    return given


def _accelerator(root: Node, part: Node) -> Node | None:
    """``accelerator.type`` of the part, or else of the chart."""
    own, common = part.get("accelerator", "type"), root.get("accelerator", "type")
    return own if own is not None and own.text else common


def _put_accelerators(accelerators: Node, given: Given, source: Source) -> None:
    """``labelKey`` and ``labelValues`` as the node affinity that the chart makes of them."""
    key, values = accelerators.get("labelKey"), accelerators.get("labelValues")
    if key is None or values is None:
        return
    operator = Node("scalar", key.line, "In")
    term = Node("map", key.line, entries={"key": key, "operator": operator, "values": values})
    expressions = Node("list", key.line, items=[term])
    read_node_terms(Node("map", key.line, entries={"matchExpressions": expressions}), source, given)


FORM = LlmD()
