"""Typed things -> plain numbers: where a deployment crosses into the core."""

from __future__ import annotations

from kvplan.assess import constants
from kvplan.core.cpu import numa_rate_fraction
from kvplan.core.shapes import GpuRates, HostRates, KvGrowth, KvGrowths, Limits, ModelWork, Traffic
from kvplan.domain.deployment import Deployment, Layout
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import KvLayers, Model
from kvplan.engines.interface import MemoryPolicy
from kvplan.errors import CannotJudge

_PAD = KvGrowth(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)


def kv_growths(model: Model, kv_format: KvFormat, layout: Layout, policy: MemoryPolicy) -> KvGrowths:
    """How the KV of one sequence grows on the fullest GPU. Layers with the same window are one record."""
    by_window: dict[int, float] = {}
    for layers in model.kv:
        one = layer_bytes_per_token(layers, kv_format, layout, policy)
        window = layers.window_tokens or 0
        if window and policy.window_growth_fraction:
            window, one = 0, one * policy.window_growth_fraction
        by_window[window] = by_window.get(window, 0.0) + one
    found = [
        KvGrowth(
            bytes_per_token,
            float(window),
            float(policy.window_reserve_tokens) if window else 0.0,
            float(policy.window_in_flight_tokens) if window else 0.0,
            float(policy.block_tokens),
            0.0,
        )
        for window, bytes_per_token in sorted(by_window.items())
    ]
    if len(found) > 4:
        raise CannotJudge(f"{model.name} has {len(found)} different attention windows; kvplan handles four")
    first, second, third, fourth = (*found, *[_PAD] * 4)[:4]
    return first, second, third, fourth


