"""Layouts of GPUs that no engine can start."""

from __future__ import annotations

from kvplan.deployments.layout import heads_divide
from kvplan.domain.deployment import Deployment, Layout
from kvplan.domain.model import Model
from kvplan.engines import find_engine
from kvplan.strategies.interface import Excuse


def contexts_divide(model: Model, layout: Layout) -> bool:
    """Whether decode context parallelism is possible: it spreads tokens over ranks that hold the same KV head.

    Source: vLLM's checks: tp is a multiple of dcp, and dcp at most tp / KV heads unless the cache is a latent.
    """
    if layout.dcp == 1:
        return True
    if layout.tp % layout.dcp or not all(layers.grows for layers in model.kv):
        return False
    return all(layers.replicated or layout.dcp <= layout.tp // max(layers.kv_heads, 1) for layers in model.kv)


def topology_excuse(model: Model, layout: Layout, gpus: int) -> Excuse | None:
    """Why this layout cannot be started, if it can't."""
    if layout.gpus > gpus:
        text = f"tp {layout.tp} x pp {layout.pp} x dp {layout.dp} needs {layout.gpus} GPUs, and {gpus} are there"
        return Excuse("no", "topology", text)
    if not heads_divide(model, layout.tp):
        heads = f"{model.attention_heads} attention heads"
        return Excuse("no", "topology", f"{heads} do not divide over {layout.tp} tensor-parallel ranks")
    if layout.ep > 1 and (model.experts is None or layout.ep != layout.tp * layout.dp):
        experts = "no experts" if model.experts is None else f"tp x dp = {layout.tp * layout.dp} ranks of experts"
        return Excuse("no", "topology", f"--ep {layout.ep} does not divide: {model.name} has {experts} here")
    if layout.pp > model.layers:
        return Excuse("no", "topology", f"{model.layers} layers are fewer than {layout.pp} pipeline stages")
    if not contexts_divide(model, layout):
        text = f"tokens do not divide over --dcp {layout.dcp} of {layout.tp} tensor-parallel ranks"
        return Excuse("no", "topology", f"{text}: every KV head must be on that many, and no layer may have a window")
    return None


def layout_excuse(deployment: Deployment) -> Excuse | None:
    """Why this engine has no such layout: decode context parallelism is vLLM's and SGLang's."""
    name, ranks = deployment.engine.name, deployment.layout.dcp
    if ranks == 1 or name == "generic" or "dcp" in find_engine(name).settings_flags:
        return None
    return Excuse("no", "kernel", f"{name} has no decode context parallelism: leave out --dcp {ranks}")
