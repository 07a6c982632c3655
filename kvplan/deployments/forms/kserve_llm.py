"""KServe's LLMInferenceService: vLLM by default, its flags in a variable and in fields of their own.

The controller's base configurations start ``vllm serve`` and put ``VLLM_ADDITIONAL_ARGS`` behind it, as a shell reads
it; ``parallelism`` becomes flags, and ``kvCacheOffloading.cpu`` an OffloadingConnector with so many bytes.
``prefill`` is a deployment of its own. Source: KServe 0.21, docs/samples/llmisvc, kv_cache_offloading.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.container_words import list_words, option_text
from kvplan.deployments.controllers.custom_resources import Found, Resource, ResourceForm
from kvplan.deployments.controllers.models_named import model_of
from kvplan.deployments.controllers.options import flag
from kvplan.deployments.controllers.pods import Start, joined, launched
from kvplan.deployments.controllers.resources import given_by, put_count
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source
from kvplan.deployments.kube.pod_commands import command_of, environment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node
from kvplan.errors import InputError
from kvplan.units import parse_bytes, shorten

_MORE = "VLLM_ADDITIONAL_ARGS"
_PARALLELISM = {"tensor": "tensor-parallel-size", "pipeline": "pipeline-parallel-size", "data": "data-parallel-size",
                "dataLocal": "data-parallel-size-local", "expert": "enable-expert-parallel"}  # fmt: skip
_NOTHING = Node("map", 0)


class KserveLlm(ResourceForm):
    """``kind: LLMInferenceService``, and the configurations it is based on where they are in the same file."""

    name = "kserve-llm"
    group = "serving.kserve.io"
    kinds = ("LLMInferenceService", "LLMInferenceServiceConfig")
    traces = (b"LLMInferenceService",)

    def found_in(self, resource: Resource) -> Iterator[Found]:
        specs, missing = _specs(resource)
        model = _first(specs, "model")
        for role in ("", "prefill"):
            workloads = [spec.get(role) if role else spec for spec in specs]
            own = [workload for workload in workloads if workload is not None and workload.kind == "map"]
            if own and model is not None and model.kind == "map":
                yield _deployment(resource, own, role, model, missing)


def _specs(resource: Resource) -> tuple[list[Node], list[Unresolved]]:
    """The specification and those it is based on, the stronger first."""
    own = resource.root.get("spec") or _NOTHING
    specs, missing = [own], []
    bases = own.get("baseRefs")
    for base in reversed(bases.items if bases is not None else []):
        known = _config(resource, base.scalar("name"))
        if known is not None:
            specs.append(known)
        else:
            reason = "this base configuration is not in the file, and it may have more arguments"
            missing.append(Unresolved("arguments", base.scalar("name"), resource.source.at(base.line), reason))
    return specs, missing


def _config(resource: Resource, name: str) -> Node | None:
    for root in resource.roots:
        if root.scalar("kind") == "LLMInferenceServiceConfig" and root.scalar("metadata", "name") == name:
            return root.get("spec")
    return None


def _first(nodes: list[Node], *path: str) -> Node | None:
    return next((found for node in nodes if (found := node.get(*path)) is not None), None)


def _deployment(resource: Resource, own: list[Node], role: str, model: Node, missing: list[Unresolved]) -> Found:
    source = resource.source
    pod = _first(own, "template") or _NOTHING
    container = _main(pod) or _NOTHING
    environment = environment_of(container, resource.roots, source)
    given = given_by(container, pod, source)
    offload = _first(own, "kvCacheOffloading", "cpu") or _first(own, "workload", "kvCacheOffloading", "cpu")
    started = command_of(container, source, environment) if container.get("command") is not None else None
    engine = started.engine if started is not None else "vllm"
    words = [*_parallel_words(own, source), *_offload_words(offload, given, source)]
    arguments = command_of_engine(engine).read(words)
    if started is not None:
        arguments = joined(arguments, started.arguments)
    else:
        more = next((item.get("value") for item in _items(container.get("env")) if item.scalar("name") == _MORE), None)
        if more is not None:
            arguments = joined(arguments, option_text(engine, more, source, environment))
        elif _MORE in environment and environment[_MORE].reason is not None:
            entry = next(item for item in _items(container.get("env")) if item.scalar("name") == _MORE)
            reason = str(environment[_MORE].reason)
            missing = [*missing, Unresolved("arguments", _MORE, source.at(entry.line), reason)]
        arguments = joined(arguments, _listed(engine, container, source, environment))
    if offload is not None and "shm_size" not in given.settings:
        reason = "the offload file lies in /dev/shm, which the controller's base configuration sizes"
        missing = [*missing, Unresolved("shm_size", "/dev/shm", source.at(offload.line), reason, stops=False)]
    _put_nodes(own, given, source)
    named = model_of(model.get("uri"), model.get("name"), source)
    if isinstance(named, Setting):
        if _is_mount(arguments.settings.get("model")):
            del arguments.settings["model"]
        arguments.unresolved = [item for item in arguments.unresolved if item.name != "model" or "{{" not in item.text]
    place = source.at(container.line or model.line)
    name = resource.name + (f"-{role}" if role else "")
    return launched(Start(
        engine, arguments, container, place, source,
        environment=environment, given=given, model=named, name=name, form=FORM.name, unresolved=missing,
    ))  # fmt: skip


def _listed(engine: str, container: Node, source: Source, environment: dict[str, Expansion]) -> Arguments:
    """``args`` behind the base configuration's command."""
    listed = container.get("args")
    return command_of_engine(engine).read(list_words(_items(listed), source, environment))


