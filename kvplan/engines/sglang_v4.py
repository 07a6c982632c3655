"""SGLang's pools for DeepSeek-V4: a window, compressed entries, index keys and compressor states, by version.

All are counted in bytes of one *full token*: the window and the states of ratio 4 by the share of the window pool
(0.1 by default), an entry for each 4 or 128 tokens, an index key for each 4. Until 0.5.14 the states of ratio 128
grew with tokens too; since 0.5.15 (#28612) they are set aside for each request before. 0.5.12 counted the MTP entry
of ``compress_ratios`` as a layer. Since 0.5.21 pages are padded to 576 bytes and states counted by page, not window.
Source: ``DSV4PoolConfigurator`` in the wheels of 0.5.12 to 0.5.23. Truth: tests/truth/sglang_logs.jsonl.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from kvplan.domain.deployment import Deployment
from kvplan.domain.model import KvLayers
from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes, PoolCount
from kvplan.engines.versions import release
from kvplan.errors import CannotJudge
from kvplan.units import GIB

_PAGE, _WINDOW, _RATIO = 256, 128, 0.1
_ROW_BYTES, _PAGE_ALIGN = 584.0, 576
"""448 FP8 elements, 64 rotary ones in 16 bits, 8 bytes of scales; pages are whole multiples of 576 bytes."""
_SPARSE, _DENSE = 4, 128
_STATE_BYTES = 4.0
_EVICTION_TOKENS = 128
_KEPT_PREFIXES = 4
"""Windows of finished prefixes that stay addressable for each running request."""


class Costs(NamedTuple):
    """What a token costs on one GPU, in bytes."""

    window_token: float
    """A token of the window pool, all layers and the states of ratio 4."""
    sparse_token: float
    dense_token: float
    index_token: float

    @property
    def growing(self) -> float:
        return self.sparse_token + self.dense_token + self.index_token


class _Facts(NamedTuple):
    version: tuple[int, ...]
    layers: int
    sparse: int
    dense: int
    head: int
    index_width: int
    drafts: bool

    @property
    def rings(self) -> tuple[int, int]:
        """Rows of the state rings of ratio 4 and 128."""
        return (16, 256) if self.drafts else (8, 128)


def kv_layout(question: KvQuestion) -> KvLayout:
    """Layout, bytes of a full token, and the lines that SGLang prints for a pool."""
    deployment = question.deployment
    facts = _facts(question)
    costs = costs_of(deployment)
    capped = _capped_windows(deployment)
    share = _RATIO if capped is None else 0.0
    cell = share * costs.window_token + costs.growing
    reserved = -(-deployment.workload.context_tokens // _PAGE) * _PAGE
    fixed = _request_bytes(facts, 0, 1)
    return KvLayout(
        kv_cache_dtype="fp8_e4m3",
        block_tokens=_PAGE,
        bytes_per_token=cell,
        fixed_bytes_per_sequence=fixed,
        bytes_per_sequence=cell * reserved + fixed,
        layers=_layers(deployment, costs, reserved, share),
        pool=None if question.pool_bytes is None else _pool(deployment, costs, question.pool_bytes),
        notes=_notes(facts, capped),
    )


def costs_of(deployment: Deployment) -> Costs:
    """Bytes of a token in each pool; a draft worker takes (layers + 1) / layers of everything."""
    facts = _facts_of(deployment)
    padded = facts.version >= (0, 5, 21)
    state_rows = facts.rings[0] / (_PAGE if padded else _WINDOW)
    state = state_rows * 4.0 * (facts.head + facts.index_width) * _STATE_BYTES * facts.sparse
    if facts.version < (0, 5, 15):
        state += facts.rings[1] / _WINDOW * 2.0 * facts.head * _STATE_BYTES * facts.dense
    rows = [_row_bytes(ratio, padded) for ratio in (1, _SPARSE, _DENSE)]
    more = (facts.layers + 1) / facts.layers if facts.drafts else 1.0
    index = (facts.index_width + facts.index_width // 128 * 4) / _SPARSE * facts.sparse
    window = rows[0] * facts.layers + state
    return Costs(
        window * more, rows[1] / _SPARSE * facts.sparse * more, rows[2] / _DENSE * facts.dense * more, index * more
    )


def _row_bytes(ratio: int, padded: bool) -> float:
    """One entry, with its part of a page's padding."""
    entries = _PAGE // ratio
    return math.ceil(entries * _ROW_BYTES / _PAGE_ALIGN) * _PAGE_ALIGN / entries if padded else _ROW_BYTES