def layer_bytes_per_token(layers: KvLayers, kv_format: KvFormat, layout: Layout, policy: MemoryPolicy) -> float:
    """Bytes that one more token takes in these layers on one GPU.

    KV heads are split over the tensor-parallel ranks; with more ranks than heads an engine copies them, so that the
    count on a GPU never falls below one. A latent (MLA) is whole on every rank. Decode context parallelism spreads
    tokens, pipeline stages spread layers.
    """
    share = 1.0 / layout.tp
    if policy.copies_kv_heads:
        share = 1.0 if layers.replicated else max(1, layers.kv_heads // layout.tp) / layers.kv_heads
    stage_layers = -(-layers.layers // layout.pp)
    one = kv_format.bytes_of(layers.elements_per_token, layers.vectors_per_token)
    return one * share * stage_layers / (layout.dcp if layers.window_tokens is None else 1)


def weight_bytes(deployment: Deployment) -> Interval:
    """Weight bytes on one GPU.

    Elements x bits, over tensor and pipeline parallel GPUs. Engines hold a little more than the file: padding, rope
    tables, absorbed copies (16-bit: 0.5 % median; quantized: up to 4 %). A tower of unknown extent is up to 2 GB.
    """
    best = deployment.gpu_weight_bytes
    high = best * (1.01 if deployment.weight_scheme.linear_bits >= 16 else 1.03)
    if deployment.model.tower_elements_unknown:
        high += 2e9
    return Interval(best * 0.995, best, high)


def model_work(deployment: Deployment, stored: float) -> ModelWork:
    """The model's share on one GPU, when its weights take ``stored`` bytes there."""
    model, layout = deployment.model, deployment.layout
    scheme = deployment.weight_scheme
    gpus = layout.tp * layout.pp
    dense, experts = scheme.bytes_of(model.weights)
    scale = stored / deployment.gpu_weight_bytes
    unread = model.weights.towers * scheme.kept_bits / 8 + model.weights.mtp * scheme.linear_bits / 8
    if model.weights.lm_head:
        unread += model.weights.embedding * scheme.kept_bits / 8
    growing = [layers for layers in model.kv if layers.window_tokens is None]
    decode, prefill = attention_flops_per_pair(model, growing)
    ring = 2.0 * (layout.tp - 1) / layout.tp
    return ModelWork(
        layers=float(model.layers),
        weight_bytes=stored,
        dense_read_bytes=(dense - unread) * scale / gpus,
        expert_bytes=experts * scale / layout.expert_gpus,
        experts=float(model.experts.experts) if model.experts else 0.0,
        experts_per_token=float(model.experts.experts_per_token) if model.experts else 0.0,
        active_elements=model.active_elements / gpus,
        attention_flops_per_pair=decode / gpus,
        prefill_flops_per_pair=prefill / gpus,
        all_reduce_bytes_per_token=2.0 * model.layers * model.hidden_size * 2.0 * ring if layout.tp > 1 else 0.0,
        all_reduces=2.0 * model.layers if layout.tp > 1 else 0.0,
        stages=float(layout.pp),
        moe_layers=float(model.experts.moe_layers) if model.experts else 0.0,
        expert_groups=float(layout.expert_gpus // gpus),
    )


def attention_flops_per_pair(model: Model, growing: list[KvLayers]) -> tuple[float, float]:
    """(decode, prefill) operations of one token against one cached token: 4 x heads x head width x layers.

    MLA decodes against its latent (key width + value width of the latent for every head) and prefills with heads.
    """
    layers = sum(item.layers for item in growing)
    prefill = 4.0 * model.attention_heads * model.head_elements * layers
    latent = sum(4.0 * model.attention_heads * item.key_elements * item.layers for item in growing if item.replicated)
    return latent or prefill, prefill


def gpu_rates(gpu: Gpu, deployment: Deployment, end: int) -> GpuRates:
    """What one GPU reaches at one end: 0 optimistic, 1 best, 2 pessimistic."""
    host = deployment.host
    native = deployment.weight_scheme.name in ("fp8", "nvfp4") and gpu.kernel_class in constants.FP8_NATIVE
    gain = constants.FP8_PREFILL_GAIN[2 - end] if native else 1.0
    rate = gpu.hbm_bytes_per_s or constants.UNLIMITED
    flops = gpu.flops or rate * constants.FLOPS_PER_BYTE_UNKNOWN
    if deployment.model.experts is not None:
        gain *= constants.MOE_PREFILL_FRACTION[2 - end]
    over_pcie = gpu.peer_bytes_per_s is None
    link = (host.link.bytes_per_s if host.link else constants.UNKNOWN_PCIE_BYTES_PER_S)[2 - end]
    peer = link if gpu.peer_bytes_per_s is None else 0.8 * gpu.peer_bytes_per_s
    return GpuRates(
        weight_bytes_per_s=rate * gpu.weight_read_fraction[2 - end] * deployment.weight_scheme.read_fraction[2 - end],
        kv_bytes_per_s=rate * gpu.kv_read_fraction[2 - end],
        decode_flops=flops * constants.DECODE_UTILIZATION,
        prefill_flops=flops * constants.PREFILL_UTILIZATION[2 - end] * gain,
        step_overhead_s=gpu.step_overhead_s[end],
        all_reduce_s=(constants.ALL_REDUCE_PCIE_S if over_pcie else constants.ALL_REDUCE_S)[end],
        peer_bytes_per_s=peer,
        peer_over_link=1.0 if over_pcie else 0.0,
        moe_layer_s=constants.MOE_LAYER_S[end],
        first_token_s=constants.FIRST_TOKEN_S[end],
    )


def host_rates(deployment: Deployment, end: int) -> HostRates:
    """What the host reaches at one end. What is not known is unlimited here; strategies that need it are excused."""
    host = deployment.host
    nodes = float(host.numa_nodes or 1)
    sharing = min(host.link.gpus_per_uplink, deployment.layout.gpus) if host.link else 1
    reach = numa_rate_fraction(nodes, float(deployment.layout.gpus), constants.REMOTE_NODE_GAIN)
    return HostRates(
        link_bytes_per_s=host.link.bytes_per_s[2 - end] / sharing if host.link else constants.UNLIMITED,
        dram_bytes_per_s=host.dram_bytes_per_s[2 - end] if host.dram_bytes_per_s else constants.UNLIMITED,
        cpu_cores=host.cpu_cores[2 - end] if host.cpu_cores else constants.UNLIMITED,
        core_bytes_per_s=constants.CORE_BYTES_PER_S[2 - end],
        cpu_dram_fraction=constants.CPU_DRAM_FRACTION[2 - end] * reach,
        core_weight_bytes_per_s=constants.CORE_WEIGHT_BYTES_PER_S[2 - end],
        cpu_weight_fraction=constants.CPU_WEIGHT_FRACTION[2 - end] * reach,
    )


def limits(deployment: Deployment, policy: MemoryPolicy, end: int) -> Limits:
    """What there is and what is taken, at one end."""
    host, objectives, neighbours = deployment.host, deployment.objectives, deployment.neighbours
    dram = constants.UNLIMITED
    if host.dram_bytes is not None and not host.unified_memory and host.gpu is not None:
        dram = host.dram_bytes - host.os_reserve_bytes
    return Limits(
        hbm_bytes=policy.budget.bytes[2 - end],
        dram_bytes=dram,
        itl_s=objectives.itl_s,
        ttft_s=objectives.ttft_s or 0.0,
        activation_bytes=policy.activation.bytes[end],
        runtime_bytes=policy.runtime.bytes[end],
        graph_bytes=policy.graphs.bytes[end],
        engine_dram_bytes=policy.engine_dram.bytes[end],
        engine_cores=policy.engine_cores,
        other_dram_bytes=neighbours.dram_bytes,
        other_cores=neighbours.cpu_cores,
        other_link_bytes_per_s=neighbours.link_bytes_per_s,
        tenants=float(neighbours.tenants),
        spill_to_bytes=policy.budget.bytes[2 - end] * (1.0 - objectives.margin_fraction),
        prefill_chunk_tokens=float(policy.prefill_chunk_tokens),
        offloaded_weight_bytes=deployment.settings.cpu_offload_bytes or 0.0,
    )


def traffic(deployment: Deployment) -> Traffic:
    """The requests behind the sequences."""
    workload, layout = deployment.workload, deployment.layout
    return Traffic(
        gpus=float(layout.gpus),
        replicas=float(layout.dp),
        prompt_fraction=workload.prompt_tokens / workload.context_tokens,
        output_tokens=float(workload.output_tokens or 0),
        hit_fraction=workload.prefix_hit_fraction,
        shared_prefix_tokens=float(workload.shared_prefix_tokens),
        idle_sessions=float(workload.idle_sessions),
        reload_fixed_s=constants.RELOAD_FIXED_S,
        reuse_pool_bytes=deployment.settings.kv_offloading_bytes or 0.0,
    )
