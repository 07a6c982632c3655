"""Values of the vLLM production stack's Helm chart: one deployment an entry of ``servingEngineSpec.modelSpec``.

The chart turns ``vllmConfig`` into flags, ``lmcacheConfig`` into LMCache's variables (its buffer is GiB for each
worker) and a connector, ``request*`` and ``limit*`` into resources; with tensor parallelism it mounts ``/dev/shm``
of ``shmSize``, by default 20Gi. With ``raySpec`` a head and ``replicaCount`` workers are one replica.
Source: production-stack ``helm/templates/deployment-vllm-multi.yaml``, ``ray-cluster.yaml``, ``_helpers.tpl``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.container_words import list_words
from kvplan.deployments.controllers.custom_resources import unique_names, unread_rest
from kvplan.deployments.controllers.models_named import model_of
from kvplan.deployments.controllers.options import option, words_of
from kvplan.deployments.controllers.pods import Start, joined, launched
from kvplan.deployments.controllers.resources import (
    CONTAINER_SHM,
    put_count,
    put_text,
    read_device,
    read_node_terms,
    read_resources,
)
from kvplan.deployments.found import Complaint, FoundDeployment, Setting
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.kube.pod_commands import environment_of
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node, documents

ENGINE = "vllm"
DEFAULT_SHM = "20Gi"
_OWN_KEYS = ("v0", "v1", "extraArgs", "prometheusMultiprocDir")
_AMOUNTS = (("cpu_limit", "limitCPU"), ("memory_limit", "limitMemory"), ("cpu_request", "requestCPU"),
            ("memory_request", "requestMemory"))  # fmt: skip
_SHARES = {"limitGPUMem": "nvidia.com/gpumem", "limitGPUMemPercentage": "nvidia.com/gpumem-percentage",
           "requestGPUMem": "nvidia.com/gpumem", "requestGPUMemPercentage": "nvidia.com/gpumem-percentage"}  # fmt: skip
_BELOW_ONE = re.compile(r"0\.\d+")
_MARK = re.compile(r"^[ \t]*modelSpec[ \t]*:", re.MULTILINE)


class ProductionStack:
    """``servingEngineSpec`` with ``modelSpec``."""

    name = "production-stack"
    order = 16
    names = ("*.yaml", "*.yml")
    traces = (b"modelSpec",)

    def recognises(self, source: Source) -> bool:
        yaml = source.suffix in (".yaml", ".yml", "")
        return yaml and re.search(r"(?m)^servingEngineSpec[ \t]*:", source.text) is not None and bool(
            _MARK.search(source.text))  # fmt: skip

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        found = []
        for root in roots:
            serving = root.get("servingEngineSpec")
            specs = serving.get("modelSpec") if serving is not None else None
            if serving is not None and serving.scalar("enableEngine").lower() != "false":
                found += [item for spec in _models(specs) for item in [_deployment(spec, serving, root, source)]]
        return Reading(unique_names(found), unread_rest(source, fault))


def _models(specs: Node | None) -> Iterator[Node]:
    for spec in specs.items if specs is not None else ():
        if spec.kind == "map" and spec.scalar("enabled").lower() != "false":
            yield spec


def _deployment(spec: Node, serving: Node, root: Node, source: Source) -> FoundDeployment:
    config = spec.get("vllmConfig")
    environment = _environment(spec, serving, source)
    command = command_of_engine(ENGINE)
    extra = config.get("extraArgs") if config is not None else None
    words = [*_flags(spec, config, source), *list_words(extra.items if extra is not None else [], source, environment)]
    arguments = joined(command.read(words, "api_server"), _connector(spec, source))
    lmcache = spec.get("lmcacheConfig")
    if lmcache is not None:
        environment |= _lmcache(lmcache, source)
    given = _given(spec, serving, source)
    return launched(Start(
        ENGINE, arguments, _container(spec), source.at(spec.line), source,
        environment=environment, given=given, model=model_of(spec.get("modelURL"), None, source),
        name=spec.scalar("name") or root.scalar("nameOverride") or source.stem, form=FORM.name,
    ))  # fmt: skip


def _flags(spec: Node, config: Node | None, source: Source) -> list[Word]:
    words = words_of(config, source, without=_OWN_KEYS)
    lora = spec.get("enableLoRA")
    if lora is not None and lora.text.lower() == "true":
        words.append(option("enable-lora", "true", source.at(lora.line)))
    return words


def _connector(spec: Node, source: Source) -> Arguments:
    """The chart adds the connector behind all other arguments."""
    lmcache = spec.get("lmcacheConfig")
    enabled = lmcache.get("enabled") if lmcache is not None else None
    if lmcache is None or enabled is None or enabled.text.lower() != "true":
        return Arguments()
    name = "LMCacheConnector" if spec.scalar("vllmConfig", "v0") == "1" else "LMCacheConnectorV1"
    role = lmcache.scalar("kvRole") or "kv_both"
    text = f'{{"kv_connector": "{name}", "kv_role": "{role}"}}'
    return command_of_engine(ENGINE).read([option("kv-transfer-config", text, source.at(enabled.line))], "api_server")


def _lmcache(lmcache: Node, source: Source) -> dict[str, Expansion]:
    """LMCache's variables that the chart sets; disaggregated prefill switches the host tier off."""
    found: dict[str, Expansion] = {}
    split, buffer = lmcache.get("enablePD"), lmcache.get("cpuOffloadingBufferSize")
    devices = lmcache.get("cudaVisibleDevices")
    if devices is not None and devices.text:
        found["CUDA_VISIBLE_DEVICES"] = Expansion(devices.text, place=source.at(devices.line))
    if split is not None and split.text.lower() == "true":
        found["LMCACHE_MAX_LOCAL_CPU_SIZE"] = Expansion("0", place=source.at(split.line))
    if buffer is not None and buffer.text not in ("", "0"):
        found["LMCACHE_LOCAL_CPU"] = Expansion("True", place=source.at(buffer.line))
        found["LMCACHE_MAX_LOCAL_CPU_SIZE"] = Expansion(buffer.text, place=source.at(buffer.line))
    return found


