"""What SGLang stores for a token in each kind of layer on one GPU, and which of its rules a version has.

Rules and versions were read in the wheels of SGLang 0.4.1 to 0.5.23 (``pool_configurator.py``, before 0.5.11
``model_runner*.py``; ``memory_pool.py``; ``model_config.py: is_hybrid_swa_model``).
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.deployment import Deployment, Layout
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import KvLayers
from kvplan.engines.interface import KvKernel, StateBytes
from kvplan.engines.kv_layout import KvQuestion
from kvplan.engines.versions import release
from kvplan.errors import CannotJudge

WINDOW_RATIO = 0.8
"""``--swa-full-tokens-ratio``: tokens of the window pool for each token of the full one."""
STATE_BYTES = StateBytes(2.0, 4.0)
"""SGLANG_MAMBA_CONV_DTYPE is bfloat16 and SGLANG_MAMBA_SSM_DTYPE float32, whatever the model's own type."""
DSA_ROW_BYTES = 656.0
"""512 FP8 elements, four 32-bit scales and 64 rotary elements in 16 bits."""

_WINDOW_POOLS_SINCE = {
    "llama4": "0.5.8", "gpt_oss": "0.5.8", "mimo_v2": "0.5.8", "step3p5": "0.5.9", "gemma4": "0.5.11",
    "deepseek_v4": "0.5.12", "step3p7": "0.5.13",
}  # fmt: skip
"""Model types whose windows have a pool of their own; variants (``gemma4_text``) begin the same way."""
_EQUAL_TOKENS = (("mimo_v2", (0, 5, 7)), ("", (0, 4, 10)))
"""Where windows were pooled by layer counts, whatever the bytes of a layer: not modelled."""
_PLAIN = {"full", "sliding", "chunked", "mla", "indexer", "shared", "mamba2", "gdn", "kda", "conv"}
_DENSE_GPU = ("blackwell_dc",)


class Row(NamedTuple):
    """Layers of one kind that store tokens alike, on the fullest stage of the pipeline. Bytes are per layer."""

    kind: str
    layers: int
    key_bytes: float
    value_bytes: float
    """0 where one row is key and value at once."""
    charged_bytes: float
    """What the sizing counts for a token; the pool may take more."""
    window_tokens: int | None
    pooled: bool
    """It lies in the pool of windows."""

    @property
    def stored_bytes(self) -> float:
        return self.key_bytes + self.value_bytes


def is_since(deployment: Deployment, version: str) -> bool:
    """Whether the engine of this deployment is of that version or later."""
    return release(deployment.engine.version) >= release(version)


def has_window_pool(deployment: Deployment) -> bool:
    """Whether sliding layers have a pool of their own; all their tokens are kept otherwise."""
    kind = deployment.model.model_type
    if not any(item.window_tokens for item in deployment.model.kv):
        return False
    return any(kind.startswith(name) and is_since(deployment, since) for name, since in _WINDOW_POOLS_SINCE.items())


def page_tokens(deployment: Deployment) -> int:
    """``--page-size``: as given, else what the attention backend asks for, 1 where it asks for nothing.

    DeepSeek's sparse attention wants 64 (1 on ROCm), DeepSeek-V4 256, the TRT-LLM backends of B200 and B300 64.
    """
    gpu_class = "" if deployment.host.gpu is None else deployment.host.gpu.kernel_class or ""
    kinds = {item.kind for item in deployment.model.kv}
    if deployment.settings.block_size is not None:
        return deployment.settings.block_size
    if "compressed" in kinds:
        return 256
    if {"mla", "indexer"} <= kinds:
        return 1 if gpu_class.startswith("cdna") else 64
    return 64 if gpu_class in _DENSE_GPU and is_since(deployment, "0.5.5") else 1


