"""TensorRT-LLM's paged pool: bytes -> tokens -> blocks, and the line about it.

Tokens are the bytes over those of a token; blocks are then rounded *up*, so that the pool may take a part of a block
more than its bytes. Blocks have 64 tokens up to 0.17 and 32 from 0.19 on. Models whose layers differ in window or
heads have a pool for each kind, divided by a rule that the documentation does not state: these are refused.
Sources: TensorRT-LLM docs (memory, KV-cache system); issue 224 (rounded up); NVIDIA/TensorRT-LLM issues 2268 and
4275, whose logs print free bytes and blocks. Truth: tests/truth/tensorrt_llm_logs.jsonl.
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.kv_format import NATIVE_16_BIT
from kvplan.domain.model import KvLayers
from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes, PoolCount
from kvplan.engines.versions import release
from kvplan.errors import CannotJudge
from kvplan.units import GIB

_NO_RULE = "TensorRT-LLM's rule for it is not published where it was looked for"


def kv_layout(question: KvQuestion) -> KvLayout:
    """One pool of blocks for layers that are all alike."""
    deployment, kernel = question.deployment, question.kernel
    item, block = _only_layers(deployment), block_tokens(deployment)
    stored = NATIVE_16_BIT if kernel is None else kernel.format
    heads = item.kv_heads if item.replicated else max(1, item.kv_heads // deployment.layout.tp)
    vectors = heads * (2 if item.value_elements else 1)
    layers = -(-item.layers // deployment.layout.pp)
    token = layers * stored.bytes_of(heads * (item.key_elements + item.value_elements), vectors)
    reserved = -(-deployment.workload.context_tokens // block) * block
    notes = ("not calibrated: block scales of NVFP4 caches",) if stored.name == "nvfp4" else ()
    return KvLayout(
        kv_cache_dtype=stored.name if kernel is not None or deployment.model.dtype != "fp16" else "fp16",
        block_tokens=block,
        bytes_per_token=token,
        fixed_bytes_per_sequence=0.0,
        bytes_per_sequence=token * reserved,
        layers=(LayerBytes(item.kind, layers, token, None, token * reserved),),
        pool=None if question.pool_bytes is None else _pool(question.pool_bytes, token, block),
        notes=notes,
    )


def block_tokens(deployment: Deployment) -> int:
    """``tokens_per_block``: as given, else 64 up to 0.17 and 32 from 0.19 on (logs of 0.13, February 2025 and 0.19)."""
    version = release(deployment.engine.version)[:2]
    if deployment.settings.block_size is not None:
        return deployment.settings.block_size
    if version == (0, 18):
        raise CannotJudge("the block size of TensorRT-LLM 0.18 was not found: 64 before it, 32 after it",
                          help="--block-size 32 or 64 settles it")  # fmt: skip
    return 64 if version < (0, 18) else 32


def _only_layers(deployment: Deployment) -> KvLayers:
    """The one kind of layer that keeps tokens; CannotJudge where there are several, windows, states or drafts."""
    model, layout = deployment.model, deployment.layout
    kept = [item for item in model.kv if item.kv_heads and item.kind != "shared"]
    plain = len(kept) == 1 and len(model.kv) == 1 and kept[0].kind in ("full", "mla")
    if not plain:
        kinds = ", ".join(sorted({item.kind for item in model.kv}))
        raise CannotJudge(f"how TensorRT-LLM divides its pool over the {kinds} layers of {model.name} is not modelled",
                          help=_NO_RULE)  # fmt: skip
    if deployment.settings.drafting is not None:
        raise CannotJudge("what TensorRT-LLM sets aside for drafts is not modelled", help=_NO_RULE)
    if layout.dcp > 1:
        raise CannotJudge("decode context parallelism is not modelled for TensorRT-LLM")
    return kept[0]


def _pool(pool_bytes: float, token: float, block: int) -> PoolCount:
    blocks = -(-int(pool_bytes // token) // block)
    if not blocks:
        raise CannotJudge("the pool holds not one token: TensorRT-LLM would not start")
    tokens = blocks * block
    line = (f"Number of tokens per block: {block}.\n[MemUsageChange] Allocated {tokens * token / GIB:.2f} GiB"
            f" for max tokens in paged KV cache ({tokens}).")  # fmt: skip
    return PoolCount(blocks, tokens, None, line)
