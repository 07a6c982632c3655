"""vLLM's command-line flags as data: which take a value, and which of them change memory.

The names are those of ``vllm serve`` and of its older entry point, 0.4.2 to 0.33.0, read from the argument definitions
in each release's source package. The whole list is needed to know how far an abbreviation is unique (argparse takes
any unique prefix), whether the next word is a flag's value, and whether a flag exists at all.
"""

from __future__ import annotations

from typing import Final

from kvplan.deployments.flag_table import FlagTable

SETTINGS: Final[dict[str, str]] = {
    "model": "model",
    "max-model-len": "max_model_len",
    "max-num-seqs": "max_num_seqs",
    "max-num-batched-tokens": "max_num_batched_tokens",
    "max-num-scheduled-tokens": "max_num_scheduled_tokens",
    "max-num-active-seqs": "max_num_active_seqs",
    "enable-chunked-prefill": "chunked_prefill",
    "performance-mode": "performance_mode",
    "block-size": "block_size",
    "gpu-memory-utilization": "gpu_memory_utilization",
    "device-memory-utilization": "gpu_memory_utilization",
    "kv-cache-memory-bytes": "kv_cache_memory_bytes",
    "kv-cache-memory": "kv_cache_memory_bytes",
    "num-gpu-blocks-override": "num_gpu_blocks_override",
    "kv-cache-dtype": "kv_cache_dtype",
    "kv-cache-dtype-skip-layers": "kv_cache_dtype_skip_layers",
    "enable-prefix-caching": "prefix_caching",
    "mamba-cache-dtype": "mamba_cache_dtype",
    "mamba-ssm-cache-dtype": "mamba_ssm_cache_dtype",
    "mamba-block-size": "mamba_block_size",
    "mamba-cache-mode": "mamba_cache_mode",
    "disable-hybrid-kv-cache-manager": "disable_hybrid_kv_cache_manager",
    "disable-sliding-window": "disable_sliding_window",
    "kv-events-config": "kv_events_config",
    "tensor-parallel-size": "tp",
    "pipeline-parallel-size": "pp",
    "data-parallel-size": "dp",
    "data-parallel-size-local": "dp_local",
    "decode-context-parallel-size": "dcp",
    "prefill-context-parallel-size": "pcp",
    "nnodes": "nodes",
    "api-server-count": "api_server_count",
    "enable-expert-parallel": "enable_expert_parallel",
    "enable-dbo": "enable_dbo",
    "distributed-executor-backend": "distributed_executor_backend",
    "quantization": "quantization",
    "dtype": "dtype",
    "load-format": "load_format",
    "safetensors-load-strategy": "safetensors_load_strategy",
    "enforce-eager": "enforce_eager",
    "compilation-config": "compilation_config",
    "optimization-level": "optimization_level",
    "cudagraph-capture-sizes": "cudagraph_capture_sizes",
    "cuda-graph-sizes": "cudagraph_capture_sizes",
    "max-cudagraph-capture-size": "max_cudagraph_capture_size",
    "max-seq-len-to-capture": "max_seq_len_to_capture",
    "enable-lora": "enable_lora",
    "max-loras": "max_loras",
    "max-lora-rank": "max_lora_rank",
    "max-cpu-loras": "max_cpu_loras",
    "lora-dtype": "lora_dtype",
    "limit-mm-per-prompt": "limit_mm_per_prompt",
    "mm-processor-cache-gb": "mm_processor_cache_gb",
    "mm-processor-cache-type": "mm_processor_cache_type",
    "mm-ipc-gpu-memory-gb": "mm_ipc_gpu_memory_gb",
    "skip-mm-profiling": "skip_mm_profiling",
    "language-model-only": "language_model_only",
    "mm-encoder-only": "mm_encoder_only",
    "speculative-config": "speculative_config",
    "spec-method": "spec_method",
    "spec-model": "spec_model",
    "spec-tokens": "spec_tokens",
    "speculative-model": "spec_model",
    "num-speculative-tokens": "spec_tokens",
    "speculative-draft-tensor-parallel-size": "spec_draft_tp",
    "speculative-max-model-len": "spec_max_model_len",
    "speculative-model-quantization": "spec_quantization",
    "hf-overrides": "hf_overrides",
    "rope-scaling": "rope_scaling",
    "rope-theta": "rope_theta",
    "cpu-offload-gb": "cpu_offload_gb",
    "cpu-offload-params": "cpu_offload_params",
    "offload-backend": "offload_backend",
    "offload-group-size": "offload_group_size",
    "offload-num-in-group": "offload_num_in_group",
    "offload-prefetch-step": "offload_prefetch_step",
    "offload-params": "offload_params",
    "swap-space": "swap_space",
    "kv-offloading-size": "kv_offloading_size",
    "kv-offloading-backend": "kv_offloading_backend",
    "kv-transfer-config": "kv_transfer_config",
    "ec-transfer-config": "ec_transfer_config",
    "enable-sleep-mode": "enable_sleep_mode",
    "headless": "headless",
    "config": "config",
}
"""Flag -> the setting that it fills."""

