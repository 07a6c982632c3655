"""One deployment: a model on a host under an engine, with the settings that change its memory."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES, WeightScheme
from kvplan.domain.workload import Neighbours, Objectives, Workload


class Layout(NamedTuple):
    """How many GPUs share one model and how: tp x pp GPUs hold one replica, dp replicas side by side."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    dcp: int = 1

    @property
    def gpus(self) -> int:
        return self.tp * self.pp * self.dp

    @property
    def expert_gpus(self) -> int:
        """GPUs that the routed experts divide over: the replica's, or all with expert parallelism."""
        return self.gpus if self.ep > 1 else self.tp * self.pp


class EngineSettings(NamedTuple):
    """Engine flags that change memory. None means that the engine's own default holds."""

    weights: str | None = None
    """A name of weight_scheme.SCHEMES; None = as the checkpoint stores them."""
    kv_cache_dtype: str | None = None
    gpu_memory_utilization: float | None = None
    mem_fraction_static: float | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    block_size: int | None = None
    enforce_eager: bool = False
    kv_offloading_bytes: float | None = None
    cpu_offload_bytes: float | None = None


class EngineChoice(NamedTuple):
    """An engine by name and version, both resolved."""

    name: str
    version: str


class WeightParts(NamedTuple):
    """Bytes of one replica's weights."""

    dense: float
    """All but the routed experts."""
    experts: float
    unread: float
    """Of the dense part, what a decode step does not read: towers, MTP heads, an embedding that is not the head."""


class Deployment(NamedTuple):
    """Everything that one assessment needs."""

    model: Model
    host: Host
    """Already reduced to the GPUs in use (``--gpus``) and with the user's overrides applied."""
    gpus_installed: int
    engine: EngineChoice
    layout: Layout
    settings: EngineSettings
    workload: Workload
    objectives: Objectives = Objectives()
    neighbours: Neighbours = Neighbours()
    method: str | None = None
    """The published method that strategies of its family take their constants from; None: each its own default."""

    @property
    def weight_scheme(self) -> WeightScheme:
        """How the weights are stored: as asked for, else as the checkpoint has them."""
        return SCHEMES[self.settings.weights or self.model.dtype]

    @property
    def weight_parts(self) -> WeightParts:
        """Bytes of one replica's weights: as the files state them, else computed for the scheme that is asked for."""
        model, scheme = self.model, self.weight_scheme
        if model.stored is not None and self.settings.weights in (None, model.dtype):
            stored = model.stored
            unread = stored.mtp_bytes + stored.tower_bytes
            table = stored.embedding_bytes
            dense = stored.dense_bytes + unread + table
            unread += stored.lookup_bytes + (table if model.weights.lm_head else 0.0)
            return WeightParts(dense, stored.routed_expert_bytes, unread)
        dense, experts = scheme.bytes_of(model.weights)
        unread = (model.weights.towers + model.weights.lookup) * scheme.kept_bits / 8
        unread += scheme.mtp_bytes(model.weights)
        if model.weights.lm_head:
            unread += model.weights.embedding * scheme.kept_bits / 8
        return WeightParts(dense, experts, unread)

    @property
    def gpu_weight_bytes(self) -> float:
        """Weights on one GPU: the dense part over the replica's GPUs, the experts over all that share them."""
        parts = self.weight_parts
        return parts.dense / (self.layout.tp * self.layout.pp) + parts.experts / self.layout.expert_gpus

    @property
    def stored_weight_bytes(self) -> float:
        """All weights of one replica, as the scheme stores them."""
        return self.weight_parts.dense + self.weight_parts.experts
