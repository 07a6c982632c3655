"""What llama-server leaves to the CPU, and what that makes of a deployment.

``-ngl`` counts layers on the GPU, ``-ncmoe`` layers whose experts are not; without either, builds since December 2025
and Ollama give the CPU what does not fit, so that nothing fails to start: it is slower.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kvplan.assess import build_frame
from kvplan.assess.frame import Frame
from kvplan.deployments.as_words import Translated
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.engines.interface import KvKernel
from kvplan.engines.llama_cpp_cells import TYPE_BYTES
from kvplan.rules.llama_slots import ALL_LAYERS_BUILD, FIT_BUILD, Slots, build_of
from kvplan.units import gib

_NATIVE: Final = {"f16", "bf16"}
_OLLAMA_TYPES: Final = {"q8_0", "q4_0"}
_OFF: Final = {"off", "0", "false", "disabled"}
_OVERHEAD_BYTES: Final = gib(2)
"""About what a device needs beside weights and KV, where GPUs are chosen for Ollama."""


class Placement(NamedTuple):
    """Where weights and KV lie."""

    strategies: tuple[str, ...] = ("hbm",)
    offloaded_bytes: float = 0.0
    """Weights of one GPU's share that the CPU has."""
    kv_fraction: float = 1.0
    """Of the KV, what lies on the GPU."""
    flexible: bool = False
    """Layers that do not fit go to the CPU by themselves."""
    slots: Slots = Slots(None, 1, True, "default")


def words_of_server(words: Words, translated: Translated, model: Model, host: Host, slots: Slots) -> Words:
    """Words of a llama-server: whole layers on each GPU, a user for each slot, its own micro-batch and types."""
    gpus = _gpus(words, translated, model, host, slots)
    micro_batch = translated.values.get("ubatch_tokens")
    users = words.users if "users" in translated.values else slots.reserved
    drafts = words.speculative_config
    if drafts and '"mtp"' in drafts and not model.mtp_kv:
        drafts = '{"method": "draft_model"}'
    return words._replace(
        tp=1, pp=max(min(gpus, model.layers), 1), dp=1, gpus=gpus, users=users, kv_cache_dtype=None,
        max_num_batched_tokens=int(str(micro_batch)) if micro_batch else None, max_num_seqs=None,
        speculative_config=drafts,
    )  # fmt: skip


def frame_of_server(deployment: Deployment, translated: Translated, placement: Placement) -> Frame:
    """The frame with the cache types that the server is told, and the weights that the CPU has."""
    settings = deployment.settings._replace(cpu_offload_bytes=placement.offloaded_bytes or None)
    frame = build_frame(deployment._replace(settings=settings))
    kernel = _kernel(translated, deployment.model)
    if kernel is None:
        return frame
    known = frame.situation.kernels
    kernel = known.get(kernel.flag, kernel)
    situation = frame.situation._replace(kernels={**known, kernel.flag: kernel})
    return frame._replace(situation=situation, resident_kernel=kernel)


def placement_of(engine: str, translated: Translated, deployment: Deployment, slots: Slots) -> Placement:
    """What stays on the CPU of this deployment."""
    on_gpu, flexible = _layers_on_gpu(engine, translated, deployment)
    layers, weights = deployment.model.layers, deployment.gpu_weight_bytes
    head = deployment.head_bytes / deployment.layout.gpus
    left = weights - head if on_gpu < layers else 0.0
    offloaded = left * (1.0 - on_gpu / layers) + (head if on_gpu < layers else 0.0)
    fraction = min(on_gpu / layers, 1.0)
    experts = _experts_on_cpu(translated, deployment)
    strategies: tuple[str, ...] = ("hbm",)
    if translated.is_on("no_kv_offload"):
        strategies, fraction = ("offload-cpu-attention",), 0.0
    elif experts > 0.0:
        strategies, offloaded = ("expert-offload",), min(offloaded + experts, weights)
    elif offloaded > 0.0:
        strategies = ("weight-offload",)
    elif flexible and not deployment.host.unified_memory:
        strategies = ("hbm", "weight-offload")
    return Placement(strategies, offloaded, fraction, flexible and experts == 0.0, slots)


class TypeFault(NamedTuple):
    """Cache types with which a server does not start, or that are those of another program."""

    level: str
    message: str
    setting: str


def type_fault(engine: str, translated: Translated, official: bool) -> TypeFault | None:
    """What is wrong with ``-ctk`` and ``-ctv``. Forks have types of their own: only an official image has none."""
    if engine == "ollama":
        return None
    key, value = _types(translated)
    for name, word in (("cache_type_k", key), ("cache_type_v", value)):
        if word not in TYPE_BYTES:
            text = f"llama-server knows no cache type {word[:40]!r}: {', '.join(TYPE_BYTES)}"
            return TypeFault("fail" if official else "unknown", text if official else f"{text}; a fork's?", name)
    flash = str(translated.values.get("flash_attention", "")).lower()
    off = flash in _OFF or (not flash and build_of(translated) < ALL_LAYERS_BUILD)
    if off and TYPE_BYTES[value] < TYPE_BYTES["f16"]:
        text = f"a V cache in {value} needs flash attention, which is off: llama-server refuses to start"
        return TypeFault("fail", text, "cache_type_v")
    return None


