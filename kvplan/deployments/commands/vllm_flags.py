"""vLLM's command-line flags as data: which take a value, and which of them change memory.

The names are those of ``vllm serve`` and of its older entry point, 0.6 to 0.33. The whole list is needed to know how
far an abbreviation is unique (argparse takes any unique prefix) and whether the next word is a flag's value.
"""

from __future__ import annotations

from typing import Final

from kvplan.deployments.flag_table import FlagTable

SETTINGS: Final[dict[str, str]] = {
    "model": "model",
    "max-model-len": "max_model_len",
    "max-num-seqs": "max_num_seqs",
    "max-num-batched-tokens": "max_num_batched_tokens",
    "block-size": "block_size",
    "gpu-memory-utilization": "gpu_memory_utilization",
    "kv-cache-memory-bytes": "kv_cache_memory_bytes",
    "kv-cache-memory": "kv_cache_memory_bytes",
    "num-gpu-blocks-override": "num_gpu_blocks_override",
    "kv-cache-dtype": "kv_cache_dtype",
    "tensor-parallel-size": "tp",
    "pipeline-parallel-size": "pp",
    "data-parallel-size": "dp",
    "data-parallel-size-local": "dp_local",
    "decode-context-parallel-size": "dcp",
    "prefill-context-parallel-size": "pcp",
    "nnodes": "nodes",
    "enable-expert-parallel": "enable_expert_parallel",
    "quantization": "quantization",
    "dtype": "dtype",
    "enforce-eager": "enforce_eager",
    "cpu-offload-gb": "cpu_offload_gb",
    "swap-space": "swap_space",
    "kv-offloading-size": "kv_offloading_size",
    "kv-offloading-backend": "kv_offloading_backend",
    "kv-transfer-config": "kv_transfer_config",
    "disable-hybrid-kv-cache-manager": "disable_hybrid_kv_cache_manager",
    "speculative-config": "speculative_config",
    "speculative-model": "speculative_config",
    "enable-lora": "enable_lora",
    "hf-overrides": "hf_overrides",
    "rope-scaling": "rope_scaling",
    "performance-mode": "performance_mode",
    "config": "config",
}
"""Flag -> the setting that it fills."""

SHORT: Final[dict[str, str]] = {
    "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size",
    "dpl": "data-parallel-size-local", "dpn": "data-parallel-rank", "dpr": "data-parallel-start-rank",
    "dpa": "data-parallel-address", "dpp": "data-parallel-rpc-port", "dpb": "data-parallel-backend",
    "dcp": "decode-context-parallel-size", "pcp": "prefill-context-parallel-size",
    "ep": "enable-expert-parallel", "n": "nnodes", "r": "node-rank", "q": "quantization",
    "O": "compilation-config", "cc": "compilation-config", "ac": "attention-config",
    "sc": "speculative-config", "asc": "api-server-count",
}  # fmt: skip

SWITCHES: Final = frozenset(
    """enforce-eager enable-expert-parallel enable-lora disable-hybrid-kv-cache-manager trust-remote-code
    enable-prefix-caching enable-chunked-prefill headless disable-log-stats disable-log-requests enable-log-requests
    disable-uvicorn-access-log allow-credentials trust-request-chat-template enable-ssl-refresh
    return-tokens-as-token-ids disable-frontend-multiprocessing enable-request-id-headers enable-auto-tool-choice
    exclude-tools-when-tool-choice-none disable-fastapi-docs enable-prompt-tokens-details enable-server-load-tracking
    enable-force-include-usage enable-tokenizer-info-endpoint enable-log-outputs log-error-stack enable-offline-docs
    disable-sliding-window disable-cascade-attn skip-tokenizer-init enable-prompt-embeds enable-sleep-mode
    use-tqdm-on-load guided-decoding-disable-fallback guided-decoding-disable-any-whitespace
    guided-decoding-disable-additional-properties data-parallel-hybrid-lb data-parallel-external-lb enable-eplb
    ray-workers-use-nsight disable-custom-all-reduce enable-multimodal-encoder-data-parallel enable-dbo
    calculate-kv-scales kv-sharing-fast-prefill disable-mm-preprocessor-cache interleave-mm-strings skip-mm-profiling
    enable-lora-bias fully-sharded-loras multi-step-stream-outputs disable-chunked-mm-input async-scheduling
    use-v2-block-manager worker-use-ray engine-use-ray disable-async-output-proc enable-reasoning language-model-only
    enable-mm-embeds disable-nccl-for-dp-synchronization cudagraph-metrics kv-cache-metrics enable-mfu-metrics
    enable-layerwise-nvtx-tracing log-stats aggregate-engine-logging scheduler-reserve-full-isl help version
    disable-log-stats-per-request enable-flashinfer-autotune""".split()
)
"""Flags without a value; each may also be written ``--no-...``."""

