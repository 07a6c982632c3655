"""Time of one decode step."""

from __future__ import annotations

from kvplan.core.accounts import Placement, Step
from kvplan.core.cpu import core_worth, cpu_read_bytes_per_s, weight_read_bytes_per_s
from kvplan.core.link import link_s
from kvplan.core.placement import sequences_per_replica
from kvplan.core.shapes import Plan
from kvplan.core.weights import read_expert_share, weight_read_bytes


def cores_left(plan: Plan) -> float:
    """Full cores that attention can have: all, less engines, index look-ups and whatever else runs, for all tenants.

    What else runs takes full cores first; the rest counts at its worth. A quarter of a core is always left.
    """
    lookup = plan.charges.lookup_cores_per_gpu * plan.traffic.gpus
    taken = plan.limits.tenants * (plan.limits.engine_cores + lookup) + plan.limits.other_cores
    free = core_worth(plan.host, plan.host.cpu_cores) - core_worth(plan.host, taken)
    return max(free / plan.limits.tenants, 0.25)


def step_link_bytes(plan: Plan, placed: Placement, context_tokens: float, sequences: float) -> float:
    """KV bytes that cross one GPU's link in a step: fetched shares and tokens, and what spilled if it streams."""
    charges = plan.charges
    tokens = min(charges.link_tokens, context_tokens) * placed.token_bytes
    streamed = placed.kv_spilled_bytes * (1.0 - charges.spilled_kv_on_cpu)
    return sequences * (charges.link_fraction * placed.growing_bytes + tokens) + streamed


def step_cpu_bytes(plan: Plan, placed: Placement, context_tokens: float, sequences: float) -> float:
    """KV bytes that the CPU reads in a step for one GPU's part of the model."""
    charges = plan.charges
    tokens = min(charges.cpu_tokens, context_tokens) * placed.token_bytes
    spilled = placed.kv_spilled_bytes * charges.spilled_kv_on_cpu
    return sequences * (charges.cpu_fraction * placed.growing_bytes + tokens) + spilled


def step_read_bytes(plan: Plan, placed: Placement, context_tokens: float, sequences: float) -> float:
    """KV bytes that attention reads in HBM in a step."""
    charges = plan.charges
    tokens = min(charges.read_tokens, context_tokens) * placed.token_bytes
    one = charges.read_fraction * placed.growing_read_bytes + tokens + placed.bounded_read_bytes
    return max(sequences * one - placed.kv_spilled_bytes * charges.spilled_kv_on_cpu, 0.0)


def spilled_read_bytes(plan: Plan, placed: Placement, sequences: float) -> float:
    """Of the weights that one step reads, those in host memory: the chosen among spilled experts, else a share."""
    model = plan.model
    if plan.charges.spills_experts > 0.0:
        return read_expert_share(model, sequences) * placed.weights_spilled_bytes
    return weight_read_bytes(model, sequences) * placed.weights_spilled_bytes / model.weight_bytes


def synchronized_layers(plan: Plan, placed: Placement) -> float:
    """Layers in which the GPU waits for something beside it: all, or those whose experts are in host memory."""
    model = plan.model
    if plan.charges.spills_experts == 0.0 or model.expert_bytes == 0.0:
        return model.layers
    return model.moe_layers * placed.weights_spilled_bytes / model.expert_bytes


def collective_s(plan: Plan, sequences: float) -> float:
    """Time of a step's all-reduces: latency of each, and the bytes at the GPU-to-GPU rate."""
    model = plan.model
    if model.all_reduces == 0.0:
        return 0.0
    transfer = sequences * model.all_reduce_bytes_per_token / plan.gpu.peer_bytes_per_s
    return model.all_reduces * plan.gpu.all_reduce_s + transfer


def turns(plan: Plan, sequences: float) -> float:
    """How often a token waits for a stage's KV work: once where sequences fill all pipeline stages, else more."""
    return plan.model.stages / min(plan.model.stages, sequences)


