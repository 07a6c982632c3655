"""What an engine tells kvplan."""

from typing import Final, NamedTuple, Protocol

from kvplan.domain.deployment import Deployment, EngineSettings
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import Model
from kvplan.engines.host_lines import CoreLine, HostPool
from kvplan.engines.pace import Pace
from kvplan.engines.versions import release

LLAMA_SERVERS: Final = ("llama.cpp", "ollama")
"""Engines that are ``llama-server`` underneath: what does not fit, or is told to, the CPU computes."""


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
    reads_windows: bool = True
    """It also serves models with sliding layers."""
    vector_multiple: int = 1
    """Key and value vectors must be a multiple of so many elements."""
    since: str = ""
    """The first version of the engine that has it; empty: every modelled one."""
    plain_only: str = ""
    """Why it is not settled whether it serves sliding layers and recurrent ones; empty where that is settled."""
    indexed_format: KvFormat | None = None
    """How latents with a sparse-attention index are stored instead (DeepSeek-V3.2, GLM-5)."""
    unfused_chunk_tokens: int = 0
    """Above 0 where prefill attends to it without a fused kernel: the scores of so many tokens are held in 16 bits."""


class Term(NamedTuple):
    """One part of a GPU's memory, with what it rests on."""

    bytes: Interval
    formula: str
    source: str


class PoolLever(NamedTuple):
    """A flag that gives the KV pool memory which the engine sets aside for something else."""

    flag: str
    bytes: float
    """What the pool gains on one GPU."""


class StateBytes(NamedTuple):
    """Bytes of an element of recurrent states; an architecture that keeps its state in 32 bits has 4 everywhere."""

    conv: float
    recurrent: float


class MemoryPolicy(NamedTuple):
    """How an engine of one version splits one GPU."""

    budget: Term
    """What weights, activations, runtime, graphs and KV together may take."""
    activation: Term
    runtime: Term
    graphs: Term
    block_tokens: int
    prefill_chunk_tokens: int
    """Tokens of one prefill pass."""
    engine_dram: Term
    """Host memory of the engine's processes."""
    core_lines: tuple[CoreLine, ...]
    """Cores that the engine's processes keep busy."""
    window_reserve_tokens: int = 0
    """Tokens that a sliding layer reserves beyond its window for every sequence."""
    window_in_flight_tokens: int = 0
    """Tokens of one step's prefill that sliding layers hold beyond their windows: once for a GPU."""
    window_growth_fraction: float = 0.0
    """Above 0 where the engine does not free what leaves a window: sliding layers grow like others, by this share."""
    paged: bool = True
    """KV is taken block by block as sequences grow; False where every slot has its whole context from the start."""
    frees_chunks: bool = True
    """False where layers of chunked attention keep every token, as if their attention were full."""
    state_bytes: StateBytes = StateBytes(2.0, 2.0)
    state_pool_fraction: float = 0.0
    """Of what weights leave, the share that is set aside for recurrent states, whoever uses it; 0: one common pool."""
    read_fraction: Interval = Interval(1.0, 1.0, 1.0)
    """Rate at which a step reads weights and KV, relative to what the device gives other engines and models."""
    copies_kv_heads: bool = True
    """More tensor-parallel ranks than KV heads: each rank keeps a copy of one head."""
    warnings: tuple[str, ...] = ()
    pool_levers: tuple[PoolLever, ...] = ()
    host_pool: HostPool = HostPool()


class Engine(Protocol):
    """One engine. Adding one is adding a file with an object that has these."""

    name: str
    aliases: tuple[str, ...]
    newest_version: str
    pace: Pace
    splits_layers: bool
    """It gives each GPU some of the layers rather than a part of every layer."""
    lighter_weights: tuple[str, ...]
    """Names of weight_scheme.SCHEMES that it reads and people quantize to, the most precise first."""
    settings_flags: dict[str, str]
    """EngineSettings field, or ``dcp`` -> the engine's own flag, for those it has."""

    def resolve_version(self, version: str) -> str:
        """The version, if modelled; InputError otherwise."""
        ...

    def runs_on(self, gpu: Gpu) -> bool:
        """Whether it is modelled on this device; a CPU that computes is a device of vendor ``cpu``."""
        ...

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        """How one GPU is split, for a replica whose weights take so many bytes on it."""
        ...

    def weight_extras(self, deployment: Deployment) -> float:
        """Bytes of weights on one GPU beside its even share: whole copies, padding, tables."""
        ...

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        """Strategy suffix (``fp8``, ``int4`` ...) -> how the engine stores it on this GPU."""
        ...

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        """Flags that choose this KV type; None where the engine stores it, but its server cannot be told to."""
        ...

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        """The command line that starts this deployment."""
        ...


def kernels_for(engine: Engine, gpu: Gpu, model: Model, version: str = "") -> dict[str, KvKernel]:
    """The KV kernels that an engine of this version (empty: the newest) has for this model on this GPU."""
    kernels = engine.kv_kernels(gpu).items()
    return {suffix: settled(kernel, model) for suffix, kernel in kernels
            if serves(kernel, model) and is_there(kernel, version)}  # fmt: skip


def is_there(kernel: KvKernel, version: str) -> bool:
    """Whether an engine of this version has the format yet."""
    return not (version and kernel.since) or release(version) >= release(kernel.since)


def settled(kernel: KvKernel, model: Model) -> KvKernel:
    """The kernel as it serves this model: not verified where nobody has settled that it serves such layers.

    Sparse attention over latents has a packed format of its own.
    """
    indexed = any(layers.kind == "indexer" and layers.index_bytes for layers in model.kv)
    if indexed and kernel.indexed_format is not None:
        kernel = kernel._replace(format=kernel.indexed_format)
    if not kernel.plain_only or all(layers.state is None and not layers.window_tokens for layers in model.kv):
        return kernel
    return kernel._replace(verified=False, source=kernel.plain_only, format=kernel.format._replace(native_layers=0))


def serves(kernel: KvKernel, model: Model) -> bool:
    """Whether a KV format holds this model's cache: latents, windows, and vectors of whole blocks."""
    if any(layers.latent for layers in model.kv) and not kernel.reads_latents:
        return False
    if any(layers.window_tokens for layers in model.kv) and not kernel.reads_windows:
        return False
    widths = (width for layers in model.kv for width in (layers.key_elements, layers.value_elements))
    return all(width % kernel.vector_multiple == 0 for width in widths)


def kv_word(kernel: KvKernel, deployment: Deployment) -> str:
    """What the KV-type flag is given: the user's own spelling (``fp8_e5m2``) where it is of the same family."""
    wanted = (deployment.settings.kv_cache_dtype or "").lower()
    family = kernel.flag.partition("_e")[0] + "_"
    return wanted if wanted.startswith(family) and kernel.flag.startswith("fp8") else kernel.flag


def replica_users(deployment: Deployment) -> int:
    """Users on the fullest replica."""
    return -(-deployment.workload.users // deployment.layout.dp)


def one_server_a_replica(deployment: Deployment) -> tuple[str, ...]:
    """What must be said of an engine that has no data parallelism of its own."""
    replicas = deployment.layout.dp
    if replicas == 1:
        return ()
    name = deployment.engine.name
    return (f"{name} has no data parallelism: start {replicas} servers, each on its own GPUs, behind a load balancer",)


def quoted(word: str) -> str:
    """A word as it can be pasted into a shell."""
    from shlex import quote

    return quote(word)


def given(settings: EngineSettings, name: str, default: float) -> float:
    """A numeric setting, or the engine's default where it was not given."""
    value = getattr(settings, name)
    return default if value is None else float(value)
