"""KServe's InferenceService: a runtime that starts the engine, and the predictor's arguments behind the runtime's own.

The ServingRuntime is looked for in the same file and, by its usual names, beside it. Without it the runtime's name or
the model format says which engine it is; what arguments it has of its own is then an open question that stops nothing.
Source: KServe 0.15 to 0.21, "Serving Runtimes" and the Hugging Face runtime, which serves with vLLM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine, command_of_image, flags_in
from kvplan.deployments.controllers.container_words import command_nodes, list_words
from kvplan.deployments.controllers.custom_resources import Found, Resource, ResourceForm
from kvplan.deployments.controllers.kserve_runtimes import RUNTIMES, Runtime, runtime_of
from kvplan.deployments.controllers.models_named import hub_id, model_of
from kvplan.deployments.controllers.pods import Start, joined, launched, unknown_engine
from kvplan.deployments.controllers.resources import given_by, put_count, read_resources
from kvplan.deployments.found import FoundDeployment, Setting, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.pod_commands import command_of, environment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

_ENGINE_NAMES = (("sglang", r"sglang"), ("tensorrt-llm", r"tensorrt-?llm|trt-?llm"), ("llama.cpp", r"llama-?cpp"),
                 ("vllm", r"vllm|hugging-?face"))  # fmt: skip
_MODEL_FLAGS = re.compile(r"^--model[_-](?:id|dir|path)$")
_SERVER_FLAGS = re.compile(
    r"^--(?:model[_-]name|http[_-]port|grpc[_-]port|workers|max[_-]threads|max[_-]asyncio[_-]workers|enable[_-]grpc"
    r"|enable[_-]docs[_-]url|enable[_-]latency[_-]logging|task|backend|max[_-]length|disable[_-]lower[_-]case"
    r"|disable[_-]special[_-]tokens|return[_-]token[_-]type[_-]ids|return[_-]probabilities|tensor[_-]input[_-]names"
    r"|predictor[_-]\w+|log[_-]config[_-]file|access[_-]log[_-]format)$"
)
"""Flags of KServe's own server, which the engine doesn't get."""
_NOTHING = Node("map", 0)


class KserveIsvc(ResourceForm):
    """``kind: InferenceService``. A runtime by itself is a part of others, unless it names a model of its own."""

    name = "kserve-isvc"
    group = "serving.kserve.io"
    kinds = ("InferenceService", *RUNTIMES)
    traces = (b"InferenceService", b"ServingRuntime")

    def found_in(self, resource: Resource) -> Iterator[Found]:
        if resource.root.scalar("kind") in RUNTIMES:
            spec = resource.root.get("spec")
            for container in _items(spec.get("containers")) if spec is not None else []:
                found = _of_container(resource, spec or _NOTHING, container)
                if isinstance(found, FoundDeployment) and _names_a_model(found):
                    yield found
            return
        predictor = resource.root.get("spec", "predictor")
        if predictor is None:
            return
        model = predictor.get("model")
        if model is not None and model.kind == "map":
            yield from _of_model(resource, predictor, model)
            return
        for container in _items(predictor.get("containers")):
            found = _of_container(resource, predictor, container)
            if found is not None:
                yield found


def _names_a_model(found: FoundDeployment) -> bool:
    model = str(found.value("model") or "")
    return bool(model) and not model.startswith("/mnt/") and "{{" not in model


def _of_container(resource: Resource, predictor: Node, container: Node) -> Found | None:
    """A predictor with a container of its own is a pod as any other."""
    source = resource.source
    environment = environment_of(container, resource.roots, source)
    command = command_of(container, source, environment)
    if command is None:
        return None
    given = given_by(container, predictor, source)
    place = source.at(command.line or container.line)
    return launched(Start(
        command.engine, command.arguments, container, place, source,
        environment=environment, given=given, name=resource.name, form=FORM.name,
    ))  # fmt: skip


def _of_model(resource: Resource, predictor: Node, model: Node) -> Iterator[Found]:
    source = resource.source
    runtime = runtime_of(resource, model.scalar("runtime"))
    environment = _environment(model, runtime, resource)
    engine, arguments = _arguments(model, runtime, source, environment)
    place = source.at(model.line)
    if engine is None:
        if _asks_for_gpus(model, source):
            named = shorten(model.scalar("runtime") or model.scalar("modelFormat", "name") or "?")
            message = f"the serving runtime {named} is not in this file, so which engine it starts is not known"
            yield Unreadable(place, message, "check it together with its ServingRuntime: kvplan check RUNTIME.yaml ...")
        return
    unknown = unknown_engine(engine, place)
    if unknown is not None:
        yield unknown
        return
    named_model = _model(model, arguments, environment, source)
    given = given_by(model, predictor, source)
    if runtime is not None:
        _from_runtime(runtime, model, given)
    _put_workers(predictor, given, source)
    container = model if model.scalar("image") else runtime.container if runtime is not None else model
    yield launched(Start(
        engine, arguments, container, place, runtime.source if runtime and container is runtime.container else source,
        environment=environment, given=given, model=named_model, name=resource.name, form=FORM.name,
        unresolved=_unknown_runtime(model, runtime, source),
    ))  # fmt: skip


def _arguments(
    model: Node, runtime: Runtime | None, source: Source, environment: dict[str, Expansion]
) -> tuple[str | None, Arguments]:
    """The engine and its arguments: the runtime's words with the predictor's behind them."""
    own = list_words(_items(model.get("args")), source, environment)
    engine = _engine_named(model.scalar("runtime") + " " + model.scalar("modelFormat", "name"))
    if runtime is None:
        return engine, _read(engine, own)
    words = list_words(command_nodes(runtime.container), runtime.source, environment)
    started = flags_in([word.text for word in words])
    if started is not None:
        return started[0].engine, started[0].read([*words[started[1] :], *own], words[started[1] - 1].text)
    command = command_of(runtime.container, runtime.source, environment)
    if command is not None:
        return command.engine, joined(command.arguments, _read(command.engine, own))
    image = runtime.container.scalar("image")
    known = command_of_image(image)
    engine = known.engine if known is not None else _engine_named(image) or engine
    behind = [word for word in words if word.text.startswith("-") or words.index(word) > 0]
    return engine, _read(engine, [*behind, *own])


def _read(engine: str | None, words: list[Word]) -> Arguments:
    if engine is None or unknown_engine(engine, words[0].place if words else Source("", "").at(0)) is not None:
        return Arguments()
    return command_of_engine(engine).read(_renamed(words), "api_server")


def _renamed(words: list[Word]) -> list[Word]:
    """``--model_id=X`` of KServe's own server is its engine's model; ``--model_name`` is what clients call it."""
    renamed: list[Word] = []
    skip = False
    for word in words:
        flag, equals, value = word.text.partition("=")
        own = _SERVER_FLAGS.match(flag) is not None
        if own or (skip and not flag.startswith("-")):
            skip = own and not equals
            continue
        skip = False
        text = f"--model{equals}{value}" if _MODEL_FLAGS.match(flag) else word.text
        renamed.append(replace(word, text=text))
    return renamed


def _model(
    model: Node, arguments: Arguments, environment: dict[str, Expansion], source: Source
) -> Setting | Unresolved | None:
    """``storageUri`` is mounted where the runtime's arguments look for the model."""
    stored = model_of(model.get("storageUri") or model.get("storage", "path"), None, source)
    flag = arguments.settings.get("model")
    if flag is not None and (stored is not None or "{{" in str(flag.value)):
        arguments.settings.pop("model")
    arguments.unresolved = [item for item in arguments.unresolved if item.name != "model" or stored is None]
    named = environment.get("MODEL_ID")
    if stored is None and named is not None and named.reason is None and named.place is not None:
        return Setting("model", hub_id(named.text), named.place)
    return stored