def _main(pod: Node) -> Node | None:
    containers = _items(pod.get("containers"))
    return next((item for item in containers if item.scalar("name") == "main"), containers[0] if containers else None)


def _parallel_words(own: list[Node], source: Source) -> list[Word]:
    parallelism = _first(own, "parallelism")
    words = []
    for key, name in _PARALLELISM.items():
        node = parallelism.get(key) if parallelism is not None else None
        word = flag(name, node, source) if node is not None else None
        words += [word] if word is not None else []
    return words


def _offload_words(cpu: Node | None, given: Given, source: Source) -> list[Word]:
    """The host tier: one region for the whole server, in ``/dev/shm`` of a size that the base configuration gives."""
    if cpu is None or not cpu.text:
        return []
    try:
        offload_bytes = parse_bytes(cpu.text, what="kvCacheOffloading.cpu")
    except InputError as error:
        reason = error.message
        given.unresolved.append(Unresolved("offload_bytes", shorten(cpu.text), source.at(cpu.line), reason))
        return []
    extra = {"cpu_bytes_to_use": offload_bytes}
    config = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    return [Word(f"--kv-transfer-config={json.dumps(config)}", source.at(cpu.line))]


def _put_nodes(own: list[Node], given: Given, source: Source) -> None:
    """Hosts of one replica: with ``worker`` it spreads over data / dataLocal or over pipeline many pods."""
    parallelism = _first(own, "parallelism")
    if parallelism is None or _first(own, "worker") is None:
        return
    counts = Given()
    for key in ("data", "dataLocal", "pipeline"):
        node = parallelism.get(key)
        if node is not None:
            put_count(key, f"parallelism.{key}", node, source, counts)
    data, local, pipeline = (int(str(counts.settings[key].value)) if key in counts.settings else 1
                             for key in ("data", "dataLocal", "pipeline"))  # fmt: skip
    nodes = pipeline if pipeline > 1 else -(-data // max(local, 1))
    if nodes > 1:
        given.put("nodes", nodes, source.at(parallelism.line))


def _is_mount(model: Setting | None) -> bool:
    return model is not None and str(model.value).startswith("/mnt/models")


def _items(node: Node | None) -> list[Node]:
    return node.items if node is not None and node.kind == "list" else []


FORM = KserveLlm()