def cpu_s(plan: Plan, kv_bytes: float, weight_bytes: float) -> float:
    """Time that the cores left over need for one GPU's part of KV and weights, all GPUs' parts together."""
    host = plan.host
    cores = cores_left(plan)
    total = 0.0
    if kv_bytes > 0.0:
        share = host.cpu_dram_fraction * host.dram_bytes_per_s / plan.limits.tenants
        total += kv_bytes * plan.traffic.gpus / min(cpu_read_bytes_per_s(host, cores), share)
    if weight_bytes > 0.0:
        share = host.cpu_weight_fraction * host.dram_bytes_per_s / plan.limits.tenants
        total += weight_bytes * plan.traffic.gpus / min(weight_read_bytes_per_s(host, cores), share)
    return total / plan.charges.cpu_rate_fraction


def gpu_s(plan: Plan, weight_bytes: float, kv_bytes: float, sequences: float) -> float:
    """What the GPU itself needs: weights, then attention, each by the slower of memory and arithmetic.

    With pipeline stages a token waits for every stage's weights in turn, and for its KV unless others fill the stages.
    """
    arithmetic = 2.0 * plan.model.active_elements * sequences / plan.gpu.decode_flops
    slower = plan.model.expert_surcharge * max(weight_bytes - plan.model.dense_read_bytes, 0.0)
    weights = max((weight_bytes + slower) / plan.gpu.weight_bytes_per_s, arithmetic) * plan.model.stages
    kv = kv_bytes / (plan.gpu.kv_bytes_per_s * plan.charges.kv_rate_fraction)
    return weights + kv * turns(plan, sequences)


def attended(plan: Plan, tokens: float) -> float:
    """Of so many cached tokens those that one token attends to: fewer where the model's own attention is sparse."""
    most = plan.model.attended_tokens
    return min(tokens, most) if most > 0.0 else tokens


def attention_arithmetic_s(plan: Plan, context_tokens: float, sequences: float) -> float:
    """Lower bound of attention's time by its arithmetic: what matters for MLA, whose heads share one latent."""
    chosen = plan.charges.read_fraction * context_tokens + plan.charges.read_tokens
    pairs = attended(plan, min(chosen, context_tokens)) * plan.model.attention_flops_per_pair
    flops = pairs + context_tokens * plan.model.index_flops_per_pair
    return sequences * turns(plan, sequences) * flops / plan.gpu.decode_flops


def decode_step(plan: Plan, placed: Placement, context_tokens: float, users: float) -> Step:
    """One decode step at full length: overheads + max(GPU, link or CPU) + the part that does not overlap.

    T = t0 + layers x t_sync + MoE layers x t_moe + (sequences - 1) x t_sequence + all-reduces + max(gpu, side)
    + serial x min(gpu, side), and never less than launching it takes where no graph was captured.
    Source: the per-family step equations of FlexGen, RetroInfer, ScoutAttention, MagicPIG and NEO in one form.
    """
    sequences = sequences_per_replica(plan, users)
    read = weight_read_bytes(plan.model, sequences)
    spilled = spilled_read_bytes(plan, placed, sequences)
    on_cpu = spilled * plan.charges.spilled_weights_on_cpu
    link_kv = step_link_bytes(plan, placed, context_tokens, sequences)
    cpu_kv = step_cpu_bytes(plan, placed, context_tokens, sequences)
    kv_read = step_read_bytes(plan, placed, context_tokens, sequences)
    copying = link_s(plan, link_kv * turns(plan, sequences), (spilled - on_cpu) * plan.model.stages)
    side = max(copying, cpu_s(plan, cpu_kv, on_cpu))
    memory_bound = gpu_s(plan, read - spilled, kv_read, sequences)
    arithmetic = gpu_s(plan, read - spilled, 0.0, sequences)
    gpu = max(memory_bound, arithmetic + attention_arithmetic_s(plan, context_tokens, sequences))
    overhead = plan.gpu.step_overhead_s + synchronized_layers(plan, placed) * plan.charges.sync_s_per_layer
    overhead += plan.model.moe_layers * plan.gpu.moe_layer_s + collective_s(plan, sequences)
    overhead += max(sequences - 1.0, 0.0) * plan.gpu.sequence_s
    busy = overhead + max(gpu, side) + plan.charges.serial_fraction * min(gpu, side)
    itl = max(busy, plan.gpu.launch_s)
    collective = sequences * plan.model.all_reduce_bytes_per_token * plan.gpu.peer_over_link
    return Step(
        read - spilled, kv_read, link_kv, spilled - on_cpu, cpu_kv, on_cpu, collective, gpu, side, overhead, itl
    )
