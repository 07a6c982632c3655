"""mlx-lm's caches: no pool, arrays that grow 256 tokens at a time.

Sliding layers of families with a rotating cache hold their window; elsewhere they keep every token. While a prompt is
read, a rotating cache holds a chunk of it as well. Source: mlx-lm 0.32, models/cache.py.
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.kv_format import NATIVE_16_BIT
from kvplan.domain.model import KvLayers
from kvplan.engines.interface import StateBytes
from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes
from kvplan.errors import CannotJudge

STEP_TOKENS = 256
STATE_BYTES = StateBytes(2.0, 4.0)
_PLAIN = {"full", "sliding", "chunked", "mla", "shared", "mamba1", "mamba2", "gdn", "kda", "conv", "lightning"}


def kv_layout(question: KvQuestion, frees_windows: bool) -> KvLayout:
    """What one sequence takes. CannotJudge where a pool is asked for: nothing is reserved, and no line is printed."""
    deployment = question.deployment
    unknown = sorted({item.kind for item in deployment.model.kv} - _PLAIN)
    if unknown:
        raise CannotJudge(f"how mlx-lm stores {', '.join(unknown)} layers of {deployment.model.name} is not modelled")
    if question.pool_bytes is not None:
        raise CannotJudge("mlx-lm reserves no pool of KV, and prints none",
                          help="leave out --pool-gib: the bytes of a sequence are shown")  # fmt: skip
    layers = tuple(_layer(item, question, frees_windows) for item in deployment.model.kv if _keeps(item))
    growing = [row for row in layers if row.bytes_per_token and row.window_tokens is None]
    every = sum(row.bytes_per_sequence for row in layers)
    return KvLayout(
        kv_cache_dtype="bf16" if question.kernel is None else question.kernel.format.name,
        block_tokens=STEP_TOKENS,
        bytes_per_token=sum(row.bytes_per_token for row in growing),
        fixed_bytes_per_sequence=every - sum(row.bytes_per_sequence for row in growing),
        bytes_per_sequence=every,
        layers=layers,
        pool=None,
        notes=_notes(deployment, layers),
    )


def _keeps(item: KvLayers) -> bool:
    return item.state is not None or bool(item.kv_heads)


def _layer(item: KvLayers, question: KvQuestion, frees_windows: bool) -> LayerBytes:
    if item.state is not None:
        one = item.state.conv_elements * STATE_BYTES.conv + item.state.recurrent_elements * STATE_BYTES.recurrent
        return LayerBytes(item.kind, item.layers, 0.0, None, item.layers * one)
    stored = NATIVE_16_BIT if question.kernel is None else question.kernel.format
    token = item.layers * stored.bytes_of(item.elements_per_token, item.vectors_per_token)
    steps = -(-question.deployment.workload.context_tokens // STEP_TOKENS) * STEP_TOKENS
    window = item.window_tokens if frees_windows else None
    return LayerBytes(item.kind, item.layers, token, window, token * (steps if window is None else min(window, steps)))


def _notes(deployment: Deployment, layers: tuple[LayerBytes, ...]) -> tuple[str, ...]:
    found = ["requests that decode together are padded to the longest of them"]
    if any(row.window_tokens for row in layers):
        found.append("while a prompt is read, a rotating cache holds its chunk (2048 tokens) beside the window")
    if any(item.window_tokens for item in deployment.model.kv) and not any(row.window_tokens for row in layers):
        found.append(f"mlx-lm has no rotating cache for {deployment.model.model_type}: windows keep every token")
    return tuple(found)
