"""When vLLM's server flags came and went, release by release from 0.4.2 to 0.33.0.

Read from the argument definitions in each of those releases' source packages. A flag of none of these lists has been
there in all of them.
"""

from __future__ import annotations

from typing import Final

OLDEST: Final = "0.4.2"
NEWEST: Final = "0.33.0"

ADDED: Final[dict[str, str]] = {
    "0.4.3": """
        disable-sliding-window distributed-executor-backend long-lora-scaling-factors rope-scaling
        speculative-disable-by-batch-size""",
    "0.5.0": """
        disable-image-processor image-processor image-processor-revision preemption-mode qlora-adapter-name-or-path
        rope-theta""",
    "0.5.1": """
        otlp-traces-endpoint spec-decoding-acceptance-method speculative-draft-tensor-parallel-size
        typical-acceptance-sampler-posterior-alpha typical-acceptance-sampler-posterior-threshold""",
    "0.5.2": "enable-prompt-adapter max-prompt-adapter-token max-prompt-adapters prompt-adapters",
    "0.5.3": "cpu-offload-gb disable-logprobs-during-spec-decoding ignore-patterns",
    "0.5.4": "disable-frontend-multiprocessing return-tokens-as-token-ids",
    "0.5.5": "collect-detailed-traces limit-mm-per-prompt num-scheduler-steps speculative-model-quantization",
    "0.6.0": "disable-async-output-proc enable-auto-tool-choice override-neuron-config tool-call-parser",
    "0.6.1": "config-format",
    "0.6.2": "disable-fastapi-docs mm-processor-kwargs multi-step-stream-outputs",
    "0.6.3": "scheduling-policy speculative-disable-mqa-scorer tool-parser-plugin",
    "0.6.4": """
        allowed-local-media-path chat-template-text-format enable-lora-bias enable-prompt-tokens-details
        hf-overrides override-pooler-config task""",
    "0.6.5": """
        chat-template-content-format compilation-config kv-transfer-config logits-processor-pattern
        mm-cache-preprocessor worker-cls""",
    "0.6.6": "disable-mm-preprocessor-cache enable-request-id-headers generation-config",
    "0.7.0": "calculate-kv-scales enable-sleep-mode",
    "0.7.1": "enable-reasoning override-generation-config reasoning-parser",
    "0.7.2": "model-impl",
    "0.7.3": """
        additional-config config long-prefill-token-threshold max-long-partial-prefills max-num-partial-prefills
        scheduler-cls version""",
    "0.8.0": """
        enable-expert-parallel enable-server-load-tracking enable-ssl-refresh hf-config-path
        show-hidden-metrics-for-version use-tqdm-on-load worker-extension-cls""",
    "0.8.2": "disable-cascade-attn disable-uvicorn-access-log speculative-config",
    "0.8.3": "data-parallel-size prefix-caching-hash-algo",
    "0.8.4": "disable-chunked-mm-input hf-token",
    "0.9.0": """
        cuda-graph-sizes data-parallel-address data-parallel-rpc-port data-parallel-size-local
        data-parallel-start-rank enable-prompt-embeds guided-decoding-disable-additional-properties
        guided-decoding-disable-any-whitespace guided-decoding-disable-fallback headless kv-events-config
        pt-load-map-location""",
    "0.9.1": """
        api-server-count data-parallel-backend disable-hybrid-kv-cache-manager
        enable-multimodal-encoder-data-parallel log-config-file""",
    "0.9.2": """
        data-parallel-rank enable-eplb enable-force-include-usage eplb-log-balancedness eplb-step-interval
        eplb-window-size expand-tools-even-if-tool-choice-none media-io-kwargs num-redundant-experts
        override-attention-dtype""",
    "0.10.0": """
        async-scheduling data-parallel-hybrid-lb default-mm-loras enable-tokenizer-info-endpoint
        interleave-mm-strings logprobs-mode""",
    "0.10.1": """
        convert enable-log-outputs enable-log-requests exclude-tools-when-tool-choice-none kv-sharing-fast-prefill
        logits-processors mamba-cache-dtype mamba-ssm-cache-dtype mm-processor-cache-gb runner skip-mm-profiling
        tool-server uds""",
    "0.10.2": """
        decode-context-parallel-size eplb-config h11-max-header-count h11-max-incomplete-event-size
        io-processor-plugin kv-cache-memory-bytes log-error-stack mm-encoder-tp-mode safetensors-load-strategy""",
    "0.11.0": """
        allowed-media-domains dbo-decode-token-threshold dbo-prefill-token-threshold enable-dbo
        expert-placement-strategy mm-processor-cache-type mm-shm-cache-max-object-size-mb pooler-config
        structured-outputs-config trust-request-chat-template video-pruning-rate""",
    "0.11.1": """
        aggregate-engine-logging all2all-backend cudagraph-capture-sizes data-parallel-external-lb
        dcp-kv-cache-interleave-size disable-nccl-for-dp-synchronization ec-transfer-config enable-mm-embeds
        kv-offloading-backend kv-offloading-size mamba-block-size master-addr master-port max-cudagraph-capture-size
        mm-encoder-attn-backend nnodes node-rank reasoning-parser-plugin stream-interval tokens-only""",
    "0.12.0": """
        cp-kv-cache-interleave-size kv-cache-metrics kv-cache-metrics-sample optimization-level
        prefill-context-parallel-size""",
    "0.13.0": """
        attention-backend attention-config cudagraph-metrics enable-layerwise-nvtx-tracing profiler-config""",
    "0.14.0": """
        allow-deprecated-quantization default-chat-template-kwargs enable-log-deltas
        enable-logging-iteration-details enable-mfu-metrics enable-offline-docs enable-return-routed-experts
        enable-tower-connector-lora ubatch-size""",
    "0.15.0": "mamba-cache-mode mm-encoder-only ssl-ciphers",
    "0.16.0": """
        disable-access-log-for-endpoints enable-flashinfer-autotune kernel-config specialize-active-lora
        weight-transfer-config""",
    "0.17.0": """
        cpu-offload-params enable-elastic-ep fail-on-environ-validation language-model-only moe-backend
        offload-backend offload-group-size offload-num-in-group offload-params offload-prefetch-step
        performance-mode use-gpu-for-pooling-score""",
    "0.18.0": """
        dcp-comm-backend distributed-timeout-seconds enable-ep-weight-filter gdn-prefill-backend grpc
        shutdown-timeout""",
    "0.19.0": """
        kv-cache-dtype-skip-layers lora-target-modules mm-tensor-ipc reasoning-config renderer-num-workers
        scheduler-reserve-full-isl""",
    "0.20.0": """
        enable-flash-late-interaction enable-mamba-cache-stochastic-rounding ir-op-priority mamba-backend
        mamba-cache-philox-rounds numa-bind numa-bind-cpus numa-bind-nodes""",
    "0.21.0": """
        fingerprint-mode fingerprint-value mm-encoder-attn-dtype mm-encoder-fp8-scale-path
        mm-encoder-fp8-scale-save-margin mm-encoder-fp8-scale-save-path safetensors-prefetch-block-size
        safetensors-prefetch-num-threads""",
    "0.22.0": """
        cpu-distributed-timeout-seconds data-parallel-multi-port-external-lb data-parallel-supervisor-port
        dp-supervisor-probe-failure-threshold dp-supervisor-probe-interval-s dp-supervisor-probe-timeout-s
        enable-cumem-allocator enable-mixed-moe-lora-format linear-backend quantization-config spec-method
        spec-model spec-tokens use-fp64-gumbel""",
    "0.24.0": "device-ids diffusion-config jit-monitor-verbose prefill-schedule-interval watermark",
    "0.25.0": "enable-per-request-metrics jit-monitor-mode mm-ipc-gpu-memory-gb model-class-overrides",
    "0.26.0": "enable-bf16x3-router-gemm enable-moe-shared-loras max-num-scheduled-tokens prefix-match-unit",
    "0.27.0": """
        cohere-format cohere-is-reasoning-model enable-fault-tolerance fault-tolerance-config kda-prefill-backend
        mamba-ssu-algorithm mm-hasher-algorithm replayssm-buffer-len use-replayssm video-pruning-method""",
    "0.28.0": "ec-manager-config mm-device-do-normalize mm-processor-device return-sampling-mask",
    "0.29.0": """
        dcp-q-replicate enable-batch-sharded-sampling enable-trace-replay max-num-queued-reqs max-num-queued-tokens
        per-request-spec-decode-metrics prefix-cache-retention-interval sse-keep-alive-interval""",
    "0.30.0": """
        dp-sync-interval elastic-ep-max-dp-size enable-mamba-fine-grained-prefix-cache enable-nccl-comm-suspend
        enable-scale-out engram-config kda-decode-backend sparse-indexer-topk-backend watermark-config""",
    "0.31.0": """
        anthropic-disabled-thinking-effort aux-output-config device-memory-utilization
        enable-mamba-shared-prefix-checkpoint log-level logging-config long-prefill-token-threshold-adaptive
        max-lora-cls-labels max-num-active-seqs sleep-preserve-parameter-names snapshot-dir swa-bounded-replay
        tool-strict-level trust-request-mm-kwargs weight-cache-draft-master-port weight-cache-health-host
        weight-cache-health-port weight-cache-master-port weight-cache-socket-dir""",
    "0.32.0": """
        custom-histogram-buckets dry-run enable-hc-sp enable-shm-tensor-arena grpc-port sleep-mode-offload-cudagraph""",
    "0.33.0": """
        monokernel reasoning-effort-map seed-listen-host seed-listen-port seed-source-host seed-source-port
        seed-token sleep-mode-backend watchdog-config""",
}
"""Release -> the flags that it was the first to have."""

