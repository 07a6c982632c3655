"""A deployment in the words that people use, before anything is looked up or checked.

Command-line options and file settings both fill this record, so that a flag and a file key mean the same thing.
Human units: GiB, GB/s, milliseconds. None means "not said".
"""

from typing import NamedTuple

AUTO_LENGTHS = {"-1", "auto"}
"""``--max-model-len``: the largest that fits."""


class Words(NamedTuple):
    """Everything that ``fit``, ``kv``, ``sweep`` and ``check`` may be told."""

    model: str = ""
    host: str = ""
    catalog: tuple[str, ...] = ()
    fetch: bool = False
    """A hub id that no catalog has may be read from the Hugging Face Hub."""
    gpus: int | None = None
    cpu_cores: float | None = None
    dram_gib: float | None = None
    dram_gb_per_s: float | None = None
    link: str | None = None
    hbm_gib: float | None = None
    numa_nodes: int | None = None
    display_reserve_gib: float | None = None
    context: str | int | None = None
    prompt_tokens: str | int | None = None
    output_tokens: str | int | None = None
    users: int = 1
    shared_prefix_tokens: str | int | None = None
    prefix_hit_fraction: float | None = None
    idle_sessions: int | None = None
    engine: str | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    dcp: int | None = None
    weights: str | None = None
    kv_cache_dtype: str | None = None
    gpu_memory_utilization: float | None = None
    mem_fraction_static: float | None = None
    max_model_len: str | int | None = None
    max_num_batched_tokens: str | int | None = None
    max_num_seqs: int | None = None
    block_size: int | None = None
    enforce_eager: bool = False
    kv_offloading_size: float | None = None
    cpu_offload_gb: float | None = None
    speculative_config: str | None = None
    prefix_caching: bool | None = None
    unify_kv_groups: bool = False
    mamba_cache_mode: str | None = None
    mamba_ssm_cache_dtype: str | None = None
    itl_ms: float | None = None
    ttft_ms: float | None = None
    margin: float | None = None
    tenants: int = 1
    other_link_gb_per_s: float = 0.0
    other_cpu_cores: float = 0.0
    other_dram_gib: float = 0.0
    strategies: tuple[str, ...] = ()
    method: str | None = None
    task: str | None = None
    max_loss_points: float | None = None
