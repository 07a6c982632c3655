"""The KV of a model as a serving engine lays it out, for engines that say how they do."""

from __future__ import annotations

import json

from kvplan.assess import resident_kernel
from kvplan.assess.topology import topology_excuse
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import AUTO_LENGTHS, Words
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval
from kvplan.domain.model import KvLayers, Model
from kvplan.engines import find_engine
from kvplan.engines.interface import Engine, KvKernel, kernels_for
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.errors import CannotJudge, InputError, UnknownName
from kvplan.units import shorten

NOWHERE = Host(
    name="no host", title="no host", category="server", gpu=None, gpus=1, cpu=None, cpu_cores=None, dram_bytes=0.0,
    dram_bytes_per_s=None, numa_nodes=None, link=None, unified_memory=False, gpu_share_fraction=None,
    os_reserve_bytes=0.0, source="none",
)  # fmt: skip
"""What stands in for a host: the bytes of engine ``generic`` don't depend on one."""
_HEADS_OF_OWN = frozenset(("medusa", "mlp_speculator"))
"""Drafts that cache nothing."""
_CARDS = (("nvidia", "hopper"), ("nvidia", "blackwell_dc"), ("nvidia", "blackwell_rtx"), ("nvidia", "ampere"),
          ("amd", "cdna3"), ("apple", "apple"), ("cpu", "cpu"))  # fmt: skip
"""Where no host is named a KV type is known if any of these has a kernel for it."""


def lays_out(engine: Engine) -> bool:
    """Whether kvplan knows how this engine lays out its KV."""
    return hasattr(engine, "kv_layout")


def laid_out(model: Model, words: Words, pool_bytes: int | None) -> tuple[Deployment, KvLayout]:
    """The deployment that the words describe, and its engine's answer.

    Without --context and --max-model-len a sequence is as long as the model takes, as the engine has it.
    """
    deployment = _deployment(model, words)
    engine = find_engine(deployment.engine.name)
    kernel = _kernel(engine, deployment)
    layout: KvLayout = engine.kv_layout(  # type: ignore[attr-defined]
        KvQuestion(deployment, kernel, None if pool_bytes is None else float(pool_bytes))
    )
    return deployment, layout


def _deployment(model: Model, words: Words) -> Deployment:
    host = load_host(words.host, words.catalog)._replace(gpus=1) if words.host else NOWHERE
    asked = str(words.max_model_len or "").strip().lower()
    if words.context is None and words.prompt_tokens is None and (not asked or asked in AUTO_LENGTHS):
        if model.max_context_tokens is None:
            raise InputError(f"{model.name} states no longest sequence", help="give --max-model-len or --context")
        words = words._replace(context=model.max_context_tokens)
    deployment = resolve_on(words, model, host, weights_matter=False)
    excuse = topology_excuse(model, deployment.layout, deployment.layout.gpus)
    if excuse is not None:
        raise InputError(excuse.sentence, help="the layout is set by --tp, --pp and --dcp")
    return deployment._replace(model=_with_draft(deployment, words))


def _kernel(engine: Engine, deployment: Deployment) -> KvKernel | None:
    """The KV type that is asked for, on the card that is named or on any."""
    asked, version = deployment.settings.kv_cache_dtype, deployment.engine.version
    gpu = deployment.host.gpu
    cards = [gpu] if gpu is not None else [_card(vendor, kernel_class) for vendor, kernel_class in _CARDS]
    found: dict[str, KvKernel] = {}
    for card in cards:
        if engine.runs_on(card):
            found = {**kernels_for(engine, card, deployment.model, version), **found}
    return resident_kernel(asked, found)


def _card(vendor: str, kernel_class: str) -> Gpu:
    nothing = Interval.exact(0.0)
    return Gpu(
        name="no card", vendor=vendor, kernel_class=kernel_class, hbm_bytes=nothing, hbm_bytes_per_s=None, flops=None,
        weight_read_fraction=nothing, kv_read_fraction=nothing, step_overhead_s=nothing, peer_bytes_per_s=None,
        source="none",
    )  # fmt: skip


def _with_draft(deployment: Deployment, words: Words) -> Model:
    """The model with the KV of a draft that is not its own MTP layers.

    An EAGLE head has one layer like the target's; a draft model brings all its layers.
    """
    model, drafting = deployment.model, deployment.settings.drafting
    if drafting is None or drafting.by_mtp or not any("draft model's" in text for text in model.warnings):
        return model
    name = json.loads(drafting.config).get("model")
    if drafting.method in _HEADS_OF_OWN:
        return model
    if drafting.method.startswith("eagle"):
        extra = _eagle_head(model)
    else:
        extra = _draft_layers(drafting.method, name, words)
    told = tuple(text for text in model.warnings if "draft model's" not in text)
    return model._replace(kv=(*model.kv, *extra), warnings=told)


def _eagle_head(model: Model) -> tuple[KvLayers, ...]:
    full = next((layers for layers in model.kv if layers.kind == "full"), None)
    if full is None:
        raise CannotJudge(f"the KV of an EAGLE head for {model.name} is not known")
    return (full._replace(layers=1),)


def _draft_layers(method: str, name: object, words: Words) -> tuple[KvLayers, ...]:
    if not isinstance(name, str):
        raise CannotJudge(f"the KV of what drafts ({shorten(method)}) is not known")
    try:
        draft = load_model(name, words.catalog, fetch=words.fetch)
    except UnknownName as unknown:
        raise CannotJudge(f"the KV of the draft model {shorten(name)!r} is not known", help=unknown.help) from None
    return draft.kv
