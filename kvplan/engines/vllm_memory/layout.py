"""A deployment's KV as vLLM lays it out, and a pool as it counts it."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.engines.kv_layout import KvLayout, KvQuestion, LayerBytes, PoolCount
from kvplan.engines.vllm_memory import compressed, pool
from kvplan.engines.vllm_memory.blocks import block_tokens_of, card_class
from kvplan.engines.vllm_memory.formats import stored_as
from kvplan.engines.vllm_memory.groups import Grouping, group_pages, pack_compressed
from kvplan.engines.vllm_memory.notes import notes_of
from kvplan.engines.vllm_memory.pages import Page, Place, longest_tokens, pages_of
from kvplan.engines.vllm_memory.rules import SWAP_GIB, ceil_div, in_flight_tokens, rules_of
from kvplan.errors import CannotJudge
from kvplan.units import LARGEST_COUNT


class Laid(NamedTuple):
    """What a layout is made of."""

    place: Place
    grouping: Grouping
    block_tokens: int
    in_flight: int

    def blocks(self, tokens: int) -> int:
        """Blocks of a request of so many tokens."""
        return pool.request_blocks(self.grouping, tokens, self.in_flight, self.place.deployment.layout.dcp)


def vllm_layout(question: KvQuestion, batched_tokens: int) -> KvLayout:
    """The answer to ``kvplan kv``. CannotJudge where no rule of this version is known."""
    deployment = question.deployment
    rules = rules_of(deployment.engine.version)
    asked = question.kernel.flag if question.kernel else deployment.settings.kv_cache_dtype
    stored = stored_as(asked, deployment.model.dtype, rules.version)
    packs = card_class(deployment) != "blackwell_dc" or rules.version < (0, 19)
    place = Place(deployment, stored, rules, batched_tokens, packs)
    laid = _v0(place) if rules.v0 else _laid(place)
    context = deployment.workload.context_tokens
    growing = [group for group in laid.grouping.groups if group.pages[0].holds == "full"]
    bounded = sum(
        group.request_blocks(LARGEST_COUNT, laid.in_flight, 1)
        for group in laid.grouping.groups if group.pages[0].holds != "full"
    )  # fmt: skip
    block_bytes, dcp = laid.grouping.block_bytes, deployment.layout.dcp
    return KvLayout(
        kv_cache_dtype="fp8_ds_mla" if _packs(laid) else stored.label,
        block_tokens=laid.block_tokens,
        bytes_per_token=sum(block_bytes / group.pages[0].block_tokens for group in growing) / dcp,
        fixed_bytes_per_sequence=float(bounded * block_bytes),
        bytes_per_sequence=float(laid.blocks(context) * block_bytes),
        layers=_layers(laid, context),
        pool=None if question.pool_bytes is None else _pool(laid, int(question.pool_bytes)),
        notes=notes_of(place, laid.grouping),
    )


def _laid(place: Place) -> Laid:
    deployment, rules = place.deployment, place.rules
    stages = deployment.layout.pp
    in_flight = in_flight_tokens(rules, place.batched_tokens, stages)
    if compressed.is_compressed(place):
        if deployment.settings.unify_kv_groups:
            raise CannotJudge("DeepSeek-V4's caches without the hybrid KV manager are not modelled")
        grouping = pack_compressed(compressed.compressed_pages(place), rules, stages)
        return Laid(place, grouping, compressed.BLOCK_TOKENS, in_flight)
    block_tokens = block_tokens_of(place)
    pages = pages_of(place, block_tokens)
    if not pages:
        raise CannotJudge(f"{deployment.model.name} has no KV that vLLM would store")
    chunked = any(page.holds == "chunked" for page in pages)  # off by default: a slower path
    unify = deployment.settings.unify_kv_groups or chunked
    return Laid(place, group_pages(pages, rules, unify=unify, stages=stages), block_tokens, in_flight)


def _v0(place: Place) -> Laid:
    """V0 stores every token in every layer, all of one geometry; the first latents were padded to 640 elements."""
    deployment, rules = place.deployment, place.rules
    kinds = {layers.kind for layers in deployment.model.kv}
    if kinds - {"full", "sliding", "chunked", "mla"} or ("mla" in kinds and rules.version < (0, 7)):
        found = " and ".join(sorted(kinds))
        raise CannotJudge(f"vLLM {deployment.engine.version} with {found} layers is not modelled")
    if not place.stored.native and (not place.stored.fp8 or "mla" in kinds):
        raise CannotJudge(f"--kv-cache-dtype {place.stored.word} is not modelled for vLLM {deployment.engine.version}")
    tokens = block_tokens_of(place)
    pages = [_v0_page(page) for page in pages_of(place, tokens)]
    stages = deployment.layout.pp
    return Laid(place, group_pages(pages, rules, unify=True, stages=stages), tokens, place.batched_tokens)


def _v0_page(page: Page) -> Page:
    """Rows of latents were rounded up to 256 bytes until V1."""
    return page._replace(page_bytes=page.block_tokens * 1280) if page.latent else page


def _packs(laid: Laid) -> bool:
    rows = {page.page_bytes for group in laid.grouping.groups for page in group.pages if page.kind == "mla"}
    packed = any(row == 656 * laid.block_tokens for row in rows)
    return packed or compressed.is_compressed(laid.place)


def _layers(laid: Laid, context: int) -> tuple[LayerBytes, ...]:
    """Rows by kind, pages of groups joined again; a state has no bytes a token."""
    deployment = laid.place.deployment
    rows: dict[tuple[str, int, int], tuple[Page, int]] = {}
    for group in laid.grouping.groups:
        for page in group.pages:
            key = (page.kind, page.page_bytes, page.block_tokens)
            rows[key] = (page, page.layers + (rows[key][1] if key in rows else 0))
    return tuple(_row(page, layers, laid, context, deployment.layout.dcp) for page, layers in rows.values())


def _row(page: Page, layers: int, laid: Laid, context: int, dcp: int) -> LayerBytes:
    on_stage = ceil_div(layers, laid.place.deployment.layout.pp)
    held = page.request_blocks(context, laid.in_flight, dcp) * page.page_bytes * on_stage
    stored = page.holds in ("full", "sliding", "chunked")
    per_token = page.page_bytes * on_stage / page.block_tokens / (dcp if page.holds == "full" else 1)
    window = page.window_tokens if page.holds in ("sliding", "chunked") else None
    return LayerBytes(page.kind, layers, per_token if stored else 0.0, window, float(held))


def _pool(laid: Laid, pool_bytes: int) -> PoolCount:
    deployment, rules = laid.place.deployment, laid.place.rules
    longest, dcp = longest_tokens(deployment), deployment.layout.dcp
    if rules.v0:
        return pool.count_v0_pool(laid.grouping.block_bytes, pool_bytes, SWAP_GIB, longest, laid.block_tokens)
    blocks = pool_bytes // laid.grouping.block_bytes
    request = pool.counted_blocks(laid.grouping, rules, longest, laid.in_flight, dcp)
    return pool.count_pool(laid.grouping, rules, blocks, request, longest, dcp)
