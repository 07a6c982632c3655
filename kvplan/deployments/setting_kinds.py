"""What kind of value each setting of a deployment has. A setting that is not listed is text.

``count``: a whole number from 0; ``whole``: one that may be negative, where -1 is "as many as fit"; ``whole or word``:
one, or a word such as ``auto``; ``number``: any finite one; ``tokens``: ``128k`` is 131072; ``engine tokens``: as vLLM
reads them, ``128k`` is 128000; ``switch``: true or false. Amounts of memory such as ``memory_limit`` are text with a
unit (``64Gi``), because forms differ in what they mean by ``64G``: the form writes the unit that is meant.
"""

from __future__ import annotations

from typing import Final

KINDS: Final[dict[str, str]] = {
    "batch_size_tokens": "count",
    "block_size": "count",
    "dcp": "count",
    "dp": "count",
    "dp_local": "count",
    "ep": "count",
    "gpus": "count",
    "idle_sessions": "count",
    "max_num_seqs": "count",
    "n_cpu_moe": "count",
    "nodes": "count",
    "num_gpu_blocks_override": "count",
    "numa_nodes": "count",
    "preset_models": "count",
    "pp": "count",
    "tenants": "count",
    "tp": "count",
    "ubatch_tokens": "count",
    "users": "count",
    "cpu_cores": "number",
    "cpu_offload_gb": "number",
    "display_reserve_gib": "number",
    "dram_gb_per_s": "number",
    "dram_gib": "number",
    "gpu_memory_utilization": "number",
    "hbm_gib": "number",
    "itl_ms": "number",
    "kv_offloading_size": "number",
    "lmcache_gib_per_rank": "number",
    "margin": "number",
    "mem_fraction_static": "number",
    "offload_bytes": "number",
    "offload_bytes_per_rank": "number",
    "other_cpu_cores": "number",
    "other_dram_gib": "number",
    "other_link_gb_per_s": "number",
    "gpu_overhead_bytes": "number",
    "offload_host_fraction": "number",
    "prefix_hit_fraction": "number",
    "swap_space": "number",
    "ttft_ms": "number",
    "kv_cache_memory_bytes": "engine tokens",
    "max_model_len": "engine tokens",
    "max_num_batched_tokens": "engine tokens",
    "context": "tokens",
    "output_tokens": "tokens",
    "prompt_tokens": "tokens",
    "shared_prefix_tokens": "tokens",
    "cache_ram_mib": "whole",
    "ctx_checkpoints": "whole",
    "ctx_size": "whole",
    "fit_ctx": "whole",
    "main_gpu": "whole",
    "models_max": "whole",
    "parallel": "whole",
    "runners": "whole",
    "threads": "whole",
    "threads_batch": "whole",
    "n_gpu_layers": "whole or word",
    "cpu_moe": "switch",
    "disable_hybrid_kv_cache_manager": "switch",
    "enable_expert_parallel": "switch",
    "enable_lora": "switch",
    "enforce_eager": "switch",
    "kv_unified": "switch",
    "mlock": "switch",
    "no_kv_offload": "switch",
    "no_mmap": "switch",
    "sched_spread": "switch",
    "swa_full": "switch",
}
"""Setting -> kind."""

NUMERIC: Final = frozenset({"count", "whole", "number", "tokens", "engine tokens"})
