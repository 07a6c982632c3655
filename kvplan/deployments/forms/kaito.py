"""KAITO's Workspace: a preset on Azure machines of a size, vLLM's keys in a ConfigMap.

The controller adds what the files do not say: it lays the model over the GPUs of a machine (a copy on each GPU where
one holds it, tensor parallel ranks where not, pipeline stages over machines), asks vLLM for the longest length that
fits, and on a machine of its own gives LMCache half of the free host memory.
Source: KAITO's ``pkg/model/interface.go`` and ``presets/workspace/inference/vllm/inference_api.py``, PR 1326.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.custom_resources import Found, Resource, ResourceForm
from kvplan.deployments.controllers.embedded import embedded_map
from kvplan.deployments.controllers.engine_files import arguments_of_options
from kvplan.deployments.controllers.kaito_presets import CHECKPOINT_GIB, azure_gpus, repository_of
from kvplan.deployments.controllers.options import option
from kvplan.deployments.controllers.pods import Start, joined, launched
from kvplan.deployments.controllers.resources import given_by, put_count, put_text
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kube.pod_commands import command_of, environment_of
from kvplan.deployments.yaml_tree import Node, maps_with
from kvplan.units import shorten

ENGINE = "vllm"
_USED_OF_A_GPU = 0.84
"""KAITO's own estimate of what vLLM may take of a GPU when it asks whether one GPU holds a model."""
_LOADED = 1.02
HALF_OF_FREE_MEMORY = 0.5


class Kaito(ResourceForm):
    """``kind: Workspace`` with ``inference``; an InferenceSet holds the template of one."""

    name = "kaito"
    group = "kaito.sh"
    kinds = ("Workspace", "InferenceSet")
    traces = (b"kaito.sh",)

    def found_in(self, resource: Resource) -> Iterator[Found]:
        root = resource.root
        template = root.get("spec", "template")
        holder = template if template is not None else root
        inference = holder.get("inference")
        if inference is None or inference.kind != "map":
            return
        runtime = root.scalar("metadata", "annotations", "kaito.sh/runtime")
        if runtime not in ("", ENGINE):
            message = f"KAITO's runtime {shorten(runtime)!r} is no engine that kvplan judges"
            yield Unreadable(resource.source.at(root.line), message, "nothing of this Workspace is checked")
            return
        given = Given()
        machine = holder.get("resource")
        _put_machine(machine, given, resource.source)
        preset = inference.get("preset", "name")
        if preset is not None:
            yield _of_preset(resource, inference, preset, given)
        else:
            yield from _of_template(resource, inference, given)


def _put_machine(machine: Node | None, given: Given, source: Source) -> None:
    instance = machine.get("instanceType") if machine is not None else None
    count = machine.get("count") if machine is not None else None
    if instance is not None and instance.text:
        put_text("instance_type", instance, source, given)
        known = azure_gpus(instance.text)
        if known is not None:
            given.put("gpus", known[0], source.at(instance.line))
    if count is not None and count.text != "1":
        put_count("nodes", "count", count, source, given)
    profile = machine.get("partition", "profile") if machine is not None else None
    cards = machine.get("partition", "count") if machine is not None else None
    if profile is not None and profile.text:
        given.put("gpus", 1, source.at(profile.line))
        put_text("mig_profile", profile, source, given)
    elif cards is not None and cards.text:
        put_count("gpus", "partition.count", cards, source, given)


def _of_template(resource: Resource, inference: Node, given: Given) -> Iterator[Found]:
    """A pod template of the user's own."""
    source = resource.source
    for pod in maps_with(inference, "containers"):
        for container in pod.entries["containers"].items:
            environment = environment_of(container, resource.roots, source)
            command = command_of(container, source, environment)
            if command is not None:
                own = given_by(container, pod, source)
                own.settings = given.settings | own.settings
                yield launched(Start(
                    command.engine, command.arguments, container, source.at(command.line or container.line), source,
                    environment=environment, given=own, name=resource.name, form=FORM.name,
                ))  # fmt: skip