def _facts(question: KvQuestion) -> _Facts:
    """The model's counts; CannotJudge for another type, page or GPU than the rules were read for."""
    deployment, kernel = question.deployment, question.kernel
    facts, name = _facts_of(deployment), f"SGLang {deployment.engine.version}"
    if facts.version < (0, 5, 12):
        raise CannotJudge(f"{name} does not know DeepSeek-V4", help="modelled from 0.5.12 on")
    if kernel is not None and not kernel.flag.startswith("fp8"):
        raise CannotJudge(f"how {name} stores DeepSeek-V4 in {kernel.flag} is not modelled: it has FP8 of its own")
    if deployment.settings.block_size not in (None, _PAGE):
        raise CannotJudge(f"{name} is modelled for DeepSeek-V4 with pages of {_PAGE} tokens")
    gpu_class = "" if deployment.host.gpu is None else deployment.host.gpu.kernel_class
    if gpu_class.startswith(("blackwell_dc", "cdna")) and facts.version >= (0, 5, 20):
        raise CannotJudge(f"{name} has other DeepSeek-V4 rows on this kind of GPU, which are not modelled")
    if deployment.layout.pp > 1 or deployment.layout.dcp > 1:
        raise CannotJudge(f"how {name} splits DeepSeek-V4 over stages and ranks is not modelled")
    drafting = deployment.settings.drafting
    if drafting is not None and not drafting.by_mtp:
        raise CannotJudge(f"what {name} sets aside to draft with {drafting.method} is not modelled")
    return facts


def _facts_of(deployment: Deployment) -> _Facts:
    kv = deployment.model.kv
    version = release(deployment.engine.version)
    by_ratio = {item.tokens_per_entry: item for item in kv if item.kind == "compressed"}
    empty = KvLayers("compressed", 0, 1, 512, 0)
    sparse, dense = by_ratio.get(_SPARSE, empty), by_ratio.get(_DENSE, empty)
    layers = sum(item.layers for item in kv if item.kind == "sliding")
    counted = layers + (sum(item.layers for item in deployment.model.mtp_kv) if version < (0, 5, 13) else 0)
    index = next((item.key_elements for item in kv if item.kind == "indexer"), 0)
    drafts = deployment.settings.drafting is not None
    return _Facts(version, counted, sparse.layers, dense.layers, sparse.key_elements, index, drafts)


