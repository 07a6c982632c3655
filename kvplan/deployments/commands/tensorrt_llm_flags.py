"""TensorRT-LLM's options as data: of ``trtllm-serve``, of Dynamo's worker, and the keys of the YAML that both read.

Source: tensorrt_llm/commands/serve.py (click: exact names) and llmapi/llm_args.py, 0.16 to 1.3; Dynamo's arguments of
``dynamo.trtllm``. The YAML is handed on as keyword arguments of the LLM class, so its keys are flags here as well.
"""

from __future__ import annotations

from typing import Final

from kvplan.deployments.flag_table import FlagTable

SETTINGS: Final[dict[str, str]] = {
    "model": "model", "model-path": "model",
    "tensor-parallel-size": "tp", "tp-size": "tp", "pipeline-parallel-size": "pp", "pp-size": "pp",
    "context-parallel-size": "pcp", "cp-size": "pcp", "moe-expert-parallel-size": "ep", "ep-size": "ep",
    "expert-parallel-size": "ep", "gpus-per-node": "gpus_per_node",
    "max-batch-size": "max_num_seqs", "max-num-tokens": "max_num_batched_tokens", "max-seq-len": "max_model_len",
    "max-beam-width": "max_beam_width", "max-input-len": "max_input_len",
    "free-gpu-memory-fraction": "free_gpu_memory_fraction",
    "kv-cache-free-gpu-memory-fraction": "free_gpu_memory_fraction",
    "kv-cache-free-gpu-mem-fraction": "free_gpu_memory_fraction", "llm-api-args": "llm_api_args",
    "kv-cache-config": "kv_cache_config", "kv-cache-dtype": "kv_cache_dtype", "tokens-per-block": "block_size",
    "cuda-graph-config": "cuda_graph_config", "use-cuda-graph": "use_cuda_graph",
    "enable-chunked-prefill": "chunked_prefill", "enable-attention-dp": "enable_attention_dp",
    "speculative-config": "trtllm_speculative_config", "quant-config": "quant_config", "dtype": "dtype",
    "backend": "backend", "load-format": "load_format", "disable-overlap-scheduler": "disable_overlap_scheduler",
    "kv-connector-config": "kv_connector_config", "cache-transceiver-config": "cache_transceiver_config",
    "config": "config", "extra-llm-api-options": "config", "extra-engine-args": "config",
}  # fmt: skip
"""Option or key -> the setting that it fills."""

SHORT: Final[dict[str, str]] = {}

SWITCHES: Final = frozenset(
    """
    trust-remote-code enable-chunked-prefill fail-fast-on-attention-window-too-large enable-attention-dp
    disable-overlap-scheduler use-cuda-graph publish-events-and-metrics enable-iter-perf-stats enable-min-latency
    print-iter-log enable-iter-req-stats help
    """.split()
)
"""Options without a value; keys that are true or false."""

OTHERS: Final = frozenset(
    """
    tokenizer custom-tokenizer host port custom-module-dirs log-level moe-cluster-parallel-size cluster-size
    num-postprocess-workers revision reasoning-parser tool-parser metadata-server-config-file server-role
    otlp-traces-endpoint disagg-cluster-uri media-io-kwargs chat-template served-model-name disaggregation-mode
    disaggregation-strategy endpoint modality migration-limit override-engine-args encode-endpoint moe-config
    attention-dp-config batching-type scheduler-config lora-config peft-cache-config sparse-attention-config
    torch-compile-config stream-interval custom-jinja-template max-file-size-mb allowed-local-media-path
    """.split()
)
"""Options with one value that change neither memory nor layout, or not in a way that kvplan models."""

TABLE: Final = FlagTable(SETTINGS, SHORT, SWITCHES, frozenset(), OTHERS, prefixes=False, engine="TensorRT-LLM")

KEYS: Final = frozenset(
    """
    kv_cache_config cuda_graph_config enable_attention_dp moe_config disable_overlap_scheduler cache_transceiver_config
    print_iter_log attention_dp_config enable_autotuner free_gpu_memory_fraction max_num_tokens
    kv_cache_free_gpu_mem_fraction llm_api_args
    """.split()
)
"""Keys of which a file of these options has at least one, and files of other programs have none."""