def _of_preset(resource: Resource, inference: Node, preset: Node, given: Given) -> Found:
    source = resource.source
    place = source.at(preset.line)
    repository = repository_of(preset.text)
    if repository is None:
        message = f"KAITO's preset {shorten(preset.text)!r} is not known, so its model is not"
        return Unreadable(place, message, "name a repository of the Hub as the preset: owner/name")
    config, missing = _config(resource, inference)
    command = command_of_engine(ENGINE)
    own = arguments_of_options(ENGINE, config.get(ENGINE) if config is not None else None, source)
    layout, unresolved = _layout(repository, own, given, preset, source)
    added = command.read([*layout, option("max-model-len", "auto", place)])
    _put_offload(config, joined(added, own), given, preset, source)
    given.put("shm_size", "host", source.at(preset.line))  # the controller mounts memory there, without a limit
    return launched(Start(
        ENGINE, joined(added, own), inference, place, source,
        given=given, model=Setting("model", repository, place), name=resource.name, form=FORM.name,
        unresolved=[*missing, *unresolved],
    ))  # fmt: skip


def _config(resource: Resource, inference: Node) -> tuple[Node | None, list[Unresolved]]:
    """The map in the ConfigMap that ``config`` names."""
    named = inference.get("config")
    if named is None or not named.text:
        return None, []
    data = resource.config_map(named.text)
    holder = data.get("inference_config.yaml") or next(iter(data.values()), None)
    config = embedded_map(holder)
    if config is not None:
        return config, []
    reason = "this ConfigMap is not in the file, and it holds vLLM's options"
    return None, [Unresolved("arguments", shorten(named.text), resource.source.at(named.line), reason)]


def _layout(
    repository: str, own: Arguments, given: Given, preset: Node, source: Source
) -> tuple[list[Word], list[Unresolved]]:
    """How the controller lays the model over GPUs where its file doesn't."""
    if {"tp", "pp", "dp"} & set(own.settings) or "mig_profile" in given.settings:
        return [], []
    instance, count = given.settings.get("instance_type"), given.settings.get("nodes")
    nodes = int(str(count.value)) if count is not None else 1
    machine = azure_gpus(str(instance.value)) if instance is not None else None
    if machine is None and given.settings.get("gpus") is not None and given.settings["gpus"].value == 1:
        return [], []
    if machine is None:
        text = str(instance.value) if instance is not None else "no instanceType"
        reason = "how many GPUs such a machine has is not known, and the model is laid over all of them"
        where = instance.place if instance is not None else source.at(preset.line)
        return [], [Unresolved("tp", shorten(text), where, reason)]
    gpus, gpu_gib = machine
    place = instance.place if instance is not None else source.at(preset.line)
    if gpus == 1 and nodes == 1:
        return [], []
    weights = CHECKPOINT_GIB.get(repository)
    if weights is None:
        reason = "the size of this model decides between a copy on each GPU and tensor parallel ranks"
        return [], [Unresolved("tp", shorten(repository), source.at(preset.line), reason)]
    if weights * _LOADED <= _USED_OF_A_GPU * gpu_gib / gpus and nodes == 1:
        return [option("data-parallel-size", gpus, place)], []
    words = [option("tensor-parallel-size", gpus, place)]
    return (words if nodes == 1 else [*words, option("pipeline-parallel-size", nodes, place)]), []


def _put_offload(config: Node | None, arguments: Arguments, given: Given, preset: Node, source: Source) -> None:
    """LMCache's part of the free host memory; none for copies and for several machines."""
    own = config.get("kv_cache_cpu_memory_utilization") if config is not None else None
    if own is not None and own.text:
        given.put("offload_host_fraction", own.text, source.at(own.line))
    elif "dp" not in arguments.settings and "nodes" not in given.settings and "mig_profile" not in given.settings:
        given.put("offload_host_fraction", HALF_OF_FREE_MEMORY, source.at(preset.line))


FORM = Kaito()
