"""What kind of value each setting of a deployment has. A setting that is not listed is text.

``count``: a whole number; ``number``: any finite one; ``tokens``: ``128k`` is 131072; ``engine tokens``: as vLLM
reads them, ``128k`` is 128000; ``switch``: true or false. Amounts of memory such as ``memory_limit`` are text with a
unit (``64Gi``), because forms differ in what they mean by ``64G``: the form writes the unit that is meant.
"""

from __future__ import annotations

from typing import Final

KINDS: Final[dict[str, str]] = {
    "block_size": "count",
    "dcp": "count",
    "dp": "count",
    "dp_local": "count",
    "ep": "count",
    "gpus": "count",
    "idle_sessions": "count",
    "max_num_seqs": "count",
    "nodes": "count",
    "num_gpu_blocks_override": "count",
    "numa_nodes": "count",
    "omp_num_threads": "count",
    "pp": "count",
    "replicas": "count",
    "tenants": "count",
    "tp": "count",
    "users": "count",
    "kv_cache_memory_bytes": "engine tokens",
    "max_model_len": "engine tokens",
    "max_num_batched_tokens": "engine tokens",
    "cpu_cores": "number",
    "cpu_offload_gb": "number",
    "display_reserve_gib": "number",
    "dram_gb_per_s": "number",
    "dram_gib": "number",
    "gpu_fraction": "number",
    "gpu_memory_utilization": "number",
    "hbm_gib": "number",
    "hicache_gb_per_rank": "number",
    "hicache_ratio": "number",
    "host_cache_bytes_per_rank": "number",
    "itl_ms": "number",
    "kv_offloading_size": "number",
    "lmcache_gib_per_rank": "number",
    "margin": "number",
    "mem_fraction_static": "number",
    "offload_bytes": "number",
    "offload_bytes_per_rank": "number",
    "offload_host_fraction": "number",
    "other_cpu_cores": "number",
    "other_dram_gib": "number",
    "other_link_gb_per_s": "number",
    "prefix_hit_fraction": "number",
    "swap_space": "number",
    "ttft_ms": "number",
    "confidential_computing": "switch",
    "disable_hybrid_kv_cache_manager": "switch",
    "enable_expert_parallel": "switch",
    "enable_lora": "switch",
    "enforce_eager": "switch",
    "context": "tokens",
    "output_tokens": "tokens",
    "prompt_tokens": "tokens",
    "shared_prefix_tokens": "tokens",
}
"""Setting -> kind."""

NUMERIC: Final = frozenset({"count", "number", "tokens", "engine tokens"})
