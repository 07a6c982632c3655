"""One deployment: a model on a host under an engine, with the settings that change its memory."""

from typing import TYPE_CHECKING, NamedTuple

from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.domain.task import Task
from kvplan.domain.weight_scheme import SCHEMES, WeightScheme
from kvplan.domain.workload import Neighbours, Objectives, Workload

if TYPE_CHECKING:
    from kvplan.domain.calibration import Calibration


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


class Drafting(NamedTuple):
    """What drafts tokens, as ``--speculative-config`` says it."""

    method: str
    """``mtp``, ``ngram``, ``eagle3`` ..., else the draft model."""
    config: str
    """The JSON object, as vLLM takes it."""
    tokens: int | None = None
    """Tokens of one draft; None where it was not said."""
    by_mtp: bool = False
    """The model's own multi-token-prediction layers draft."""


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
    drafting: Drafting | None = None
    prefix_caching: bool | None = None
    unify_kv_groups: bool = False
    """vLLM's hybrid KV manager is off: layers with windows keep every token."""
    mamba_cache_mode: str | None = None
    mamba_ssm_cache_dtype: str | None = None

    @property
    def mtp_drafts(self) -> bool:
        """The model's own multi-token-prediction heads draft tokens, and so are loaded."""
        return self.drafting is not None and self.drafting.by_mtp


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
    calibrations: tuple["Calibration", ...] = ()
    """What start-up logs showed on this host, the newest last."""
    task: Task | None = None
    """What the answers are for, where that was said: losses of accuracy are then those of this class."""

    @property
    def weight_scheme(self) -> WeightScheme:
        """How the weights are stored: as asked for, else as the checkpoint has them."""
        return SCHEMES[self.settings.weights or self.model.dtype]

    @property
    def weight_parts(self) -> WeightParts:
        """Bytes of one replica's weights: as the files state them, else computed for the scheme that is asked for.

        Engines skip the multi-token-prediction heads of a checkpoint unless these draft tokens.
        Source: the weight loaders of vLLM and SGLang, and llama.cpp's converter.
        """
        model, scheme = self.model, self.weight_scheme
        if model.stored is not None and self.settings.weights in (None, model.dtype):
            stored = model.stored
            mtp, mtp_experts = stored.mtp_bytes, 0.0
            table, looked_up = stored.embedding_bytes, stored.lookup_bytes
            dense = stored.dense_bytes + mtp + stored.tower_bytes + table
            experts, unread = stored.routed_expert_bytes, stored.tower_bytes
        else:
            dense, experts = scheme.bytes_of(model.weights)
            mtp, mtp_experts = scheme.mtp_bytes(model.weights)
            table, looked_up, unread = (
                count * scheme.kept_bits / 8
                for count in (model.weights.embedding, model.weights.lookup, model.weights.towers)
            )
        unread += looked_up + (table if model.weights.lm_head else 0.0)
        if self.settings.mtp_drafts:
            return WeightParts(dense, experts, unread + mtp)
        return WeightParts(dense - mtp, experts - mtp_experts, unread)

    @property
    def gpu_weight_bytes(self) -> float:
        """Weights on the fullest GPU: the dense part over the replica's GPUs, the experts over all that share them.

        Of pipeline stages the first holds the embedding, the last the head; the layers between them are shared out.
        """
        parts, layout = self.weight_parts, self.layout
        if layout.pp == 1:
            return parts.dense / layout.tp + parts.experts / layout.expert_gpus
        table, head = self.embedding_bytes, self.head_bytes
        fullest = -(-self.model.layers // layout.pp) * layout.pp / self.model.layers
        layers = (parts.dense - table - head) / (layout.tp * layout.pp) + parts.experts / layout.expert_gpus
        return layers * fullest + max(table, head) / layout.tp

    @property
    def embedding_bytes(self) -> float:
        """The embedding table, which is the head as well where that has no matrix of its own."""
        model = self.model
        if model.stored is not None and self.settings.weights in (None, model.dtype):
            return model.stored.embedding_bytes
        return model.weights.embedding * self.weight_scheme.kept_bits / 8

    @property
    def head_bytes(self) -> float:
        """The matrix from hidden states to logits; 0 where it is the embedding table again."""
        return self.model.weights.lm_head * self.weight_scheme.kept_bits / 8

    @property
    def stored_weight_bytes(self) -> float:
        """All weights of one replica, as the scheme stores them."""
        return self.weight_parts.dense + self.weight_parts.experts
