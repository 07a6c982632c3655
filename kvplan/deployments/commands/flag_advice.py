"""What to write instead of flags that are gone, and defaults that are other ones since a release."""

from __future__ import annotations

from typing import Final, NamedTuple

INSTEAD: Final[dict[str, dict[str, str]]] = {
    "vllm": {
        "swap-space": "take it out: V1 recomputes what it preempts; --kv-offloading-size keeps KV in host memory",
        "preemption-mode": "take it out: V1 always recomputes",
        "num-scheduler-steps": "take it out: there are no multi-step passes any more",
        "multi-step-stream-outputs": "take it out: there are no multi-step passes any more",
        "scheduler-delay-factor": "take it out: chunked prefill does not wait",
        "num-lookahead-slots": "take it out: speculation reserves its own",
        "use-v2-block-manager": "take it out: there is no other",
        "speculative-model": '--speculative-config \'{"model": ..., "num_speculative_tokens": N}\'',
        "num-speculative-tokens": "num_speculative_tokens in --speculative-config",
        "speculative-max-model-len": "max_model_len in --speculative-config",
        "speculative-draft-tensor-parallel-size": "draft_tensor_parallel_size in --speculative-config",
        "speculative-model-quantization": "quantization in --speculative-config",
        "ngram-prompt-lookup-max": "prompt_lookup_max in --speculative-config",
        "ngram-prompt-lookup-min": "prompt_lookup_min in --speculative-config",
        "rope-scaling": "rope_scaling in --hf-overrides",
        "rope-theta": "rope_theta in --hf-overrides",
        "max-seq-len-to-capture": "--max-cudagraph-capture-size",
        "max-context-len-to-capture": "--max-cudagraph-capture-size",
        "cuda-graph-sizes": "--cudagraph-capture-sizes",
        "device": "take it out: it is found by itself",
        "task": "--runner and --convert",
        "disable-log-requests": "take it out: requests are not logged unless --enable-log-requests",
        "enable-reasoning": "--reasoning-parser alone",
        "guided-decoding-backend": "backend in --structured-outputs-config",
        "override-pooler-config": "--pooler-config",
        "worker-use-ray": "--distributed-executor-backend ray",
        "engine-use-ray": "--distributed-executor-backend ray",
        "disable-mm-preprocessor-cache": "--mm-processor-cache-gb 0",
        "enable-multimodal-encoder-data-parallel": "--mm-encoder-tp-mode data",
        "num-redundant-experts": "num_redundant_experts in --eplb-config",
        "eplb-window-size": "window_size in --eplb-config",
        "eplb-step-interval": "step_interval in --eplb-config",
        "calculate-kv-scales": "take it out: scales come with the checkpoint",
    },
    "sglang": {
        "cuda-graph-bs": "--cuda-graph-bs-decode",
        "cuda-graph-max-bs": "--cuda-graph-max-bs-decode",
        "piecewise-cuda-graph-max-tokens": "--cuda-graph-max-bs-prefill",
        "disable-piecewise-cuda-graph": "--cuda-graph-backend-prefill=disabled",
        "enable-ep-moe": "--ep-size",
        "enable-deepep-moe": "--moe-a2a-backend deepep",
        "enable-flashinfer-mla": "--attention-backend flashinfer",
        "enable-flashmla": "--attention-backend flashmla",
        "disable-flashinfer": "--attention-backend triton",
        "nsa-prefill-backend": "--dsa-prefill-backend",
        "nsa-decode-backend": "--dsa-decode-backend",
        "hybrid-kvcache-ratio": "--swa-full-tokens-ratio",
        "mamba-scheduler-strategy": "--mamba-radix-cache-strategy",
        "stream-output": "--incremental-streaming-output",
        "max-num-reqs": "--max-running-requests",
        "torchao-config": "--quantization",
    },
}
"""Engine -> flag that is gone -> what to write instead, as the engine's own deprecation messages have it."""


class ChangedDefault(NamedTuple):
    """A default that is another one since a release."""

    engine: str
    setting: str
    since: str
    before: str
    after: str
    source: str


CHANGED_DEFAULTS: Final = (
    ChangedDefault("vllm", "gpu_memory_utilization", "0.20", "0.9", "0.92", "CacheConfig, vLLM 0.19.1 and 0.20.0"),
    ChangedDefault("vllm", "enforce_eager", "0.20", "CUDA graphs come on top of the utilization",
                   "CUDA graphs are inside it", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, vLLM 0.19.1 and 0.20.0"),
    ChangedDefault("vllm", "kv_offloading_backend", "0.23", "lmcache: each rank holds its share of the size",
                   "lmcache: a server of its own holds it, --kv-offloading-size counts for nothing",
                   "VllmConfig, vLLM 0.22.1 and 0.23.0"),
    ChangedDefault("vllm", "kv_transfer_config", "0.23", "any connector turns the hybrid KV manager off",
                   "only a connector without support for it does", "VllmConfig, vLLM 0.22.1 and 0.23.0"),
)  # fmt: skip
