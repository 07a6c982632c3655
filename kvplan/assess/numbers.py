"""Typed things -> plain numbers: where a deployment crosses into the core."""

from __future__ import annotations

from kvplan.assess import constants, speeds
from kvplan.assess.calibrated import measured_weights
from kvplan.core.shapes import KvGrowth, KvGrowths, Limits, ModelWork, Traffic
from kvplan.domain.deployment import Deployment, Layout
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import NATIVE_16_BIT, KvFormat
from kvplan.domain.model import UNKNOWN_TOWER_ELEMENTS, KvLayers, Model
from kvplan.domain.workload import Workload
from kvplan.engines import find_engine
from kvplan.engines.host_lines import busy_cores
from kvplan.engines.interface import MemoryPolicy
from kvplan.errors import CannotJudge

_PAD = KvGrowth(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def kv_growths(model: Model, kv_format: KvFormat, layout: Layout, policy: MemoryPolicy) -> KvGrowths:
    """How the KV of one sequence grows on the fullest GPU. Layers with the same window are one record."""
    by_kind: dict[tuple[int, int], float] = {}
    for layers in model.kv:
        one = layer_bytes_per_token(layers, kv_format, layout, policy)
        if not one:
            continue
        window = kept_window(layers, policy)
        if window and policy.window_growth_fraction:
            window, one = 0, one * policy.window_growth_fraction
        kind = (window, 0 if window else layers.read_tokens or 0)
        by_kind[kind] = by_kind.get(kind, 0.0) + one
    found = [
        KvGrowth(
            bytes_per_token,
            float(window),
            float(policy.window_reserve_tokens) if window else 0.0,
            float(policy.window_in_flight_tokens) if window else 0.0,
            float(policy.block_tokens),
            0.0,
            float(read_tokens),
        )
        for (window, read_tokens), bytes_per_token in sorted(by_kind.items())
    ]
    if len(found) > 4:
        raise CannotJudge(f"{model.name} has {len(found)} different attention windows; kvplan handles four")
    first, second, third, fourth = (*found, *[_PAD] * 4)[:4]
    fixed = sum(layer_bytes_per_sequence(layers, kv_format, layout, policy) for layers in model.kv)
    return first._replace(bytes_per_sequence=fixed), second, third, fourth


def kept_window(layers: KvLayers, policy: MemoryPolicy) -> int:
    """Tokens that these layers keep at most under this engine; 0: all."""
    return 0 if layers.kind == "chunked" and not policy.frees_chunks else layers.window_tokens or 0


def layer_bytes_per_token(layers: KvLayers, kv_format: KvFormat, layout: Layout, policy: MemoryPolicy) -> float:
    """Bytes that one more token takes in these layers on one GPU, while it is inside their window.

    KV heads are split over the tensor-parallel ranks; with more ranks than heads an engine copies them, so that the
    count on a GPU never falls below one. A latent (MLA) is whole on every rank. Decode context parallelism spreads
    tokens, pipeline stages spread layers.
    """
    if layers.state is not None or layers.sequence_tokens is not None:
        return 0.0
    return _entry_bytes(layers, kv_format, layout, policy) / (layout.dcp if layers.window_tokens is None else 1)


def layer_bytes_per_sequence(layers: KvLayers, kv_format: KvFormat, layout: Layout, policy: MemoryPolicy) -> float:
    """Bytes that a sequence takes in these layers on one GPU whatever its length: recurrent states, KV of images."""
    if layers.state is not None:
        recurrent = 4.0 if layers.state.recurrent_float32 else policy.state_bytes.recurrent
        one = layers.state.conv_elements * policy.state_bytes.conv + layers.state.recurrent_elements * recurrent
        return one * _share(layers, layout, policy) * -(-layers.layers // layout.pp)
    entry = _entry_bytes(layers, kv_format, layout, policy)
    if layers.grows and kv_format.residual_tokens:
        return (_entry_bytes(layers, NATIVE_16_BIT, layout, policy) - entry) * kv_format.residual_tokens
    return entry * (layers.sequence_tokens or 0)


def _entry_bytes(layers: KvLayers, kv_format: KvFormat, layout: Layout, policy: MemoryPolicy) -> float:
    pair = layers.elements_per_token, layers.vectors_per_token
    stage_layers = -(-layers.layers // layout.pp)
    # the fullest stage of a pipeline has the first layers or the last ones; a single stage has both
    native = min(kv_format.native_layers // min(layout.pp, 2), stage_layers)
    entries = kv_format.bytes_of(*pair) * (stage_layers - native) + NATIVE_16_BIT.bytes_of(*pair) * native
    if layers.index_bytes:
        entries = float(layers.index_bytes) * stage_layers
    return entries * _share(layers, layout, policy) / layers.tokens_per_entry


def _share(layers: KvLayers, layout: Layout, policy: MemoryPolicy) -> float:
    """The part of these layers' KV that one tensor-parallel rank keeps."""
    if not policy.copies_kv_heads or not layers.kv_heads:
        return 1.0 / layout.tp
    return 1.0 if layers.replicated else max(1, layers.kv_heads // layout.tp) / layers.kv_heads


def weight_bytes(deployment: Deployment) -> Interval:
    """Weight bytes on one GPU.

    Elements x bits, over tensor and pipeline parallel GPUs. Engines hold a little more than the file: padding, rope
    tables, absorbed copies (16-bit: 0.5 % median; quantized: up to 4 %). A tower that the config does not describe
    widens the interval. Where a log of this start was kept, what it printed.
    """
    measured = measured_weights(deployment)
    if measured is not None:
        return measured
    best = deployment.gpu_weight_bytes + find_engine(deployment.engine.name).weight_extras(deployment)
    high = best * (1.01 if deployment.weight_scheme.linear_bits >= 16 else 1.03)
    if deployment.model.tower_elements_unknown:
        kept_bits, gpus = deployment.weight_scheme.kept_bits, deployment.layout.tp * deployment.layout.pp
        least, best_tower, most = UNKNOWN_TOWER_ELEMENTS.scaled(kept_bits / 8 / gpus)
        return Interval(best * 0.995 + least, best + best_tower, high + most)
    return Interval(best * 0.995, best, high)


def model_work(deployment: Deployment, stored: float, end: int = 1) -> ModelWork:
    """The model's share on one GPU, when its weights take ``stored`` bytes there."""
    model, layout = deployment.model, deployment.layout
    gpus = layout.tp * layout.pp
    dense, experts, unread = deployment.weight_parts
    elsewhere = min(find_engine(deployment.engine.name).weight_extras(deployment), 0.0)
    scale = 1.0 if model.tower_elements_unknown else stored / (deployment.gpu_weight_bytes + elsewhere)
    growing = [layers for layers in model.kv if layers.grows]
    decode, prefill = attention_flops_per_pair(model, growing)
    index = sum(2.0 * item.index_heads * item.key_elements * item.layers / item.tokens_per_entry for item in growing)
    sparse = [item.read_tokens for item in growing if item.latent and item.read_tokens]
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
        index_flops_per_pair=index / gpus,
        attended_tokens=float(max(sparse)) if sparse else 0.0,
        all_reduce_bytes_per_token=2.0 * model.layers * model.hidden_size * 2.0 * ring if layout.tp > 1 else 0.0,
        all_reduces=2.0 * model.layers if layout.tp > 1 else 0.0,
        stages=float(layout.pp),
        moe_layers=float(model.experts.moe_layers) if model.experts else 0.0,
        expert_groups=float(layout.expert_gpus // gpus),
        routing_agreement=speeds.ROUTING_AGREEMENT if model.experts else 0.0,
        expert_surcharge=speeds.expert_surcharge(deployment, end),
    )


def attention_flops_per_pair(model: Model, growing: list[KvLayers]) -> tuple[float, float]:
    """(decode, prefill) operations of one token against one cached token: 4 x heads x head width x layers.

    MLA decodes against its latent (key width + value width of the latent for every head) and prefills with heads.
    """
    attending = [item for item in growing if not item.index_heads and not item.index_bytes]
    layers = sum(item.layers / item.tokens_per_entry for item in attending)
    prefill = 4.0 * model.attention_heads * model.head_elements * layers
    latent = sum(
        4.0 * model.attention_heads * item.key_elements * item.layers / item.tokens_per_entry
        for item in attending
        if item.latent
    )
    return latent or prefill, prefill


def limits(deployment: Deployment, policy: MemoryPolicy, end: int) -> Limits:
    """What there is and what is taken, at one end."""
    host, objectives, neighbours = deployment.host, deployment.objectives, deployment.neighbours
    dram = constants.UNLIMITED
    if host.dram_bytes is not None and not host.unified_memory and host.gpu is not None:
        dram = max(host.dram_bytes - host.os_reserve_bytes, 0.0)
    return Limits(
        hbm_bytes=policy.budget.bytes[2 - end],
        dram_bytes=dram,
        itl_s=objectives.itl_s,
        ttft_s=objectives.ttft_s or 0.0,
        activation_bytes=policy.activation.bytes[end],
        runtime_bytes=policy.runtime.bytes[end],
        graph_bytes=policy.graphs.bytes[end],
        engine_dram_bytes=policy.engine_dram.bytes[end],
        engine_cores=busy_cores(policy.core_lines),
        other_dram_bytes=neighbours.dram_bytes,
        other_cores=neighbours.cpu_cores,
        other_link_bytes_per_s=neighbours.link_bytes_per_s,
        tenants=float(neighbours.tenants),
        spill_to_bytes=policy.budget.bytes[2 - end] * (1.0 - objectives.margin_fraction),
        prefill_chunk_tokens=float(policy.prefill_chunk_tokens),
        offloaded_weight_bytes=deployment.settings.cpu_offload_bytes or 0.0,
        pinned_weight_factor=policy.host_pool.pinned_weights[end],
        state_pool_bytes=state_pool_bytes(deployment, policy, end),
    )


def state_pool_bytes(deployment: Deployment, policy: MemoryPolicy, end: int) -> float:
    """What the engine sets aside on one GPU for recurrent states: a share of what weights leave of its budget."""
    if not policy.state_pool_fraction:
        return 0.0
    left = policy.budget.bytes[2 - end] - weight_bytes(deployment)[end]
    return max(left, 0.0) * policy.state_pool_fraction


def prompt_fraction(workload: Workload) -> float:
    """Prompt over the whole; with lengths the mean sequence has as much output as any."""
    if workload.lengths is None:
        return workload.prompt_tokens / workload.context_tokens
    return max(1.0 - (workload.output_tokens or 0) / workload.lengths.mean_tokens.best, 0.0)


def traffic(deployment: Deployment, policy: MemoryPolicy, end: int) -> Traffic:
    """The requests behind the sequences, at one end."""
    workload, layout = deployment.workload, deployment.layout
    return Traffic(
        gpus=float(layout.gpus),
        replicas=float(layout.dp),
        prompt_fraction=prompt_fraction(workload),
        output_tokens=float(workload.output_tokens or 0),
        hit_fraction=workload.prefix_hit_fraction,
        shared_prefix_tokens=float(workload.shared_prefix_tokens),
        idle_sessions=float(workload.idle_sessions),
        reload_fixed_s=constants.RELOAD_FIXED_S,
        reuse_pool_bytes=policy.host_pool.told_bytes[end] or deployment.settings.kv_offloading_bytes or 0.0,
        prefill_wait_fraction=find_engine(deployment.engine.name).pace.prefill_wait_fraction[end],
        reuse_factor=policy.host_pool.rounding[end],
        reuse_least_bytes=policy.host_pool.least_bytes[end],
    )
