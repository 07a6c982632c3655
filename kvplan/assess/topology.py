"""Layouts of GPUs that no engine can start."""

from __future__ import annotations

from kvplan.deployments.layout import heads_divide
from kvplan.domain.deployment import Layout
from kvplan.domain.model import Model
from kvplan.strategies.interface import Excuse


def topology_excuse(model: Model, layout: Layout, gpus: int) -> Excuse | None:
    """Why this layout cannot be started, if it can't."""
    if layout.gpus > gpus:
        text = f"tp {layout.tp} x pp {layout.pp} x dp {layout.dp} needs {layout.gpus} GPUs, and {gpus} are there"
        return Excuse("no", "topology", text)
    if not heads_divide(model, layout.tp):
        heads = f"{model.attention_heads} attention heads"
        return Excuse("no", "topology", f"{heads} do not divide over {layout.tp} tensor-parallel ranks")
    if layout.pp > model.layers:
        return Excuse("no", "topology", f"{model.layers} layers are fewer than {layout.pp} pipeline stages")
    if layout.dcp > layout.tp:
        return Excuse(
            "no", "topology", f"decode context parallelism over {layout.dcp} ranks needs at least as many tp ranks"
        )
    return None