REMOVED: Final[dict[str, str]] = {
    "0.5.1": """
        disable-image-processor image-feature-size image-input-shape image-input-type image-processor
        image-processor-revision image-token-id""",
    "0.6.2": "engine-use-ray",
    "0.6.4": "max-context-len-to-capture",
    "0.6.5": "chat-template-text-format",
    "0.6.6": "mm-cache-preprocessor",
    "0.7.0": "quantization-param-path worker-use-ray",
    "0.8.3": """
        disable-logprobs-during-spec-decoding ngram-prompt-lookup-max ngram-prompt-lookup-min num-speculative-tokens
        spec-decoding-acceptance-method speculative-disable-by-batch-size speculative-disable-mqa-scorer
        speculative-draft-tensor-parallel-size speculative-max-model-len speculative-model
        speculative-model-quantization typical-acceptance-sampler-posterior-alpha
        typical-acceptance-sampler-posterior-threshold""",
    "0.10.0": """
        device enable-reasoning expand-tools-even-if-tool-choice-none long-lora-scaling-factors
        max-prompt-adapter-token max-prompt-adapters prompt-adapters qlora-adapter-name-or-path
        tokenizer-pool-extra-config tokenizer-pool-size tokenizer-pool-type use-v2-block-manager""",
    "0.10.1": "multi-step-stream-outputs num-scheduler-steps",
    "0.10.2": "enable-prompt-adapter override-neuron-config",
    "0.11.0": """
        disable-async-output-proc guided-decoding-backend guided-decoding-disable-additional-properties
        guided-decoding-disable-any-whitespace guided-decoding-disable-fallback max-seq-len-to-capture
        preemption-mode scheduler-delay-factor""",
    "0.11.1": "enable-lora-bias rope-scaling rope-theta",
    "0.12.0": """
        eplb-log-balancedness eplb-step-interval eplb-window-size lora-extra-vocab-size num-lookahead-slots
        num-redundant-experts override-pooler-config""",
    "0.13.0": "cuda-graph-sizes disable-mm-preprocessor-cache enable-multimodal-encoder-data-parallel task",
    "0.17.0": "disable-log-requests logits-processor-pattern",
    "0.18.0": "swap-space use-gpu-for-pooling-score",
    "0.19.0": "disable-frontend-multiprocessing",
    "0.27.0": "max-long-partial-prefills max-num-partial-prefills",
    "0.28.0": "calculate-kv-scales override-attention-dtype",
    "0.30.0": "enable-bf16x3-router-gemm",
    "0.31.0": "enable-mamba-fine-grained-prefix-cache",
}
"""Release -> the flags that it no longer takes, and refuses to start with."""
