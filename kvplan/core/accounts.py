"""The records that come out of the core: where bytes lie, what a step takes, what every budget is asked for."""

from typing import NamedTuple


class Placement(NamedTuple):
    """Where the bytes of one replica lie on one GPU, with so many sequences of such a length."""

    growing_bytes: float
    """Growing KV of one sequence, as if all of it were on the GPU."""
    growing_read_bytes: float
    """What attention reads of it in a step: less where attention is sparse."""
    token_bytes: float
    """Growing KV of one more token."""
    bounded_bytes: float
    """Windows and states of one sequence, reserved."""
    bounded_read_bytes: float
    hbm_kv_bytes: float
    """With what is in flight."""
    weights_spilled_bytes: float
    kv_spilled_bytes: float


class Step(NamedTuple):
    """One decode step on one GPU."""

    weight_read_bytes: float
    kv_read_bytes: float
    link_kv_bytes: float
    link_weight_bytes: float
    cpu_kv_bytes: float
    cpu_weight_bytes: float
    collective_bytes: float
    gpu_s: float
    side_s: float
    """What the link or the CPU needs for the step."""
    overhead_s: float
    itl_s: float


class DramTraffic(NamedTuple):
    """What goes in and out of host memory in a second, at the pace of the ITL objective, all GPUs and tenants."""

    fetched_kv_bytes_per_s: float
    """Over the links to the GPUs, KV of the steps."""
    streamed_weight_bytes_per_s: float
    reloaded_kv_bytes_per_s: float
    """Over the links to the GPUs, prefixes of starting requests."""
    written_kv_bytes_per_s: float
    """Over the links from the GPUs: KV of new prompts."""
    attended_kv_bytes_per_s: float
    """By cores, over the share of the rate that such reading reaches."""
    multiplied_weight_bytes_per_s: float
    """The same for weights that cores multiply."""


class Demand(NamedTuple):
    """What the deployment asks of every budget, part by part. HBM and link are per GPU, the rest per host."""

    hbm_weight_bytes: float
    hbm_kv_bytes: float
    hbm_overhead_bytes: float
    dram_kv_bytes: float
    dram_index_bytes: float
    """Beside the KV itself: index, hash tables, alignment."""
    dram_weight_bytes: float
    dram_reuse_bytes: float
    dram_engine_bytes: float
    dram_other_bytes: float
    dram_traffic: DramTraffic
    link_kv_bytes_per_s: float
    link_weight_bytes_per_s: float
    link_reload_bytes_per_s: float
    link_written_bytes_per_s: float
    """New KV on its way to host memory."""
    link_collective_bytes_per_s: float
    link_other_bytes_per_s: float
    engine_cores: float
    lookup_cores: float
    attention_cores: float
    other_cores: float


class Loads(NamedTuple):
    """Demand over limit for every budget and objective; above 1.0 does not fit. 0.0 where nothing is asked."""

    hbm: float
    dram_capacity: float
    dram_bandwidth: float
    link: float
    cpu_cores: float
    itl: float
    ttft: float
