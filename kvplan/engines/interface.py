"""What an engine tells kvplan."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from kvplan.domain.deployment import Deployment, EngineSettings
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import Model


class KvKernel(NamedTuple):
    """A KV format as this engine stores it on this GPU."""

    format: KvFormat
    flag: str
    """What the engine's own KV-type flag calls it."""
    source: str
    verified: bool = True
    """False where sources do not settle whether a kernel exists: the verdict is then UNKNOWN, not a guess."""
    reads_latents: bool = False
    """It also serves MLA, whose cache is one latent for all heads."""


class Term(NamedTuple):
    """One part of a GPU's memory, with what it rests on."""

    bytes: Interval
    formula: str
    source: str


class MemoryPolicy(NamedTuple):
    """How an engine of one version splits one GPU."""

    budget: Term
    """What weights, activations, runtime, graphs and KV together may take."""
    activation: Term
    runtime: Term
    graphs: Term
    block_tokens: int
    window_reserve_tokens: int
    """Tokens that a sliding layer reserves beyond its window."""
    engine_dram: Term
    """Host memory of the engine's processes."""
    engine_cores: float
    engine_cores_source: str
    copies_kv_heads: bool = True
    """More tensor-parallel ranks than KV heads: each rank keeps a copy of one head."""
    kernel_slack: str = ""
    warnings: tuple[str, ...] = ()


class Engine(Protocol):
    """One engine. Adding one is adding a file with an object that has these."""

    name: str
    aliases: tuple[str, ...]
    newest_version: str
    settings_flags: dict[str, str]
    """EngineSettings field -> the engine's own flag, for those it has."""

    def resolve_version(self, version: str) -> str:
        """The version, if modelled; InputError otherwise."""
        ...

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        """How one GPU is split, for a replica whose weights take so many bytes on it."""
        ...

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        """Strategy suffix (``fp8``, ``int4`` ...) -> how the engine stores it on this GPU."""
        ...

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        """The command line that starts this deployment."""
        ...


def kernels_for(engine: Engine, gpu: Gpu, model: Model) -> dict[str, KvKernel]:
    """The KV kernels that an engine has for this model on this GPU."""
    latent = any(layers.replicated for layers in model.kv)
    kernels = engine.kv_kernels(gpu)
    return {suffix: kernel for suffix, kernel in kernels.items() if kernel.reads_latents or not latent}


def quoted(word: str) -> str:
    """A word as it can be pasted into a shell."""
    from shlex import quote

    return quote(word)


def given(settings: EngineSettings, name: str, default: float) -> float:
    """A numeric setting, or the engine's default where it was not given."""
    value = getattr(settings, name)
    return default if value is None else float(value)