SHORT: Final[dict[str, str]] = {
    "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size",
    "dpl": "data-parallel-size-local", "dpn": "data-parallel-rank", "dpr": "data-parallel-start-rank",
    "dpa": "data-parallel-address", "dpp": "data-parallel-rpc-port", "dpb": "data-parallel-backend",
    "dph": "data-parallel-hybrid-lb", "dpe": "data-parallel-external-lb",
    "dpm": "data-parallel-multi-port-external-lb", "dcp": "decode-context-parallel-size",
    "pcp": "prefill-context-parallel-size", "ep": "enable-expert-parallel", "n": "nnodes", "r": "node-rank",
    "q": "quantization", "O": "compilation-config", "cc": "compilation-config", "ac": "attention-config",
    "sc": "speculative-config", "dc": "diffusion-config", "asc": "api-server-count", "h": "help", "v": "version",
    "spec-draft-tp": "speculative-draft-tensor-parallel-size",
}  # fmt: skip
"""``-O2`` and ``-O3`` are the optimization level written without a space."""

SWITCHES: Final = frozenset(
    """
    aggregate-engine-logging allow-credentials allow-deprecated-quantization async-scheduling calculate-kv-scales
    cohere-is-reasoning-model cudagraph-metrics data-parallel-external-lb data-parallel-hybrid-lb
    data-parallel-multi-port-external-lb dcp-q-replicate disable-async-output-proc disable-cascade-attn
    disable-chunked-mm-input disable-custom-all-reduce disable-fastapi-docs disable-frontend-multiprocessing
    disable-hybrid-kv-cache-manager disable-image-processor disable-log-requests disable-log-stats
    disable-mm-preprocessor-cache disable-nccl-for-dp-synchronization disable-sliding-window
    disable-uvicorn-access-log dry-run enable-auto-tool-choice enable-batch-sharded-sampling
    enable-bf16x3-router-gemm enable-chunked-prefill enable-cumem-allocator enable-dbo enable-elastic-ep
    enable-ep-weight-filter enable-eplb enable-expert-parallel enable-fault-tolerance enable-flash-late-interaction
    enable-flashinfer-autotune enable-force-include-usage enable-hc-sp enable-layerwise-nvtx-tracing
    enable-log-deltas enable-log-outputs enable-log-requests enable-logging-iteration-details enable-lora
    enable-lora-bias enable-mamba-cache-stochastic-rounding enable-mamba-fine-grained-prefix-cache
    enable-mamba-shared-prefix-checkpoint enable-mfu-metrics enable-mixed-moe-lora-format enable-mm-embeds
    enable-moe-shared-loras enable-multimodal-encoder-data-parallel enable-nccl-comm-suspend enable-offline-docs
    enable-per-request-metrics enable-prefix-caching enable-prompt-adapter enable-prompt-embeds
    enable-prompt-tokens-details enable-reasoning enable-request-id-headers enable-return-routed-experts
    enable-scale-out enable-server-load-tracking enable-shm-tensor-arena enable-sleep-mode enable-ssl-refresh
    enable-tokenizer-info-endpoint enable-tower-connector-lora enable-trace-replay enforce-eager engine-use-ray
    eplb-log-balancedness exclude-tools-when-tool-choice-none expand-tools-even-if-tool-choice-none
    fail-on-environ-validation fully-sharded-loras grpc guided-decoding-disable-additional-properties
    guided-decoding-disable-any-whitespace guided-decoding-disable-fallback headless help interleave-mm-strings
    jit-monitor-verbose kv-cache-metrics kv-sharing-fast-prefill language-model-only log-error-stack
    long-prefill-token-threshold-adaptive mm-cache-preprocessor mm-device-do-normalize mm-encoder-only monokernel
    multi-step-stream-outputs numa-bind ray-workers-use-nsight return-sampling-mask return-tokens-as-token-ids
    scheduler-reserve-full-isl skip-mm-profiling skip-tokenizer-init sleep-mode-offload-cudagraph
    specialize-active-lora speculative-disable-mqa-scorer swa-bounded-replay tokens-only trust-remote-code
    trust-request-chat-template trust-request-mm-kwargs use-fp64-gumbel use-gpu-for-pooling-score use-replayssm
    use-tqdm-on-load use-v2-block-manager version worker-use-ray
    """.split()
)
"""Flags without a value; each may also be written ``--no-...``."""