SEVERAL: Final = frozenset(
    """served-model-name lora-modules prompt-adapters middleware ignore-patterns allowed-media-domains
    cudagraph-capture-sizes cuda-graph-sizes collect-detailed-traces logits-processors kv-cache-dtype-skip-layers
    disabled-loggers override-generation-config-keys cpu-offload-params offload-params""".split()
)
"""Flags that take all the words up to the next flag."""

OTHERS: Final = frozenset(
    """host port uds uvicorn-log-level allowed-origins allowed-methods allowed-headers api-key api-server-count
    chat-template chat-template-content-format response-role ssl-keyfile ssl-certfile ssl-ca-certs ssl-cert-reqs
    root-path tool-call-parser tool-parser-plugin tool-server log-config-file max-log-len h11-max-header-count
    h11-max-incomplete-event-size convert tokenizer tokenizer-mode seed hf-config-path allowed-local-media-path
    revision code-revision task runner rope-theta tokenizer-revision max-seq-len-to-capture max-logprobs logprobs-mode
    config-format hf-token override-neuron-config override-pooler-config pooler-config logits-processor-pattern
    generation-config override-generation-config model-impl override-attention-dtype load-format download-dir
    model-loader-extra-config pt-load-map-location safetensors-load-strategy guided-decoding-backend reasoning-parser
    reasoning-parser-plugin structured-outputs-config distributed-executor-backend data-parallel-rank
    data-parallel-start-rank data-parallel-address data-parallel-rpc-port data-parallel-backend eplb-config
    expert-placement-strategy num-redundant-experts eplb-window-size eplb-step-interval max-parallel-loading-workers
    worker-cls worker-extension-cls all2all-backend node-rank master-addr master-port dbo-decode-token-threshold
    dbo-prefill-token-threshold dcp-kv-cache-interleave-size cp-kv-cache-interleave-size ubatch-size
    prefix-caching-hash-algo mamba-cache-dtype mamba-ssm-cache-dtype mamba-block-size mamba-cache-mode
    limit-mm-per-prompt media-io-kwargs mm-processor-kwargs mm-processor-cache-gb mm-processor-cache-type
    mm-shm-cache-max-object-size-mb mm-encoder-tp-mode mm-encoder-attn-backend mm-ipc-gpu-memory-gb
    video-pruning-rate max-loras max-lora-rank lora-extra-vocab-size lora-dtype max-cpu-loras default-mm-loras
    lora-target-modules show-hidden-metrics-for-version otlp-traces-endpoint max-num-partial-prefills
    max-long-partial-prefills long-prefill-token-threshold num-lookahead-slots scheduler-delay-factor preemption-mode
    num-scheduler-steps scheduling-policy scheduler-cls stream-interval kv-events-config ec-transfer-config
    compilation-config attention-config attention-backend kernel-config moe-backend profiler-config
    additional-config device max-cudagraph-capture-size optimization-level offload-backend offload-group-size
    offload-num-in-group offload-prefetch-step spec-method spec-model spec-tokens num-speculative-tokens
    speculative-draft-tensor-parallel-size speculative-max-model-len ngram-prompt-lookup-max ngram-prompt-lookup-min
    shutdown-timeout weight-transfer-config disable-log-requests-after gpu-memory-headroom""".split()
)
"""Flags with one value that change neither memory nor layout, or not in a way that kvplan models."""

TABLE: Final = FlagTable(SETTINGS, SHORT, SWITCHES, SEVERAL, OTHERS)