def _environment(spec: Node, serving: Node, source: Source) -> dict[str, Expansion]:
    """Variables of all models, then those of this one."""
    return {**environment_of(serving, [], source), **environment_of(spec, [], source)}


def _container(spec: Node) -> Node:
    """``repository`` and ``tag`` as the container's image."""
    repository, tag = spec.get("repository"), spec.get("tag")
    if repository is None or not repository.text:
        return spec
    text = repository.text + (f":{tag.text}" if tag is not None and tag.text else "")
    image = Node("scalar", (tag or repository).line, text)
    return replace(spec, entries={**spec.entries, "image": image}, key_lines={**spec.key_lines, "image": image.line})


def _given(spec: Node, serving: Node, source: Source) -> Given:
    given = Given()
    ray = spec.get("raySpec")
    head = ray.get("headNode") if ray is not None else None
    kind = spec.scalar("requestGPUType") or "nvidia.com/gpu"
    for holder in (head, spec) if head is not None else (spec,):
        gpus = holder.get("requestGPU")
        if gpus is not None and _BELOW_ONE.fullmatch(gpus.text):
            message = f"requestGPU: {gpus.text} asks for no GPU: the chart takes the whole part of it"
            given.complaints.append(Complaint(message, source.at(gpus.line), "ask for 1 GPU", level="warn"))
        elif gpus is not None and gpus.text not in ("", "0"):
            read_device(kind, gpus, source, given)
        for name, key in _AMOUNTS:
            node = holder.get(key)
            if node is not None and node.text:
                put_text(name, node, source, given)
        for key, device in _SHARES.items():
            node = holder.get(key)
            if node is not None and node.text:
                read_device(device, node, source, given)
    read_resources(spec.get("resources"), source, given)
    terms = spec.get("nodeSelectorTerms")
    if terms is not None:
        read_node_terms(terms, source, given)
    _put_shared_memory(spec, given, source)
    _put_counts(spec, ray, given, source)
    return given


def _put_shared_memory(spec: Node, given: Given, source: Source) -> None:
    ranks = spec.get("vllmConfig", "tensorParallelSize")
    if spec.scalar("lmcacheConfig", "enablePD").lower() == "true":
        given.put("shm_size", "host", source.at((spec.get("lmcacheConfig", "enablePD") or spec).line))
    elif ranks is not None:
        shm = spec.get("shmSize")
        if shm is not None and shm.text:
            put_text("shm_size", shm, source, given)
        else:
            given.put("shm_size", DEFAULT_SHM, source.at(ranks.line))
    else:
        given.put("shm_size", CONTAINER_SHM, source.at(spec.line))


def _put_counts(spec: Node, ray: Node | None, given: Given, source: Source) -> None:
    replicas = spec.get("replicaCount")
    if replicas is None or not replicas.text:
        return
    put_count("replicas", "replicaCount", replicas, source, given)
    workers = given.settings.get("replicas")
    if ray is not None and ray.scalar("enabled").lower() != "false" and workers is not None:
        del given.settings["replicas"]
        given.settings["nodes"] = Setting("nodes", int(str(workers.value)) + 1, workers.place)


FORM = ProductionStack()
