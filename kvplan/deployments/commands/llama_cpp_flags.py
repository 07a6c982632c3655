"""llama-server's arguments as data: long names, short ones, aliases, and the environment variables of each.

Source: the generated table of tools/server/README.md of llama.cpp, builds of 2025 and 2026; older spellings from the
same table of earlier builds. An argument needs its whole name (no abbreviations), underscores stand for dashes.
"""

from __future__ import annotations

from typing import Final

from kvplan.deployments.flag_table import FlagTable

SETTINGS: Final[dict[str, str]] = {
    "model": "model_file",
    "hf-repo": "hf_repo",
    "hf-file": "hf_file",
    "docker-repo": "docker_repo",
    "model-url": "model_url",
    "ctx-size": "ctx_size",
    "parallel": "parallel",
    "kv-unified": "kv_unified",
    "kv-unified-per-slot": "kv_unified_per_slot",
    "batch-size": "batch_size_tokens",
    "ubatch-size": "ubatch_tokens",
    "cache-type-k": "cache_type_k",
    "cache-type-v": "cache_type_v",
    "flash-attn": "flash_attention",
    "gpu-layers": "n_gpu_layers",
    "kv-offload": "kv_offload",
    "swa-full": "swa_full",
    "cache-ram": "cache_ram_mib",
    "cache-prompt": "cache_prompt",
    "ctx-checkpoints": "ctx_checkpoints",
    "fit": "fit",
    "fit-target": "fit_target_mib",
    "fit-ctx": "fit_ctx",
    "override-tensor": "override_tensor",
    "cpu-moe": "cpu_moe",
    "n-cpu-moe": "n_cpu_moe",
    "moe-cache-mib": "moe_cache_mib",
    "n-cpu-ffn": "n_cpu_ffn",
    "split-mode": "split_mode",
    "tensor-split": "tensor_split",
    "main-gpu": "main_gpu",
    "device": "device",
    "rpc": "rpc",
    "mlock": "mlock",
    "mmap": "mmap",
    "load-mode": "load_mode",
    "threads": "threads",
    "threads-batch": "threads_batch",
    "mmproj": "mmproj",
    "mmproj-offload": "mmproj_offload",
    "rope-scaling": "rope_scaling",
    "lora": "lora",
    "models-preset": "models_preset",
    "models-dir": "models_dir",
    "models-max": "models_max",
    "embeddings": "embeddings",
    "spec-type": "spec_type",
    "model-draft": "draft_model",
    "hf-repo-draft": "draft_model",
    "draft-max": "draft_tokens",
    "ctx-size-draft": "draft_ctx_size",
    "gpu-layers-draft": "draft_n_gpu_layers",
    "cache-type-k-draft": "draft_cache_type_k",
    "cache-type-v-draft": "draft_cache_type_v",
}
"""Argument -> the setting that it fills."""

ALIASES: Final[dict[str, str]] = {
    "n-gpu-layers": "gpu-layers", "n-parallel": "parallel", "embedding": "embeddings",
    "swa-checkpoints": "ctx-checkpoints", "spec-draft-model": "model-draft", "spec-draft-hf": "hf-repo-draft",
    "spec-draft-n-max": "draft-max", "draft": "draft-max", "draft-n": "draft-max", "spec-draft-n": "draft-max",
    "spec-draft-ctx-size": "ctx-size-draft", "spec-draft-ngl": "gpu-layers-draft",
    "n-gpu-layers-draft": "gpu-layers-draft", "spec-draft-n-gpu-layers": "gpu-layers-draft",
    "spec-draft-type-k": "cache-type-k-draft", "spec-draft-type-v": "cache-type-v-draft",
    "spec-draft-gpu-layers": "gpu-layers-draft", "draft-n-max": "draft-max",
}  # fmt: skip
"""Other long names of the same argument."""

SHORT: Final[dict[str, str]] = {
    "m": "model", "hf": "hf-repo", "hfr": "hf-repo", "hff": "hf-file", "dr": "docker-repo", "mu": "model-url",
    "c": "ctx-size", "np": "parallel", "kvu": "kv-unified", "b": "batch-size", "ub": "ubatch-size",
    "ctk": "cache-type-k", "ctv": "cache-type-v", "fa": "flash-attn", "ngl": "gpu-layers", "kvo": "kv-offload",
    "nkvo": "no-kv-offload", "cram": "cache-ram", "ctxcp": "ctx-checkpoints", "fit": "fit", "fitt": "fit-target",
    "fitc": "fit-ctx", "ot": "override-tensor", "cmoe": "cpu-moe", "ncmoe": "n-cpu-moe", "ncffn": "n-cpu-ffn",
    "sm": "split-mode", "ts": "tensor-split", "mg": "main-gpu", "dev": "device", "t": "threads",
    "tb": "threads-batch", "mm": "mmproj", "lm": "load-mode", "md": "model-draft", "hfd": "hf-repo-draft",
    "hfrd": "hf-repo-draft", "cd": "ctx-size-draft", "ngld": "gpu-layers-draft", "ctkd": "cache-type-k-draft",
    "ctvd": "cache-type-v-draft", "no-kvu": "no-kv-unified", "cb": "cont-batching", "nocb": "no-cont-batching",
    "n": "predict", "a": "alias", "s": "seed", "v": "verbose", "lv": "verbosity", "to": "timeout", "e": "escape",
    "r": "reverse-prompt", "sp": "special", "sps": "slot-prompt-similarity", "p": "prompt", "f": "file",
    "C": "cpu-mask", "Cr": "cpu-range", "Cb": "cpu-mask-batch", "Crb": "cpu-range-batch", "nr": "no-repack",
    "dt": "defrag-thold", "dio": "direct-io", "ndio": "no-direct-io", "mmu": "mmproj-url", "mmdev": "mmproj-device",
    "hft": "hf-token",
    "cl": "cache-list",
    "rea": "reasoning", "lzm": "lazy-mode", "ag": "agent", "no-ag": "no-agent",
    "l": "logit-bias",
    "j": "json-schema", "jf": "json-schema-file", "td": "threads-draft", "tbd": "threads-batch-draft",
    "devd": "device-draft", "cmoed": "cpu-moe-draft", "ncmoed": "n-cpu-moe-draft", "otd": "override-tensor-draft",
    "h": "help", "lcs": "lookup-cache-static", "lcd": "lookup-cache-dynamic", "gan": "grp-attn-n",
    "gaw": "grp-attn-w", "cnv": "conversation", "no-cnv": "no-conversation", "st": "single-turn", "i": "interactive",
}  # fmt: skip
"""What stands behind a single dash -> the long name."""