SEVERAL: Final = frozenset(
    """
    allowed-headers allowed-media-domains allowed-methods allowed-origins api-key collect-detailed-traces
    cpu-offload-params cuda-graph-sizes cudagraph-capture-sizes ignore-patterns kv-cache-dtype-skip-layers
    logits-processors long-lora-scaling-factors lora-modules lora-target-modules middleware numa-bind-cpus
    numa-bind-nodes offload-params prompt-adapters served-model-name sleep-preserve-parameter-names
    """.split()
)
"""Flags that take all the words up to the next flag."""

OTHERS: Final = frozenset(
    """
    additional-config all2all-backend allowed-local-media-path anthropic-disabled-thinking-effort attention-backend
    attention-config aux-output-config chat-template chat-template-content-format chat-template-text-format
    code-revision cohere-format config-format convert cp-kv-cache-interleave-size cpu-distributed-timeout-seconds
    custom-histogram-buckets data-parallel-address data-parallel-backend data-parallel-rank data-parallel-rpc-port
    data-parallel-start-rank data-parallel-supervisor-port dbo-decode-token-threshold dbo-prefill-token-threshold
    dcp-comm-backend dcp-kv-cache-interleave-size default-chat-template-kwargs default-mm-loras device device-ids
    diffusion-config disable-access-log-for-endpoints disable-logprobs-during-spec-decoding
    distributed-timeout-seconds download-dir dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s
    dp-supervisor-probe-timeout-s dp-sync-interval ec-manager-config elastic-ep-max-dp-size engram-config
    eplb-config eplb-step-interval eplb-window-size expert-placement-strategy fault-tolerance-config
    fingerprint-mode fingerprint-value gdn-prefill-backend generation-config grpc-port guided-decoding-backend
    h11-max-header-count h11-max-incomplete-event-size hf-config-path hf-token host image-feature-size
    image-input-shape image-input-type image-processor image-processor-revision image-token-id io-processor-plugin
    ir-op-priority jit-monitor-mode kda-decode-backend kda-prefill-backend kernel-config kv-cache-metrics-sample
    linear-backend log-config-file log-level logging-config logits-processor-pattern logprobs-mode
    long-prefill-token-threshold lora-extra-vocab-size mamba-backend mamba-cache-philox-rounds mamba-ssu-algorithm
    master-addr master-port max-context-len-to-capture max-log-len max-logprobs max-long-partial-prefills
    max-lora-cls-labels max-num-partial-prefills max-num-queued-reqs max-num-queued-tokens
    max-parallel-loading-workers max-prompt-adapter-token max-prompt-adapters media-io-kwargs
    mm-encoder-attn-backend mm-encoder-attn-dtype mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin
    mm-encoder-fp8-scale-save-path mm-encoder-tp-mode mm-hasher-algorithm mm-processor-device mm-processor-kwargs
    mm-shm-cache-max-object-size-mb mm-tensor-ipc model-class-overrides model-impl model-loader-extra-config
    moe-backend ngram-prompt-lookup-max ngram-prompt-lookup-min node-rank num-lookahead-slots num-redundant-experts
    num-scheduler-steps otlp-traces-endpoint override-attention-dtype override-generation-config
    override-neuron-config override-pooler-config per-request-spec-decode-metrics pooler-config port preemption-mode
    prefill-schedule-interval prefix-cache-retention-interval prefix-caching-hash-algo prefix-match-unit
    profiler-config pt-load-map-location qlora-adapter-name-or-path quantization-config quantization-param-path
    reasoning-config reasoning-effort-map reasoning-parser reasoning-parser-plugin renderer-num-workers
    replayssm-buffer-len response-role revision root-path runner safetensors-prefetch-block-size
    safetensors-prefetch-num-threads scheduler-cls scheduler-delay-factor scheduling-policy seed seed-listen-host
    seed-listen-port seed-source-host seed-source-port seed-token show-hidden-metrics-for-version shutdown-timeout
    sleep-mode-backend snapshot-dir sparse-indexer-topk-backend spec-decoding-acceptance-method
    speculative-disable-by-batch-size sse-keep-alive-interval ssl-ca-certs ssl-cert-reqs ssl-certfile ssl-ciphers
    ssl-keyfile stream-interval structured-outputs-config task tokenizer tokenizer-mode tokenizer-pool-extra-config
    tokenizer-pool-size tokenizer-pool-type tokenizer-revision tool-call-parser tool-parser-plugin tool-server
    tool-strict-level typical-acceptance-sampler-posterior-alpha typical-acceptance-sampler-posterior-threshold
    ubatch-size uds uvicorn-log-level video-pruning-method video-pruning-rate watchdog-config watermark
    watermark-config weight-cache-draft-master-port weight-cache-health-host weight-cache-health-port
    weight-cache-master-port weight-cache-socket-dir weight-transfer-config worker-cls worker-extension-cls
    """.split()
)
"""Flags with one value that change neither memory nor layout, or not in a way that kvplan models."""

TABLE: Final = FlagTable(SETTINGS, SHORT, SWITCHES, SEVERAL, OTHERS, engine="vLLM", complete=True, pairs=True)
