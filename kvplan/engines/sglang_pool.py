"""SGLang's token pool: bytes -> ``#tokens`` and the lines of its log, by version.

States of recurrent layers come first: a share f / (1 + f) of the bytes (f = ``--mamba-full-memory-ratio``, 0.9).
The rest over the bytes of a token, rounded down to pages, is the pool; windows have their own, of ``0.8`` tokens for
each. Every buffer holds one page more than the log says, so that the printed GB (2^30 bytes) are those of N + page.
Source: the wheels named in ``sglang_rows``. Truth: tests/truth/sglang_logs.jsonl.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.engines import sglang_v4
from kvplan.engines.interface import KvKernel
from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes, PoolCount
from kvplan.engines.sglang_rows import (
    WINDOW_RATIO,
    Row,
    has_window_pool,
    heads_on_rank,
    is_since,
    page_tokens,
    rows_of,
    state_bytes,
)
from kvplan.errors import CannotJudge
from kvplan.units import GB, GIB

STATE_RATIO = 0.9
"""``--mamba-full-memory-ratio``: bytes set aside for recurrent states for every byte of KV."""
HICACHE_RATIO = 2.0
"""``--hicache-ratio``: host tokens for each token of the device."""
_TORCH_TYPES = {"fp8_e5m2": "float8_e5m2", "int8": "int8"}


class _Pools(NamedTuple):
    """Tokens that a pool is cut into."""

    tokens: int
    window_tokens: int
    states: int


def kv_layout(question: KvQuestion) -> KvLayout:
    """How SGLang lays out this model's KV, and what it prints for a pool of so many bytes."""
    deployment = question.deployment
    if any(item.kind == "compressed" for item in deployment.model.kv):
        return sglang_v4.kv_layout(question)
    rows, page = rows_of(question), page_tokens(deployment)
    if not rows:
        raise CannotJudge(f"{deployment.model.name} keeps states and no KV: SGLang has no pool of tokens for it")
    cell, slot = _cell_bytes(question, rows), sum(state_bytes(deployment))
    context = deployment.workload.context_tokens
    reserved = -(-context // page) * page
    return KvLayout(
        kv_cache_dtype=_dtype(question)[1],
        block_tokens=page,
        bytes_per_token=cell,
        fixed_bytes_per_sequence=slot,
        bytes_per_sequence=cell * reserved + slot,
        layers=(*(_layer(row, reserved) for row in rows), *_state_layers(deployment)),
        pool=None if question.pool_bytes is None else _pool(question, rows, cell, slot),
        notes=_notes(question, rows),
    )


def host_tokens(device_tokens: int, bytes_per_token: float, page: int, host_bytes: float | None = None) -> int:
    """Tokens of HiCache's host pool: ``--hicache-size`` (bytes of one rank) over bytes per token, else 2 x the device.

    Whole pages and one more. A fixed size is given in decimal GB.
    """
    wanted = host_bytes // bytes_per_token if host_bytes else device_tokens * HICACHE_RATIO
    return (int(wanted) // page + 1) * page


def _cell_bytes(question: KvQuestion, rows: tuple[Row, ...]) -> float:
    """Bytes that one token of ``#tokens`` is charged: all layers, windows by their ratio, drafts, FP4 workspace."""
    cell = sum(row.layers * row.charged_bytes * (WINDOW_RATIO if row.pooled else 1.0) for row in rows)
    return cell + _draft_bytes(question, rows, cell) + _workspace_bytes(question)


def _draft_bytes(question: KvQuestion, rows: tuple[Row, ...], cell: float) -> float:
    """KV of draft layers, as many bytes a layer as the model's own: EAGLE and MTP since 0.5.14."""
    deployment = question.deployment
    drafting = deployment.settings.drafting
    if drafting is None:
        return 0.0
    heads = sum(item.layers for item in deployment.model.mtp_kv if not item.index_bytes)
    known = drafting.method == "ngram" or (drafting.by_mtp and heads and not any(row.pooled for row in rows))
    if not known or _has_states(deployment):
        raise CannotJudge(f"what SGLang sets aside to draft with {drafting.method} here is not modelled")
    if drafting.method == "ngram" or not is_since(deployment, "0.5.14"):
        return 0.0
    attending = [row for row in rows if row.kind != "indexer"]
    indices = [row for row in rows if row.kind == "indexer"] if is_since(deployment, "0.5.18") else []
    index_bytes = sum(row.layers * row.charged_bytes for row in indices)
    drafts = int((cell - index_bytes) * heads / sum(row.layers for row in attending))
    return drafts + sum(row.charged_bytes * heads for row in indices)


def _workspace_bytes(question: KvQuestion) -> float:
    """FP4 keys and values are widened to FP8 for prefill, in a buffer of all tokens that the layers share."""
    deployment, kernel = question.deployment, question.kernel
    if kernel is None or not kernel.flag.startswith("fp4") or not is_since(deployment, "0.5.18"):
        return 0.0
    item = deployment.model.kv[0]
    return 0.0 if item.latent else 2.0 * heads_on_rank(item, deployment.layout) * item.key_elements


def _has_states(deployment: Deployment) -> bool:
    return any(item.state is not None for item in deployment.model.kv)


def _cut(question: KvQuestion, rows: tuple[Row, ...], cell: float, slot: float) -> _Pools:
    """States first, then tokens in whole pages."""
    deployment, page = question.deployment, page_tokens(question.deployment)
    left, states = float(question.pool_bytes or 0.0), 0
    if slot:
        states, left = _states(deployment, left, slot)
    if has_window_pool(deployment):
        left = _as_charged_flat(deployment, rows, left)
    tokens = int(left // cell) // page * page
    windows = int(tokens * WINDOW_RATIO) // page * page if has_window_pool(deployment) else 0
    return _Pools(tokens, windows, states)


def _as_charged_flat(deployment: Deployment, rows: tuple[Row, ...], left: float) -> float:
    """Before 0.5.11 tokens were counted as if every layer kept all of them, and only then spread by the ratio."""
    if is_since(deployment, "0.5.11"):
        return left
    flat = sum(row.layers * row.charged_bytes for row in rows)
    return left // flat * flat


def _states(deployment: Deployment, left: float, slot: float) -> tuple[int, float]:
    """(slots, bytes that they leave). Since 0.5.17 the slot of padding is charged as well."""
    if not is_since(deployment, "0.5.4"):
        raise CannotJudge(f"SGLang {deployment.engine.version} has no ratio between states and KV", help="since 0.5.4")
    padding = 1 if is_since(deployment, "0.5.17") else 0
    budget = left * STATE_RATIO / (1.0 + STATE_RATIO)
    slots = int((budget - padding * slot) // slot)
    return slots, left - (slots + padding) * slot


def _pool(question: KvQuestion, rows: tuple[Row, ...], cell: float, slot: float) -> PoolCount:
    pools, page = _cut(question, rows, cell, slot), page_tokens(question.deployment)
    if pools.tokens <= 0:
        raise CannotJudge("SGLang would not start: the pool holds not one page of tokens")
    lines = _state_lines(question.deployment, pools.states) if slot else []
    main = _allocated(question, [row for row in rows if not row.pooled], pools.tokens, "Full ")
    if any(row.pooled for row in rows):
        windows = _allocated(question, [row for row in rows if row.pooled], pools.window_tokens, "SWA ")
        lines.append(f"Use sliding window memory pool. full_layer_tokens={pools.tokens},"
                     f" swa_layer_tokens={pools.window_tokens}")  # fmt: skip
        lines += [main, windows] if is_since(question.deployment, "0.5.17") else [windows, main]
    else:
        lines.append(main)
    return PoolCount(pools.tokens // page, pools.tokens, None, "\n".join(lines))


def _allocated(question: KvQuestion, rows: list[Row], tokens: int, label: str) -> str:
    """The line of one pool. Sizes are in units of 2^30 bytes, of the tokens and one page of padding."""
    deployment = question.deployment
    buffered = tokens + page_tokens(deployment)
    keys, values = (
        sum(row.layers * one for row, one in zip(rows, found, strict=True)) * buffered / GIB
        for found in ([row.key_bytes for row in rows], [row.value_bytes for row in rows])
    )
    name = label if is_since(deployment, "0.5.17") and has_window_pool(deployment) else ""
    kind = f" dtype: {_dtype(question)[0]}," if is_since(deployment, "0.5.13") else ""
    count = f" #tokens: {tokens}," if is_since(deployment, "0.4.6") else ""
    sizes_text = f"K size: {keys:.2f} GB, V size: {values:.2f} GB" if values else f"KV size: {keys:.2f} GB"
    return f"{name}KV Cache is allocated.{kind}{count} {sizes_text}"


def _state_lines(deployment: Deployment, states: int) -> list[str]:
    """One slot more than is counted takes what padded tokens write."""
    conv, recurrent = ((states + 1) * one / GIB for one in state_bytes(deployment))
    return [f"Mamba Cache is allocated. max_mamba_cache_size: {states}, conv_state size: {conv:.2f}GB,"
            f" ssm_state size: {recurrent:.2f}GB "]  # fmt: skip


def _layer(row: Row, reserved: int) -> LayerBytes:
    share = WINDOW_RATIO if row.pooled else 1.0
    one = row.layers * row.stored_bytes
    return LayerBytes(row.kind, row.layers, one, row.window_tokens, one * reserved * share)


def _state_layers(deployment: Deployment) -> tuple[LayerBytes, ...]:
    found = []
    for item in deployment.model.kv:
        if item.state is not None:
            alone = deployment._replace(model=deployment.model._replace(kv=(item,)))
            layers = -(-item.layers // deployment.layout.pp)
            found.append(LayerBytes(item.kind, layers, 0.0, None, sum(state_bytes(alone))))
    return tuple(found)


def _dtype(question: KvQuestion) -> tuple[str, str]:
    """(as torch writes the type, as ``--kv-cache-dtype`` does)."""
    kernel: KvKernel | None = question.kernel
    if kernel is None:
        wide = question.deployment.model.dtype == "fp16"
        return ("torch.float16", "fp16") if wide else ("torch.bfloat16", "bf16")
    if kernel.flag.startswith("fp4"):
        return "torch.float4_e2m1fn_x2", kernel.flag
    asked = (question.deployment.settings.kv_cache_dtype or "").lower()
    flag = asked if asked in _TORCH_TYPES else kernel.flag
    return f"torch.{_TORCH_TYPES.get(flag, 'float8_e4m3fn')}", flag


def _notes(question: KvQuestion, rows: tuple[Row, ...]) -> tuple[str, ...]:
    deployment, found = question.deployment, []
    if deployment.host.gpu is None and page_tokens(deployment) == 1:
        found.append("pages of one token; on B200 and B300 the attention backend rounds #tokens down to 64")
    if any(row.pooled for row in rows):
        found.append(f"windows have a pool of their own: --swa-full-tokens-ratio {WINDOW_RATIO:g} tokens for each")
    if any(row.charged_bytes < row.stored_bytes for row in rows):
        found.append("before 0.5.17 SGLang sized this FP8 pool by 576 bytes a token and layer and stored 656 of them")
    if any(row.kind == "indexer" for row in rows) and any(row.value_bytes for row in rows):
        found.append("not calibrated: the line counts index keys with K; SGLang prints their pool apart")
    if any(row.kind == "shared" for row in rows):
        found.append("SGLang gives layers that share the KV of others a buffer all the same")
    if deployment.layout.tp > 1 and any(item.kind == "mamba2" for item in deployment.model.kv):
        found.append("not calibrated: Mamba-2 groups that --tp does not divide")
    host_bytes = deployment.settings.kv_offloading_bytes
    if host_bytes is not None:
        rank_bytes = host_bytes / (deployment.layout.tp * deployment.layout.pp)
        stored = sum(row.layers * row.stored_bytes for row in rows)
        tokens = host_tokens(0, stored, page_tokens(deployment), rank_bytes)
        found.append(f"--hicache-size {rank_bytes / GB:g} (GB a rank) holds {tokens:,} tokens in host memory")
    return tuple(found)
