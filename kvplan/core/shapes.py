"""The records that cross into the core. All floats, all SI; 0.0 means "none" where a field says so.

What comes out of it is in ``accounts``.
"""

from typing import NamedTuple


class KvGrowth(NamedTuple):
    """How the KV of one kind of layer grows with a sequence, on one GPU, all layers of that kind together."""

    bytes_per_token: float
    window_tokens: float
    """Tokens kept at most; 0: no window, the cache grows with the sequence."""
    reserve_tokens: float
    """Tokens that the engine reserves beyond the window for every sequence."""
    in_flight_tokens: float
    """Tokens of one step's prefill that windowed layers hold beyond their windows: once, whatever the sequences."""
    block_tokens: float
    """The cache is allocated in whole blocks of so many tokens; 1: no rounding."""
    bytes_per_sequence: float
    """What a sequence holds whatever its length: recurrent states, KV of images."""
    read_tokens: float
    """Tokens that a decode step reads at most, where attention is sparse; 0: all that are kept."""


KvGrowths = tuple[KvGrowth, KvGrowth, KvGrowth, KvGrowth]
"""Always four, filled up with zeros, so that the compiled core has one signature for every model."""


class ModelWork(NamedTuple):
    """The model's share on one GPU of the replica."""

    layers: float
    weight_bytes: float
    """Everything stored: what the GPU must hold."""
    dense_read_bytes: float
    """Read for every step whatever the batch: all but the embedding table and the routed experts."""
    expert_bytes: float
    """Routed experts; a step reads those that its tokens choose."""
    experts: float
    experts_per_token: float
    active_elements: float
    """Weight elements that one token multiplies with."""
    attention_flops_per_pair: float
    """Operations for one decoding token against one cached token, over the layers that keep every token."""
    prefill_flops_per_pair: float
    """The same in prefill, where MLA works on keys and values instead of on its latent."""
    index_flops_per_pair: float
    """Operations that a sparse-attention index spends on one token against one cached token; 0: no index."""
    attended_tokens: float
    """Cached tokens that a token attends to at most, where attention is sparse; 0: all."""
    all_reduce_bytes_per_token: float
    """Activations that tensor parallelism sums across GPUs for one token, all layers; 0 with one GPU."""
    all_reduces: float
    """All-reduce calls in a step; 0 with one GPU."""
    stages: float
    """Pipeline stages that a token passes one after the other."""
    moe_layers: float
    """Layers of routed experts that a token passes; 0 for a dense model."""
    expert_groups: float
    """Replicas whose tokens meet in one set of experts: 1, or all of them with expert parallelism."""
    routing_agreement: float = 0.0
    """Share of a batch's tokens that choose experts others have chosen; 0: all choose by chance."""
    expert_surcharge: float = 0.0
    """Time that reading experts takes beyond other weights of as many bytes, as a share of it."""


class Charges(NamedTuple):
    """What one strategy asks of the four budgets: shares of a sequence's growing KV bytes, and whole tokens."""

    resident_fraction: float
    """HBM bytes kept for every byte of KV (the KV itself, or an index and a cache of it)."""
    resident_tokens: float
    """... and whole tokens kept in HBM beside that: sinks, recent window, selected set."""
    read_fraction: float
    """HBM bytes that attention reads in a step for every byte of KV."""
    read_tokens: float
    link_fraction: float
    """Bytes over the link in a step for every byte of KV."""
    link_tokens: float
    cpu_fraction: float
    """Bytes that CPU cores read in a step for every byte of KV."""
    cpu_tokens: float
    dram_fraction: float
    """Host memory for every byte of KV: the KV itself."""
    lookup_cores_per_gpu: float
    """Cores that look up and update the index, whatever the batch."""
    sync_s_per_layer: float
    serial_fraction: float
    """Share of the shorter of (GPU, link or CPU) that the longer does not hide: 0 overlaps all, 1 adds up."""
    link_rate_fraction: float
    """What its largest copies reach, as a share of the link's large-copy rate."""
    cpu_rate_fraction: float
    """Rate at which its CPU work reads, relative to the host's own: scattered keys and single experts are slower."""
    spills_kv: float
    """1: KV that does not fit in HBM lives in DRAM."""
    spilled_kv_on_cpu: float
    """1: CPU cores attend to the spilled KV where it is; 0: it crosses the link every step."""
    spills_weights: float
    """1: weights that do not fit in HBM live in DRAM."""
    spills_experts: float
    """1: routed experts that do not fit in HBM live in DRAM, those of one layer at least, and no other weights."""
    spilled_weights_on_cpu: float
    """1: CPU cores multiply the spilled weights where they are; 0: they cross the link every step."""
    reuse: float
    """1: idle sessions and shared prefixes are kept in DRAM and reloaded."""
    prefill_factor: float
    """Prefill time relative to plain attention."""
    kv_rate_fraction: float
    """Attention's read rate with this KV format relative to a 16-bit cache."""
    copy_tokens: float = 0.0
    """Tokens whose KV, all layers of one GPU together, one copy over the link moves; 0: copies are large.

    Below 1 where every layer is copied by itself."""
    copy_s: float = 0.0
    """Fixed time of one such copy."""
    dram_index_fraction: float = 0.0
    """Host memory for every byte of KV beside the KV itself: index, hash tables, alignment."""