def _environment(model: Node, runtime: Runtime | None, resource: Resource) -> dict[str, Expansion]:
    of_runtime = environment_of(runtime.container, resource.roots, runtime.source) if runtime is not None else {}
    return {**of_runtime, **environment_of(model, resource.roots, resource.source)}


def _from_runtime(runtime: Runtime, model: Node, given: Given) -> None:
    """What the runtime asks for where the predictor doesn't; its volumes are the pod's."""
    base = given_by(runtime.container, runtime.spec, runtime.source)
    if model.get("resources") is not None:
        base.settings = {name: item for name, item in base.settings.items() if name in ("shm_size", "gpu_product")}
    given.settings = base.settings | given.settings


def _put_workers(predictor: Node, given: Given, source: Source) -> None:
    """``workerSpec`` spreads the model over pods: pipeline stages across them, tensor parallel ranks inside."""
    worker = predictor.get("workerSpec")
    if worker is None:
        return
    for name, key in (("pp", "pipelineParallelSize"), ("tp", "tensorParallelSize"), ("nodes", "pipelineParallelSize")):
        node = worker.get(key)
        if node is not None:
            put_count(name, key, node, source, given)


def _unknown_runtime(model: Node, runtime: Runtime | None, source: Source) -> list[Unresolved]:
    node = model.get("runtime")
    if runtime is not None or node is None:
        return []
    reason = "this ServingRuntime is not in the file, so arguments of its own are not known"
    return [Unresolved("arguments", shorten(node.text), source.at(node.line), reason, stops=False)]


def _engine_named(text: str) -> str | None:
    return next((engine for engine, words in _ENGINE_NAMES if re.search(words, text, re.IGNORECASE)), None)


def _asks_for_gpus(model: Node, source: Source) -> bool:
    given = Given()
    read_resources(model.get("resources"), source, given)
    return "gpus" in given.settings


def _items(node: Node | None) -> list[Node]:
    return node.items if node is not None and node.kind == "list" else []


FORM = KserveIsvc()