def type_without_effect(engine: str, translated: Translated) -> str | None:
    """Why Ollama keeps its cache in f16 although it is told another type."""
    word = str(translated.values.get("kv_cache_dtype", "f16")).lower()
    if engine != "ollama" or word in _NATIVE:
        return None
    if word not in _OLLAMA_TYPES:
        return f"Ollama takes no KV type {word[:40]!r}: the cache is f16"
    if str(translated.values.get("flash_attention", "")) in _OFF:
        return f"OLLAMA_KV_CACHE_TYPE={word} has no effect without flash attention: the cache is f16"
    return None


def _layers_on_gpu(engine: str, translated: Translated, deployment: Deployment) -> tuple[int, bool]:
    """Layers on the GPUs (the head is one more), and whether fewer of them would do by themselves."""
    layers, asked = deployment.model.layers, translated.values.get("n_gpu_layers", "auto")
    gpu = deployment.host.gpu
    if gpu is None or gpu.kernel_class == "cpu":
        return layers + 1, False  # there is one memory, and nothing beside it
    if isinstance(asked, int) and asked >= 0:
        return min(asked, layers + 1), False
    if asked == "all" or asked == -2:
        return layers + 1, False
    if engine == "ollama":
        return layers + 1, True
    build = build_of(translated)
    if build >= FIT_BUILD:
        placed = translated.values.keys() & {"n_cpu_moe", "cpu_moe", "override_tensor"}
        return layers + 1, str(translated.values.get("fit", "on")) != "off" and not placed
    return (layers + 1 if build >= ALL_LAYERS_BUILD or deployment.host.unified_memory else 0), False


def _experts_on_cpu(translated: Translated, deployment: Deployment) -> float:
    """Bytes of routed experts that ``-cmoe`` and ``-ncmoe`` keep on the CPU, of one GPU's share."""
    experts, model = deployment.model.experts, deployment.model
    if experts is None or not experts.moe_layers:
        return 0.0
    counted = int(translated.number("n_cpu_moe") or 0)
    moved = experts.moe_layers if translated.is_on("cpu_moe") else 0
    dense = model.layers - experts.moe_layers
    if counted:
        first = (
            max(counted - dense, 0) if 4 * dense <= experts.moe_layers else counted * experts.moe_layers // model.layers
        )
        moved = max(moved, min(first, experts.moe_layers))
    return deployment.weight_parts.experts / deployment.layout.expert_gpus * moved / experts.moe_layers


def _gpus(words: Words, translated: Translated, model: Model, host: Host, slots: Slots) -> int:
    """llama-server splits layers over every GPU that it sees; Ollama takes no more than it needs."""
    there = min(words.gpus or host.gpus, host.gpus)
    if str(translated.values.get("split_mode", "")) == "none":
        return 1
    shares = [part for part in str(translated.values.get("tensor_split", "")).split(",") if part.strip(" 0.")]
    if shares:
        return min(len(shares), there)
    if translated.words.engine is None or not translated.words.engine.startswith("ollama"):
        return there
    if translated.is_on("sched_spread") or host.gpu is None:
        return there
    weights = sum(SCHEMES[words.weights or model.dtype].bytes_of(model.weights))
    elements = sum(layers.layers * layers.elements_per_token for layers in model.kv)
    needed = weights + 2.0 * elements * (slots.each_tokens or 0) * slots.reserved
    room = host.gpu.hbm_bytes.best - _OVERHEAD_BYTES
    return next((count for count in range(1, there + 1) if needed <= count * room), there)


def _types(translated: Translated) -> tuple[str, str]:
    """Types of K and V. Ollama has one for both, and takes an unknown one, or any without flash attention, as f16."""
    values = translated.values
    if "cache_type_k" in values or "cache_type_v" in values:
        return str(values.get("cache_type_k", "f16")).lower(), str(values.get("cache_type_v", "f16")).lower()
    word = str(values.get("kv_cache_dtype", "f16")).lower()
    off = str(values.get("flash_attention", "")) in _OFF
    return ("f16", "f16") if off or word not in _OLLAMA_TYPES else (word, word)


def _kernel(translated: Translated, model: Model) -> KvKernel | None:
    """K and V as told; two types are one of their mean width."""
    key, value = _types(translated)
    if {key, value} <= _NATIVE or key not in TYPE_BYTES or value not in TYPE_BYTES:
        return None
    keys = sum(item.layers * item.kv_heads * item.key_elements for item in model.kv if item.state is None)
    values = sum(item.layers * item.kv_heads * item.value_elements for item in model.kv if item.state is None)
    width = (keys * TYPE_BYTES[key] + values * TYPE_BYTES[value]) / max(keys + values, 1) / 32
    name = key if key == value else f"{key}/{value}"
    return KvKernel(KvFormat(name, width), name, "llama.cpp ggml-common.h: bytes per block of 32 elements")