class GpuRates(NamedTuple):
    """What one GPU reaches (not its data sheet)."""

    weight_bytes_per_s: float
    kv_bytes_per_s: float
    decode_flops: float
    prefill_flops: float
    step_overhead_s: float
    all_reduce_s: float
    """Latency of one all-reduce."""
    peer_bytes_per_s: float
    """Between GPUs, per direction; over the host link where there is no other."""
    peer_over_link: float
    """1: GPU-to-GPU traffic crosses the host link."""
    moe_layer_s: float
    """Fixed time of a layer of experts: routing, dispatch, gathering."""
    first_token_s: float
    """Fixed time of a request before its first token: server, tokenizer, scheduler."""
    sequence_s: float = 0.0
    """What every sequence beyond the first adds to a step beside its KV: sampling, scheduling, streaming."""
    launch_s: float = 0.0
    """What the CPU takes to launch a step where no graph was captured: no step is shorter; 0: one was."""
    prefill_peer_gain: float = 1.0
    """Rate of the all-reduces of a prefill pass relative to those of a decode step."""


class HostRates(NamedTuple):
    """What the host reaches, whole machine unless said otherwise."""

    link_bytes_per_s: float
    """One GPU, large copies, its share of a common uplink."""
    dram_bytes_per_s: float
    cpu_cores: float
    core_bytes_per_s: float
    """What one core reads while it attends or multiplies."""
    cpu_dram_fraction: float
    """Share of the DRAM rate that CPU attention reaches with all its cores."""
    core_weight_bytes_per_s: float
    """What one core reads while it multiplies weights: in order, unlike gathered KV."""
    cpu_weight_fraction: float
    """Share of the DRAM rate that multiplying weights reaches."""
    link_out_fraction: float = 1.0
    """Rate of the way back, from the GPU to host memory, relative to the way there."""
    link_duplex_fraction: float = 1.0
    """Share of its rate that each direction keeps while both are in use."""
    full_cores: float = 1e30
    """Cores that read at the rate of one core: performance cores on the memory nodes of the GPUs in use."""
    lesser_core_worth: float = 1.0
    """What any further core is worth beside one of those: efficiency cores, and cores of another memory node."""


class Limits(NamedTuple):
    """What there is, and what else takes its part."""

    hbm_bytes: float
    """Per GPU, what the engine may use."""
    dram_bytes: float
    itl_s: float
    ttft_s: float
    """0: no objective."""
    activation_bytes: float
    runtime_bytes: float
    graph_bytes: float
    engine_dram_bytes: float
    """Host memory of the engine's processes, one deployment."""
    engine_cores: float
    other_dram_bytes: float
    other_cores: float
    other_link_bytes_per_s: float
    tenants: float
    spill_to_bytes: float
    """Per GPU: what spills leaves this much in HBM, so that the margin stays free."""
    prefill_chunk_tokens: float
    """Tokens of one prefill pass."""
    offloaded_weight_bytes: float
    """Weights of each GPU that the engine is told to keep in host memory, whatever room there is."""
    pinned_weight_factor: float = 1.0
    """Host memory for every byte of weights in it: pinned buffers may be rounded up."""
    state_pool_bytes: float = 0.0
    """Per GPU, set aside for what sequences hold whatever their length, whether they fill it or not; 0: nothing is."""


class Traffic(NamedTuple):
    """The requests behind the sequences."""

    gpus: float
    """All GPUs of the deployment."""
    replicas: float
    prompt_fraction: float
    """Share of the context that is prompt."""
    output_tokens: float
    """0: not known, so no request rate follows from the number of users."""
    hit_fraction: float
    shared_prefix_tokens: float
    idle_sessions: float
    reload_fixed_s: float
    reuse_pool_bytes: float
    """Host memory that the engine reserves for idle KV because it is told to, all ranks together; 0: it is not told."""
    prefill_wait_fraction: float = 0.0
    """Share of the other requests' prefill that a decoding sequence waits for."""
    reuse_factor: float = 1.0
    """Host memory for every byte of idle KV where the pool is sized for the sessions: rounding of pinned buffers."""
    reuse_least_bytes: float = 0.0
    """The smallest pool of idle KV with which the engine starts, all ranks together."""


class Plan(NamedTuple):
    """One strategy on one host at one end of the uncertainty."""

    kv: KvGrowths
    model: ModelWork
    charges: Charges
    gpu: GpuRates
    host: HostRates
    limits: Limits
    traffic: Traffic