SWITCHES: Final = frozenset(
    """kv-unified kv-offload swa-full cpu-moe mlock mmap cache-prompt mmproj-offload embeddings cont-batching
    context-shift warmup metrics props slots jinja ui webui reranking rerank escape perf repack op-offload verbose
    log-verbose log-disable log-prefix log-timestamps log-jsonl offline special spm-infill ignore-eos reuse-port
    cors-credentials mmproj-auto models-autoload cache-idle-slots reasoning-preserve prefill-assistant
    skip-chat-parsing lora-init-without-apply check-tensors list-devices version help cache-list agent ui-mcp-proxy
    webui-mcp-proxy cpu-moe-draft conversation single-turn interactive display-prompt spec-default
    completion-bash simple-io no-host dump-kv-cache backend-sampling direct-io""".split()
)
"""Arguments without a value; most may also be written ``--no-...``."""

OTHERS: Final = frozenset(
    """host port path api-prefix api-key api-key-file ssl-key-file ssl-cert-file chat-template chat-template-file
    chat-template-kwargs reasoning-format reasoning reasoning-budget reasoning-budget-message reasoning-effort temp
    temperature top-k top-p min-p top-nsigma top-n-sigma xtc-probability xtc-threshold typical typical-p
    repeat-last-n repeat-penalty presence-penalty frequency-penalty dry-multiplier dry-base dry-allowed-length
    dry-penalty-last-n dry-sequence-breaker dynatemp-range dynatemp-exp mirostat mirostat-lr mirostat-ent samplers
    sampler-seq sampling-seq seed predict n-predict keep alias tags timeout threads-http cache-reuse slot-save-path
    media-path slot-prompt-similarity pooling embd-normalize rope-scale rope-freq-base rope-freq-scale yarn-orig-ctx
    yarn-ext-factor yarn-attn-factor yarn-beta-slow yarn-beta-fast numa prio poll cpu-mask cpu-range cpu-strict
    cpu-mask-batch cpu-range-batch cpu-strict-batch prio-batch poll-batch override-kv lora-scaled control-vector
    control-vector-scaled control-vector-layer-range log-file log-colors verbosity log-verbosity hf-token defrag-thold
    mmproj-url mmproj-device image-min-tokens image-max-tokens grammar grammar-file json-schema json-schema-file
    logit-bias reverse-prompt prompt file draft-min draft-n-min spec-draft-n-min draft-p-min spec-draft-p-min
    draft-p-split spec-draft-p-split device-draft spec-draft-device threads-draft threads-batch-draft
    n-cpu-moe-draft override-tensor-draft lookup-cache-static lookup-cache-dynamic grp-attn-n grp-attn-w cors-origins
    cors-methods cors-headers ui-config webui-config ui-config-file webui-config-file tools tools-runtime lazy-mode
    sleep-idle-seconds sse-ping-interval checkpoint-every-n-tokens log-prompts-dir adaptive-target adaptive-decay
    mcp-servers-config mcp-servers-json spec-draft-replace spec-ngram-size-n spec-ngram-size-m
    spec-ngram-min-hits mtmd-batch-max-tokens video-fps""".split()
)
"""Arguments with one value that change no memory, or not in a way that kvplan models."""

PRESET_ONLY: Final = frozenset({"load-on-startup", "stop-timeout"})
"""Keys of a preset file that are no arguments."""

TABLE: Final = FlagTable(
    {**SETTINGS, **{alias: SETTINGS[flag] for alias, flag in ALIASES.items()}},
    SHORT, SWITCHES, others=OTHERS, prefixes=False,
)  # fmt: skip

VARIABLES: Final[dict[str, str]] = {
    **{"LLAMA_ARG_" + flag.upper().replace("-", "_"): flag for flag in (*SETTINGS, *ALIASES)},
    "LLAMA_ARG_N_PARALLEL": "parallel",
    "LLAMA_ARG_BATCH": "batch-size",
    "LLAMA_ARG_UBATCH": "ubatch-size",
    "LLAMA_ARG_N_GPU_LAYERS": "gpu-layers",
    "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K": "cache-type-k-draft",
    "LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V": "cache-type-v-draft",
    "LLAMA_ARG_SPEC_DRAFT_HF_REPO": "hf-repo-draft",
    "LLAMA_ARG_DRAFT_MAX": "draft-max",
}
"""Environment variable -> the argument that it stands for. ``LLAMA_ARG_NO_...`` of a switch turns it off."""