def _request_bytes(facts: _Facts, padding: int, requests: int) -> float:
    """States of ratio 128, held for each request since 0.5.15: 128 rows of keys and scores in 32 bits."""
    if facts.version < (0, 5, 15) or not facts.dense:
        return 0.0
    ring = facts.rings[1]
    rows = requests * ring + padding * (2 * ring + 1)
    if padding:
        rows = -(-rows // _DENSE) * _DENSE
    return rows * 2.0 * facts.head * _STATE_BYTES * facts.dense


def _capped_windows(deployment: Deployment) -> int | None:
    """Tokens of the window pool where ``--max-running-requests`` sets it (since 0.5.21); None: the ratio does."""
    requests = deployment.settings.max_num_seqs
    if requests is None or release(deployment.engine.version) < (0, 5, 21):
        return None
    if deployment.settings.drafting is not None:
        raise CannotJudge("the window pool of a drafting SGLang with --max-running-requests is not modelled")
    chunk = deployment.settings.max_num_batched_tokens
    if chunk is None:
        raise CannotJudge("--max-running-requests sizes windows by --chunked-prefill-size too, which is not given")
    one = _WINDOW + _EVICTION_TOKENS + 2 * _PAGE
    wanted = one * requests + 2 * chunk + _PAGE + _KEPT_PREFIXES * requests * (_WINDOW + _PAGE)
    return -(-wanted // _PAGE) * _PAGE


def _pool(deployment: Deployment, costs: Costs, pool_bytes: float) -> PoolCount:
    facts, capped = _facts_of(deployment), _capped_windows(deployment)
    cell = costs.growing if capped is not None else _RATIO * costs.window_token + costs.growing
    windows_fixed = (capped or 0) * costs.window_token
    states_fixed = _request_bytes(facts, 1, _requests(deployment, int(pool_bytes / cell)))
    tokens = int(max(pool_bytes - states_fixed - windows_fixed, 0.0) / cell) // _PAGE * _PAGE
    if tokens <= 0:
        raise CannotJudge("SGLang would not start: states and windows of its requests leave no room for tokens")
    windows = int(tokens * _RATIO) // _PAGE * _PAGE if capped is None else capped
    by = _PAGE if facts.version >= (0, 5, 21) else _WINDOW
    dense_rows = windows // by * facts.rings[1] if facts.version < (0, 5, 15) else 0
    lines = (
        f"DSV4 memory calculation: {_switches(facts)}bytes_per_full_token={cell:.2f},"
        f" available_bytes={pool_bytes / GIB:.2f} GB,{_fixed_words(facts, states_fixed, windows_fixed)}"
        f" full_token={tokens}",
        f"DSV4 pool sizes: full={tokens}, swa={windows}, c4={tokens // _SPARSE}, c128={tokens // _DENSE},"
        f" c4_state={windows // by * facts.rings[0]}, c128_state={dense_rows}",
    )
    return PoolCount(tokens // _PAGE, tokens, None, "\n".join(lines))


def _requests(deployment: Deployment, tokens: int) -> int:
    """``--max-running-requests``, else 512 for each context that the pool holds, from 2048 to 4096."""
    if deployment.settings.max_num_seqs is not None:
        return deployment.settings.max_num_seqs
    settings, model = deployment.settings, deployment.model
    context = settings.max_model_len or model.max_context_tokens or deployment.workload.context_tokens
    return min(max(min(int(tokens / context * 512), 4096), 2048), tokens // 2)


def _switches(facts: _Facts) -> str:
    if facts.version < (0, 5, 20):
        return ""
    dspark = "dspark_draft_bf16=False, " if facts.version >= (0, 5, 21) else ""
    return f"unified=False, unified_fp8=False, {dspark}"


def _fixed_words(facts: _Facts, states: float, windows: float) -> str:
    if facts.version < (0, 5, 15):
        return ""
    words = f" c128_state_fixed={states / GIB:.2f} GB,"
    if facts.version >= (0, 5, 21):
        words += f" c2_state_fixed=0.00 GB, swa_fixed={windows / GIB:.2f} GB,"
    return words + (" swa_ring_fixed=0.00 GB, c4_state_fixed=0.00 GB," if facts.version >= (0, 5, 20) else "")


def _layers(deployment: Deployment, costs: Costs, reserved: int, share: float) -> tuple[LayerBytes, ...]:
    """The window with the states that are counted by its tokens, then entries and index keys."""
    facts = _facts_of(deployment)
    fixed = _request_bytes(facts, 0, 1)
    return (
        LayerBytes("sliding", facts.layers, costs.window_token, _WINDOW, costs.window_token * share * reserved),
        LayerBytes("compressed", facts.sparse, costs.sparse_token, None, costs.sparse_token * reserved),
        LayerBytes("indexer", facts.sparse, costs.index_token, None, costs.index_token * reserved),
        LayerBytes("compressed", facts.dense, costs.dense_token, None, costs.dense_token * reserved),
        LayerBytes("compressor", facts.dense, 0.0, None, fixed),
    )


def _notes(facts: _Facts, capped: int | None) -> tuple[str, ...]:
    found = [f"windows take --swa-full-tokens-ratio {_RATIO:g} of the full tokens, states of ratio 4 within them"]
    if capped is not None:
        found = [f"--max-running-requests sets the windows: {capped:,} tokens"]
    if facts.version >= (0, 5, 15):
        found.append("states of ratio 128 are set aside for --max-running-requests, 2048 to 4096 by default")
    return tuple(found)