def rows_of(question: KvQuestion) -> tuple[Row, ...]:
    """Every kind of layer that keeps tokens. CannotJudge for a kind whose pool is not modelled."""
    deployment = question.deployment
    refuse_unknown(deployment)
    pooled = has_window_pool(deployment)
    found = []
    for item in deployment.model.kv:
        if item.state is not None or item.sequence_tokens is not None:
            continue
        source = _source(item, deployment.model.kv) if item.kind == "shared" else item
        stage_layers = -(-_pool_layers(item, deployment) // deployment.layout.pp)
        key, value, charged = _token_bytes(source, question)
        in_window = pooled and bool(item.window_tokens)
        found.append(Row(item.kind, stage_layers, key, value, charged, item.window_tokens, in_window))
    widths = {(row.key_bytes, row.value_bytes) for row in found if row.kind not in ("mla", "indexer")}
    if not pooled and len(widths) > 1:
        raise CannotJudge(f"SGLang {deployment.engine.version} has one pool for layers of {deployment.model.name}"
                          " that store different bytes: which it counts is not modelled")  # fmt: skip
    return tuple(found)


def refuse_unknown(deployment: Deployment) -> None:
    """CannotJudge for layers and layouts that no rule here covers."""
    model, name = deployment.model, f"SGLang {deployment.engine.version}"
    version, windows = release(deployment.engine.version)[:3], any(item.window_tokens for item in model.kv)
    if windows and any(model.model_type.startswith(kind) and version == at for kind, at in _EQUAL_TOKENS):
        raise CannotJudge(f"how {name} sized the window pool of {model.name} is not modelled")
    unknown = sorted({item.kind for item in model.kv} - _PLAIN)
    if unknown:
        raise CannotJudge(f"how {name} stores {', '.join(unknown)} layers of {model.name} is not modelled")
    if model.model_type == "nemotron-nas":
        raise CannotJudge(f"how {name} counts the skipped attention layers of {model.name} is not modelled")
    if deployment.layout.dcp > 1:
        raise CannotJudge(f"how {name} counts tokens under --dcp-size is not modelled")
    if any(item.kind == "indexer" for item in model.kv):
        since = "0.5.4" if any(item.latent for item in model.kv) else "0.5.15"
        if not is_since(deployment, since):
            raise CannotJudge(f"{name} has no modelled pool for the sparse attention of {model.name}",
                              help=f"modelled from {since} on")  # fmt: skip


def heads_on_rank(item: KvLayers, layout: Layout) -> int:
    """KV heads of a tensor-parallel rank: a whole latent, a share of the heads, at least one."""
    return item.kv_heads if item.replicated else max(1, item.kv_heads // layout.tp)


def state_bytes(deployment: Deployment) -> tuple[float, float]:
    """Bytes of one slot of all recurrent layers of a stage on one rank: (convolution windows, states)."""
    conv = recurrent = 0.0
    for item in deployment.model.kv:
        if item.state is None:
            continue
        share = heads_on_rank(item, deployment.layout) / item.kv_heads * -(-item.layers // deployment.layout.pp)
        conv += item.state.conv_elements * STATE_BYTES.conv * share
        recurrent += item.state.recurrent_elements * STATE_BYTES.recurrent * share
    return conv, recurrent


def _source(item: KvLayers, every: tuple[KvLayers, ...]) -> KvLayers:
    """The layers whose KV shared ones read. SGLang sizes its pools by all layers, shared ones too."""
    keeping = (other for other in every if other.kv_heads and not other.index_bytes)
    return next(other for other in keeping if bool(other.window_tokens) == bool(item.window_tokens))


def _pool_layers(item: KvLayers, deployment: Deployment) -> int:
    """Layers that get a buffer: before 0.5.18 every latent has an index beside it, read or not."""
    if item.kind == "indexer" and item.index_bytes and not is_since(deployment, "0.5.18"):
        return sum(other.layers for other in deployment.model.kv if other.latent)
    return item.layers


def _token_bytes(item: KvLayers, question: KvQuestion) -> tuple[float, float, float]:
    """(key, value, charged) bytes of one token in one layer on one rank."""
    deployment, kernel = question.deployment, question.kernel
    if item.index_bytes:
        return float(item.index_bytes), 0.0, float(item.index_bytes)
    if item.kind == "indexer" and kernel is not None:
        raise CannotJudge(f"the type of index keys beside a {kernel.flag} cache is not modelled for SGLang")
    if item.kind == "mla" and is_fp8(kernel) and item.read_tokens:
        _refuse_raw_rows(deployment)
        return DSA_ROW_BYTES, 0.0, DSA_ROW_BYTES if is_since(deployment, "0.5.17") else float(item.key_elements)
    stored = KvFormat("bf16", 2.0) if kernel is None else kernel.format
    heads = heads_on_rank(item, deployment.layout)
    key = stored.bytes_of(heads * item.key_elements, heads)
    value = stored.bytes_of(heads * item.value_elements, heads if item.value_elements else 0)
    return key, value, key + value


def is_fp8(kernel: KvKernel | None) -> bool:
    return kernel is not None and kernel.flag.startswith("fp8")


def _refuse_raw_rows(deployment: Deployment) -> None:
    """TRT-LLM's kernels (B200) and ROCm's read rows of 576 bytes; which backend runs is not known here."""
    gpu = deployment.host.gpu
    if gpu is not None and (gpu.kernel_class or "").startswith(("blackwell", "cdna")):
        raise CannotJudge(f"whether SGLang stores 656 or 576 bytes a token on {gpu.name} depends on its DSA backend")
