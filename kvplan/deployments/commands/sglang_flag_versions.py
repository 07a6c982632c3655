"""When SGLang's server flags came and went, release by release from 0.3.0 to 0.5.23.

Read from the argument definitions in each of those releases' source packages. A flag of none of these lists has been
there in all of them.
"""

from __future__ import annotations

from typing import Final

OLDEST: Final = "0.3.0"
NEWEST: Final = "0.5.23"

ADDED: Final[dict[str, str]] = {
    "0.4.0": """
        attention-backend base-gpu-id constrained-json-whitespace-pattern cpu-offload-gb cuda-graph-max-bs
        decode-log-interval delete-ckpt-after-loading device disable-jump-forward disable-mla disable-nan-detection
        disable-outlines-disk-cache disable-overlap-schedule dist-init-addr download-dir ds-channel-config-path
        ds-heavy-channel-num ds-heavy-channel-type ds-heavy-token-num ds-sparse-decode-threshold enable-cache-report
        enable-double-sparsity enable-dp-attention enable-metrics enable-nan-detection enable-overlap-schedule
        grammar-backend json-model-override-args lora-paths max-loras-per-batch num-continuous-decode-steps revision
        sampling-backend torch-compile-max-bs torchao-config watchdog-timeout""",
    "0.4.3": """
        allow-auto-truncate cuda-graph-bs enable-custom-logit-processor enable-ep-moe enable-flashinfer-mla
        enable-hierarchical-cache enable-memory-saver enable-nccl-nvls ep-size expert-parallel-size lora-backend
        prefill-only-one-req quantization-param-path return-hidden-states speculative-algorithm
        speculative-draft-model-path speculative-eagle-topk speculative-num-draft-tokens speculative-num-steps
        stream-output tool-call-parser triton-attention-num-kv-splits""",
    "0.4.6": """
        completion-template debug-tensor-dump-inject debug-tensor-dump-input-file debug-tensor-dump-output-folder
        deepep-mode disable-chunked-prefix-cache disable-fast-image-processor disaggregation-bootstrap-port
        disaggregation-ib-device disaggregation-mode disaggregation-transfer-backend dist-timeout enable-deepep-moe
        enable-flashmla enable-multimodal enable-tokenizer-batch-encode file-storage-path
        flashinfer-mla-disable-ragged gpu-id-step hicache-ratio hicache-size hicache-write-policy log-requests-level
        moe-dense-tp-size n-share-experts-fusion page-size reasoning-parser speculative-accept-threshold-acc
        speculative-accept-threshold-single speculative-token-map warmups""",
    "0.4.8": """
        bucket-e2e-request-latency bucket-inter-token-latency bucket-time-to-first-token collect-tokens-histogram
        custom-weight-loader debug-tensor-dump-prefill-only deepep-config disable-overlap-cg-plan
        disable-shared-experts-fusion disaggregation-decode-dp disaggregation-decode-tp disaggregation-prefill-pp
        enable-dp-lm-head enable-eplb enable-expert-distribution-metrics enable-flashinfer-moe enable-mscclpp
        enable-profile-cuda-graph enable-request-time-stats-logging enable-return-hidden-states
        enable-two-batch-overlap ep-dispatch-algorithm ep-num-redundant-experts eplb-algorithm
        eplb-rebalance-layers-per-chunk eplb-rebalance-num-iterations expert-distribution-recorder-buffer-size
        expert-distribution-recorder-mode impl init-expert-location kv-events-config max-micro-batch-size
        mm-attention-backend num-reserved-decode-tokens pdlb-url pipeline-parallel-size pp-size
        preferred-sampling-params sleep-on-idle weight-loader-disable-mmap""",
    "0.4.10": """
        crash-dump-folder decode-attention-backend disable-hybrid-swa-memory enable-flashinfer-allreduce-fusion
        enable-flashinfer-cutlass-moe enable-flashinfer-trtllm-moe enable-lora enable-metrics-for-all-schedulers
        enable-pdmux enable-triton-kernel-moe ep hicache-io-backend hicache-storage-backend hybrid-kvcache-ratio
        lora-target-modules max-lora-rank max-queued-requests model model-impl model-loader-extra-config nccl-port
        prefill-attention-backend skip-server-warmup sm-group-num swa-full-tokens-ratio""",
    "0.5.1": """
        disable-flashinfer-cutlass-moe-fp4-allgather enable-cudagraph-gc enable-flashinfer-mxfp4-moe enable-symm-mem
        flashinfer-mxfp4-moe-precision gc-warning-threshold-secs hicache-mem-layout hicache-storage-prefetch-policy
        max-loaded-loras moe-a2a-backend moe-runner-backend offload-group-size offload-mode offload-num-in-group
        offload-prefetch-step scheduler-recv-interval tbo-token-distribution-threshold tool-server weight-version""",
    "0.5.2": """
        enable-lmcache eplb-min-rebalancing-utilization-threshold generation-tokens-buckets
        hicache-storage-backend-extra-config mamba-ssm-dtype max-mamba-cache-size numa-node
        prefill-round-robin-balance prompt-tokens-buckets speculative-attention-mode speculative-draft-model
        speculative-draft-model-revision tokenizer-worker-num""",
    "0.5.3": """
        config disaggregation-decode-enable-offload-kvcache disaggregation-decode-polling-interval
        dynamic-batch-tokenizer-batch-size dynamic-batch-tokenizer-batch-timeout enable-deterministic-inference
        enable-dynamic-batch-tokenizer enable-flashinfer-cutedsl-moe enable-fp32-lm-head enable-priority-scheduling
        enable-single-batch-overlap enable-torch-symm-mem enable-trace enable-weights-cpu-backup
        keep-mm-feature-on-device load-watch-interval max-lora-chunk-size nsa-decode nsa-prefill
        oltp-traces-endpoint priority-scheduling-preemption-threshold radix-eviction-policy
        remote-instance-weight-loader-seed-instance-ip remote-instance-weight-loader-seed-instance-service-port
        remote-instance-weight-loader-send-weights-group-ports schedule-low-priority-values-first
        speculative-ngram-branch-length speculative-ngram-capacity speculative-ngram-match-type
        speculative-ngram-max-bfs-breadth speculative-ngram-max-match-window-size speculative-ngram-min-bfs-breadth
        speculative-ngram-min-match-window-size tokenizer-metrics-allowed-custom-labels
        tokenizer-metrics-custom-labels-header triton-attention-split-tile-size""",
    "0.5.4": """
        abort-on-priority-when-disabled checkpoint-engine-wait-weights-before-ready
        constrained-json-disable-any-whitespace disable-tokenizer-batch-decode elastic-ep-backend enable-beta-spec
        enable-piecewise-cuda-graph grpc-mode kt-amx-method kt-amx-weight-path kt-cpuinfer kt-num-gpu-experts
        kt-threadpool-count lora-eviction-policy mamba-full-memory-ratio modelopt-checkpoint-restore-path
        modelopt-checkpoint-save-path modelopt-export-path modelopt-quant mooncake-ib-device
        multi-item-scoring-delimiter nsa-decode-backend nsa-prefill-backend pdmux-config-path
        piecewise-cuda-graph-compiler piecewise-cuda-graph-max-tokens piecewise-cuda-graph-tokens
        pp-max-micro-batch-size quantize-and-serve sampling-defaults speculative-draft-load-format""",
    "0.5.5": """
        debug-tensor-dump-layers decrypted-config-file decrypted-draft-config-file kt-max-deferred-experts-per-token
        mm-max-concurrent-calls mm-per-request-timeout otlp-traces-endpoint rl-on-policy-target
        speculative-moe-runner-backend""",
    "0.5.6": """
        dllm-algorithm dllm-block-size enable-attn-tp-input-scattered enable-broadcast-mm-inputs-process
        enable-draft-weights-cpu-backup enable-flashinfer-autotune enable-layerwise-nvtx-marker
        enable-nsa-prefill-context-parallel enable-torch-compile-debug-mode export-metrics-to-file
        export-metrics-to-file-dir fastapi-root-path forward-hooks kt-method kt-weight-path mm-enable-dp-encoder
        mm-process-config""",
    "0.5.7": """
        custom-sigquit-handler disable-flashinfer-autotune disaggregation-decode-enable-fake-auto
        dllm-algorithm-config enable-dynamic-chunking enable-fused-qk-norm-rope enable-multi-layer-eagle
        enable-precise-embedding-interpolation enable-prefix-mm-cache enable-return-routed-experts encoder-only
        encoder-transfer-backend encoder-urls fp8-gemm-backend language-only limit-mm-data-per-request
        log-requests-format mamba-scheduler-strategy mamba-track-interval pp-async-batch-depth prefill-max-requests
        remote-instance-weight-loader-backend remote-instance-weight-loader-start-seed-via-transfer-engine
        rl-quant-profile soft-watchdog-timeout speculative-draft-attention-backend
        speculative-draft-model-quantization speculative-moe-a2a-backend""",
    "0.5.8": """
        admin-api-key disable-hicache-numa-detect enable-lora-overlap-loading enable-prefill-delayer
        fp4-gemm-backend hf-chat-template-name hierarchical-sparse-attention-extra-config log-requests-target
        model-checksum nsa-prefill-cp-mode prefill-delayer-forward-passes-buckets prefill-delayer-max-delay-passes
        prefill-delayer-token-usage-low-watermark prefill-delayer-wait-seconds-buckets
        uvicorn-access-log-exclude-prefixes""",
    "0.5.9": """
        attention-context-parallel-size attn-cp-size extra-metric-labels mamba-backend moe-data-parallel-size
        moe-dp-size""",
    "0.5.10": """
        default-priority-value disable-piecewise-cuda-graph disable-priority-preemption
        enable-adaptive-dispatch-to-encoder enable-aiter-allreduce-fusion enable-elastic-expert-backup
        enable-fused-moe-sum-all-reduce enable-hisparse enable-mfu-metrics enable-mm-global-cache
        enable-prefill-context-parallel enable-ssl-refresh enable-streaming-session
        enforce-disable-flashinfer-allreduce-fusion enforce-piecewise-cuda-graph engine-info-bootstrap-port
        experts-shared-outer-loras gc-threshold hisparse-config incremental-streaming-output linear-attn-backend
        linear-attn-decode-backend linear-attn-prefill-backend modelexpress-config pre-warm-nccl prefill-cp-mode
        speculative-ngram-max-trie-depth ssl-ca-certs ssl-certfile ssl-keyfile ssl-keyfile-password
        stream-response-default-include-usage use-ray""",
    "0.5.11": """
        batch-notify-size debug-cuda-graph disaggregation-decode-enable-radix-cache elastic-ep-rejoin
        enable-breakable-cuda-graph enable-dp-attention-local-control-broadcast enable-http2 enable-mis
        enable-quant-communications enforce-shared-experts-fusion grpc-http-sidecar-port lora-strict-loading
        lora-use-virtual-experts msprobe-dump-config record-nolora-graph speculative-adaptive
        speculative-adaptive-config speculative-dflash-block-size speculative-dflash-draft-window-size
        speculative-ngram-external-corpus-max-tokens speculative-ngram-external-corpus-path
        speculative-ngram-external-sam-budget speculative-skip-dp-mlp-sync strip-thinking-cache tokenizer-backend
        weight-loader-prefetch-checkpoints weight-loader-prefetch-num-threads""",
    "0.5.12": """
        detokenizer-worker-num enable-deepep-waterfill enable-forward-pass-metrics enable-return-indexer-topk
        enable-strict-thinking forward-pass-metrics-ipc-name forward-pass-metrics-worker-id
        lora-drain-wait-threshold model-config-parser prefill-delayer-max-delay-ms prefill-delayer-queue-min-ratio
        prefill-only-disable-kv-cache speculative-draft-window-size weight-loader-drop-cache-after-load""",
    "0.5.13": """
        asr-max-buffer-seconds asr-max-concurrent-sessions deepep-dispatcher-output-dtype disable-attn-tp-gather
        dsa-decode-backend dsa-prefill-backend dsa-prefill-cp-mode dsa-topk-backend enable-deepseek-v4-fp4-indexer
        enable-dsa-prefill-context-parallel encoder-bootstrap-port encoder-register-urls kv-canary
        kv-canary-real-data kv-canary-sweep-interval lmcache-config-file load-snapshot-publish-interval
        optimistic-prefill-retries radix-cache-backend trace-modules""",
    "0.5.14": """
        cp-strategy cuda-graph-backend-decode cuda-graph-backend-prefill cuda-graph-bs-decode cuda-graph-bs-prefill
        cuda-graph-config cuda-graph-max-bs-decode cuda-graph-max-bs-prefill cuda-graph-tc-compiler
        disable-decode-cuda-graph disable-prefill-cuda-graph disaggregation-decode-extra-slots
        enable-int8-mamba-checkpoint enable-prefill-cp flashinfer-allreduce-fusion-backend int8-mamba-ckpt-size
        mamba-radix-cache-strategy speculative-use-rejection-sampling""",
    "0.5.15": """
        bf16-gemm-backend dcp-size decode-context-parallel-size decoupled-spec-bind-endpoint
        decoupled-spec-connect-endpoints decoupled-spec-rank decoupled-spec-role dsa-paged-mqa-logits-backend
        enable-linear-replayssm enable-mamba-cache-stochastic-rounding enable-page-major-kv-layout
        enable-session-radix-cache enable-tf32-matmul enable-unified-memory linear-replayssm-cache-len
        mamba-cache-philox-rounds min-free-slots-delay spec-trace-dir""",
    "0.5.16": """
        default-chat-template-kwargs dllm-fdfo elastic-ep-initial-size elastic-ep-join-mode
        elastic-ep-join-rank-offset elastic-ep-scale-timeout enable-dsa-cache-layer-split enable-flexkv
        enable-gdn-replayssm-spec enable-scattered-sconv enable-waterfill flexkv-config-file fuseep-mode grpc-port
        max-ep-size mm-feature-transport optimistic-prefill-attempts retraction-policy sidecar sidecar-args
        smg-grpc-mode smg-http-sidecar-port speculative-dspark-align-verify-tokens-to-graph-tier
        speculative-dspark-block-size speculative-dspark-confidence-sts-path speculative-dspark-sps-table-path""",
    "0.5.17": """
        dcp-comm-backend dcp-replicate-q-proj dwdp-size enable-cp-decode-attn-tp enable-linear-replayssm-spec
        flashinfer-autotune-skip-ops linear-attn-verify-backend mamba-max-states-per-path mm-io-worker-num
        mm-processor-worker-num return-hidden-states-mode stat-loggers weight-cache-mode weight-cache-socket
        weight-cache-timeout""",
    "0.5.18": """
        allowed-media-domains c128-page-size disaggregation-decode-retraction-backup enable-tp-lm-head-all-to-all
        expert-balancedness-report-mode http2-max-concurrent-streams image-processor-backend language-model-only
        media-url-max-file-size-mb mlx-enable-sampling mm-global-cache-backend mm-preprocess-cache-size-mb
        speculative-draft-kv-cache-dtype startup-weight-load-mode trust-mm-content-hashes""",
    "0.5.19": """
        deepep-v2-mode dsv4-prefill-backend enable-dense-mlp-attn-tp enable-layernorm-sp enable-lean-attention
        enable-shared-experts-attn-tp enable-w4a4-mxfp4-megamoe gated-launch-port hicache-host-memory-mode
        hicache-storage-prefetch-retry-max-attempts hicache-storage-prefetch-retry-poll-interval
        http2-initial-connection-window-size load-publish-endpoint prefill-decode-interval
        speculative-dsa-topk-backend""",
    "0.5.20": """
        dsv4-attn-backend enable-response-store enable-unified-cache-external-linker flashinfer-a2a-dispatch-type
        ple-offload-backend ple-offload-dir ple-offload-embedding radix-eviction-policy-config return-input-ids
        return-output-ids sampling-mask-max-tokens speculative-domino-candidate-pool-size
        unified-cache-external-linker-backend uno-lora-path""",
    "0.5.21": """
        boundary-reduction constrained-json-max-whitespace-cnt context-bucket cuda-graph-max-seq-len-prefill
        cuda-graph-prefill-max-context disable-aiter-allreduce-fusion-in-decode
        disable-aiter-allreduce-fusion-in-prefill disaggregation-decode-host-receive-threshold
        disaggregation-enable-kv-checksum enable-decoder-swa-bounded-replay enable-encoder-swa-bounded-replay
        enable-linker-mla-dedup enable-pd-role-switch grpc-response-timeout-secs hicache-host-memory-fraction
        otlp-service-name prefill-kv-cache-dequant-dtype shared-experts-tp-size speculative-draft-sink-size
        swa-prefix-tails trust-request-chat-template""",
    "0.5.22": """
        attention-data-parallel-size attn-dp-size disaggregation-decode-allocation-policy dsa-triton-union
        enable-dsa-fused-indexer enable-kv-cache-sharding enable-watermark qsa-indexer-dtype
        speculative-enable-w4a4-mxfp4-megamoe speculative-use-block-verification watermark-config""",
    "0.5.23": """
        enable-amd-monokernel enable-hicache enable-http-worker-reuseport enable-megamoe-for-layernorm-sp
        enable-nvidia-megakernel enable-paged-experts enable-return-aux-hidden-states monokernel-backend
        paged-experts-num-resident prefill-decode-interval-min-bs return-aux-hidden-state-layer-ids
        unified-cache-external-linker-config""",
}
"""Release -> the flags that it was the first to have."""

