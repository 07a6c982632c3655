"""One model of Ray Serve LLM, or of RayLLM before it, as a deployment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.deployments.argv import Arguments
from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.engine_files import arguments_of_options
from kvplan.deployments.controllers.models_named import model_of
from kvplan.deployments.controllers.options import option
from kvplan.deployments.controllers.pods import Start, joined, launched
from kvplan.deployments.controllers.resources import put_count, put_text
from kvplan.deployments.found import FoundDeployment, Setting, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

ENGINE = "vllm"
FORM = "ray-serve"
_LEGACY_TYPE = re.compile(r"^accelerator_type[:_](.+)$")
_NOTHING = Node("map", 0)


class Cluster(NamedTuple):
    """What runs the models: the container with the image, and what its pod is given."""

    container: Node | None = None
    given: Given | None = None


def llm_deployment(config: Node, name: str, source: Source, cluster: Cluster) -> Iterator[FoundDeployment | Unreadable]:
    """``model_loading_config``, ``accelerator_type``, ``engine_kwargs``."""
    engine = config.scalar("llm_engine")
    if engine.lower() not in ("", ENGINE):
        message = f"Ray's engine {shorten(engine)!r} is not known"
        yield Unreadable(source.at(config.line), message, "engines: vLLM")
        return
    loading = config.get("model_loading_config") or _NOTHING
    stored, served = loading.get("model_source"), loading.get("model_id")
    if stored is not None and stored.kind == "map":
        stored = stored.get("bucket_uri")
    model = model_of(stored if stored is not None else served, served, source)
    arguments = arguments_of_options(ENGINE, config.get("engine_kwargs"), source)
    given = _given(config, arguments, source, cluster)
    yield _launched(name, config, arguments, given, model, source, cluster)


def legacy_deployment(
    config: Node, name: str, source: Source, cluster: Cluster
) -> Iterator[FoundDeployment | Unreadable]:
    """``engine_config`` and ``scaling_config``."""
    engine = config.get("engine_config") or _NOTHING
    if not re.match(r"(?i)^(vllm\w*)?$", engine.scalar("type")):
        message = f"RayLLM's engine {shorten(engine.scalar('type'))!r} is not read"
        yield Unreadable(source.at(engine.line), message, "engines: VLLMEngine")
        return
    model = model_of(engine.get("hf_model_id") or engine.get("model_id"), engine.get("model_id"), source)
    scaling = config.get("scaling_config") or _NOTHING
    words = []
    length, workers = engine.get("max_total_tokens"), scaling.get("num_workers")
    if length is not None and length.text:
        words.append(option("max-model-len", length.text, source.at(length.line)))
    if workers is not None and workers.text:
        words.append(option("tensor-parallel-size", workers.text, source.at(workers.line)))
    own = joined(
        command_of_engine(ENGINE).read(words), arguments_of_options(ENGINE, engine.get("engine_kwargs"), source)
    )
    given = _given(config, own, source, cluster)
    _put_scaling(scaling, given, source)
    yield _launched(name, config, own, given, model, source, cluster)


def _launched(
    name: str,
    config: Node,
    arguments: Arguments,
    given: Given,
    model: Setting | Unresolved | None,
    source: Source,
    cluster: Cluster,
) -> FoundDeployment:
    container = cluster.container or _NOTHING
    return launched(Start(
        ENGINE, arguments, container, source.at(config.line), source,
        name=_name(config, name), form=FORM, given=given, environment=_environment(config, source), model=model,
    ))  # fmt: skip


def _name(config: Node, name: str) -> str:
    served = config.scalar("model_loading_config", "model_id") or config.scalar("engine_config", "model_id")
    return f"{name}-{served.rpartition('/')[2]}" if served else name


def _environment(config: Node, source: Source) -> dict[str, Expansion]:
    variables = config.get("runtime_env", "env_vars")
    return {
        key: Expansion(node.text, place=source.at(node.line))
        for key, node in (variables.entries.items() if variables is not None else ())
        if node.kind == "scalar"
    }


def _given(config: Node, arguments: Arguments, source: Source, cluster: Cluster) -> Given:
    """The workers' pod, the accelerator that the model asks for, and over how many pods its ranks spread."""
    given = Given()
    if cluster.given is not None:
        given.settings.update(cluster.given.settings)
        given.unresolved += cluster.given.unresolved
        given.complaints += cluster.given.complaints
        _put_shared_memory(given)
    accelerator = config.get("accelerator_type")
    if accelerator is not None and accelerator.text:
        put_text("gpu_product", accelerator, source, given)
        given.settings = _in_gb(given.settings)
    ranks = 1
    for name in ("tp", "pp"):
        setting = arguments.settings.get(name)
        ranks *= int(str(setting.value)) if setting is not None and str(setting.value).isdigit() else 1
    gpus = given.settings.get("gpus")
    each = int(str(gpus.value)) if gpus is not None else 0
    if gpus is not None and each and ranks > each and ranks % each == 0:
        given.settings["nodes"] = Setting("nodes", ranks // each, gpus.place)
    replicas = config.get("deployment_config", "num_replicas")
    replicas = replicas or config.get("deployment_config", "autoscaling_config", "min_replicas")
    if replicas is not None and replicas.text.isdigit() and replicas.text != "0":
        put_count("replicas", "num_replicas", replicas, source, given)
    return given


def _put_shared_memory(given: Given) -> None:
    """KubeRay mounts memory at /dev/shm, as much as the container asks for."""
    asked = given.settings.get("memory_request") or given.settings.get("memory_limit")
    if "shm_size" not in given.settings and asked is not None:
        given.settings["shm_size"] = Setting("shm_size", asked.value, asked.place)


def _in_gb(settings: dict[str, Setting]) -> dict[str, Setting]:
    """Ray writes ``A100-80G``."""
    product = settings["gpu_product"]
    text = re.sub(r"^(A100)[-_](\d0)G$", r"\1-\2GB", str(product.value))
    return {**settings, "gpu_product": Setting("gpu_product", text, product.place)}


def _put_scaling(scaling: Node, given: Given, source: Source) -> None:
    workers, gpus, cpus = (scaling.get(key) for key in ("num_workers", "num_gpus_per_worker", "num_cpus_per_worker"))
    if workers is not None and workers.text.isdigit():
        each = int(gpus.text) if gpus is not None and gpus.text.isdigit() else 1
        given.put("gpus", int(workers.text) * max(each, 1), source.at(workers.line))
    if cpus is not None and cpus.text:
        put_text("cpu_request", cpus, source, given)
    resources = scaling.get("resources_per_worker")
    for key, node in resources.entries.items() if resources is not None else ():
        accelerator = _LEGACY_TYPE.match(key)
        if accelerator is not None:
            given.put("gpu_product", accelerator[1].upper(), source.at(node.line))