REMOVED: Final[dict[str, str]] = {
    "0.4.0": "additional-ports disable-regex-jump-forward efficient-weight-load enable-mla max-num-reqs",
    "0.4.3": """
        disable-disk-cache disable-flashinfer disable-flashinfer-sampling disable-nan-detection
        enable-overlap-schedule""",
    "0.4.6": "disable-jump-forward disable-mla file-storage-pth prefill-only-one-req return-hidden-states",
    "0.4.8": "enable-flashinfer-mla enable-flashmla n-share-experts-fusion",
    "0.4.10": "disable-overlap-cg-plan enable-flashinfer-moe impl",
    "0.5.2": "pdlb-url",
    "0.5.4": "debug-tensor-dump-prefill-only max-micro-batch-size nsa-decode nsa-prefill",
    "0.5.5": """
        enable-beta-spec enable-deepep-moe enable-ep-moe enable-flashinfer-cutedsl-moe enable-flashinfer-cutlass-moe
        enable-flashinfer-mxfp4-moe enable-flashinfer-trtllm-moe enable-triton-kernel-moe oltp-traces-endpoint""",
    "0.5.6": "kt-amx-method kt-amx-weight-path",
    "0.5.7": "dllm-block-size enable-flashinfer-autotune load-watch-interval",
    "0.5.9": "disaggregation-decode-enable-fake-auto",
    "0.5.10": """
        disable-hicache-numa-detect disaggregation-decode-dp disaggregation-decode-tp disaggregation-prefill-pp
        mm-max-concurrent-calls mm-per-request-timeout speculative-ngram-branch-length
        speculative-ngram-max-match-window-size speculative-ngram-min-match-window-size""",
    "0.5.11": """
        ds-channel-config-path ds-heavy-channel-num ds-heavy-channel-type ds-heavy-token-num
        ds-sparse-decode-threshold enable-double-sparsity multi-item-scoring-delimiter""",
    "0.5.13": "enable-nan-detection record-nolora-graph",
    "0.5.14": "debug-tensor-dump-inject enable-piecewise-cuda-graph hybrid-kvcache-ratio",
    "0.5.16": "enable-deepep-waterfill optimistic-prefill-retries",
    "0.5.18": "torchao-config",
    "0.5.20": """
        collect-tokens-histogram cuda-graph-bs cuda-graph-max-bs custom-sigquit-handler disable-piecewise-cuda-graph
        dsa-prefill-cp-mode enable-breakable-cuda-graph enable-dsa-prefill-context-parallel
        enable-expert-distribution-metrics enable-gdn-replayssm-spec enable-nsa-prefill-context-parallel
        enable-prefill-context-parallel enforce-piecewise-cuda-graph mamba-scheduler-strategy nsa-decode-backend
        nsa-prefill-backend nsa-prefill-cp-mode piecewise-cuda-graph-compiler piecewise-cuda-graph-max-tokens
        piecewise-cuda-graph-tokens prefill-cp-mode prefill-round-robin-balance speculative-dflash-draft-window-size
        stat-loggers stream-output""",
    "0.5.21": "elastic-ep-rejoin keep-mm-feature-on-device",
    "0.5.22": "cuda-graph-tc-compiler",
    "0.5.23": "speculative-skip-dp-mlp-sync",
}
"""Release -> the flags that it no longer takes, and refuses to start with."""
