"""Which layers share a block table, and what one block takes of the pool.

Every group draws blocks from one pool, so that a block is as large as the largest group; what smaller ones leave of it
is wasted.
"""

from __future__ import annotations

from typing import NamedTuple

from kvplan.engines.vllm_memory.pages import Page
from kvplan.engines.vllm_memory.rules import Rules, ceil_div
from kvplan.errors import CannotJudge


class Group(NamedTuple):
    """Layers with one block table. ``pages`` have the layers of this group; those of one group hold as many tokens."""

    pages: tuple[Page, ...]
    summed: bool = False
    """Its page is the sum of its layers' pages; else that of one layer."""

    @property
    def page_bytes(self) -> int:
        """Bytes that vLLM calls the group's page."""
        if not self.summed:
            return self.pages[0].page_bytes
        return sum(page.page_bytes * page.layers for page in self.pages)

    def request_blocks(self, tokens: int, in_flight: int, dcp: int) -> int:
        """Blocks of a request."""
        return max(page.request_blocks(tokens, in_flight, dcp) for page in self.pages)


class Grouping(NamedTuple):
    """All groups, and the bytes of one block."""

    groups: tuple[Group, ...]
    block_bytes: int

    @property
    def wasted_layers(self) -> int:
        """Layers of padding, where groups are filled up to one number of layers."""
        if any(group.summed for group in self.groups):
            return 0
        counts = [group.pages[0].layers for group in self.groups]
        return max(counts) * len(counts) - sum(counts)


def group_pages(pages: list[Page], rules: Rules, *, unify: bool, stages: int) -> Grouping:
    """The groups of a model. With ``unify`` (or before there were any) layers with windows keep every token."""
    if unify or not rules.groups_kinds:
        pages = _as_full(pages, rules)
    if len({page.family for page in pages}) == 1 and len({page.block_tokens for page in pages}) == 1:
        if len(pages) > 1 and rules.version < (0, 11):
            raise _no_start(rules, "layers of one kind have pages of several sizes")
        one = sum(page.page_bytes * ceil_div(page.layers, stages) for page in pages)
        return Grouping((Group(tuple(pages), summed=len(pages) > 1),), one)
    if unify or not rules.groups_kinds:
        raise _no_start(rules, "without the hybrid KV manager layers must be of one kind, and these are not")
    return _split(_equal_pages(pages, rules), rules, stages)


def _as_full(pages: list[Page], rules: Rules) -> list[Page]:
    """Sliding and chunked layers among full ones store every token; they must have one window."""
    if not any(page.holds == "full" for page in pages):
        return pages
    if rules.groups_kinds and len({page.family for page in pages if page.holds in ("sliding", "chunked")}) > 1:
        raise _no_start(rules, "without the hybrid KV manager all windows must be equal")
    merged: dict[Page, int] = {}
    for page in pages:
        key = page._replace(layers=0)
        if page.holds in ("sliding", "chunked"):
            key = key._replace(holds="full", window_tokens=0, kind="full")
        merged[key] = merged.get(key, 0) + page.layers
    return [page._replace(layers=count) for page, count in merged.items()]


def _equal_pages(pages: list[Page], rules: Rules) -> list[Page]:
    """All pages as large as the largest: smaller ones of attention get longer blocks, states are padded."""
    largest = max(page.page_bytes for page in pages)
    found = []
    for page in pages:
        ratio, rest = divmod(largest, page.page_bytes)
        if page.holds == "state":
            found.append(page._replace(page_bytes=largest))
        elif ratio == 1 and not rest:
            found.append(page)
        elif not rules.unifies_pages:
            raise _no_start(rules, "its kinds of layers have pages of several sizes")
        elif not rest:
            found.append(page._replace(block_tokens=page.block_tokens * ratio, page_bytes=largest))
        elif rules.pads_pages and not page.latent:
            found.append(page._replace(page_bytes=largest))
        else:
            raise _no_start(rules, "the pages of one kind of layers don't divide the largest ones")
    return found


def _split(pages: list[Page], rules: Rules, stages: int) -> Grouping:
    """Groups of one number of layers: that of the rarest kind, or of the most frequent where it is hardly more."""
    counts = [page.layers for page in pages]
    width = max(counts) if max(counts) < min(counts) * rules.joins_within else min(counts)
    groups = []
    for page in pages:
        parts = ceil_div(page.layers, width)
        groups += [Group((page._replace(layers=ceil_div(page.layers - part, parts)),)) for part in range(parts)]
    page_bytes = pages[0].page_bytes
    widest = max(group.pages[0].layers for group in groups)
    return Grouping(tuple(groups), page_bytes * ceil_div(widest, stages))


def pack_compressed(pages: list[Page], rules: Rules, stages: int) -> Grouping:
    """DeepSeek-V4's groups: its compressed caches, and those with a window, split to about as many layers.

    A block holds, until 0.22, the most layers of any page for each of the compressed pages; until 0.26 the most layers
    of each page; since then the largest group.
    """
    compressed = [page for page in pages if page.holds == "full"]
    kinds: dict[tuple[int, int], list[Page]] = {}
    for page in pages:
        if page.holds == "sliding":
            kinds.setdefault((page.block_tokens, page.window_tokens), []).append(page)
    repeats = [max(page.layers for page in group) for group in (compressed, *kinds.values())]
    width = approximate_gcd(repeats, least=repeats[0])
    if rules.version < (0, 27):
        kinds = {key: [_padded(page, compressed) for page in group] for key, group in kinds.items()}
    groups = [Group(tuple(compressed), summed=True)]
    for group in kinds.values():
        parts = ceil_div(group[0].layers, width)
        groups += [
            Group(tuple(page._replace(layers=ceil_div(page.layers - part, parts)) for page in group), summed=True)
            for part in range(parts)
        ]
    return Grouping(tuple(groups), _packed_bytes(groups, rules, stages))


def _padded(page: Page, compressed: list[Page]) -> Page:
    """A page as large as the least compressed one that it goes into."""
    return page._replace(page_bytes=min(item.page_bytes for item in compressed if item.page_bytes >= page.page_bytes))


def _packed_bytes(groups: list[Group], rules: Rules, stages: int) -> int:
    if rules.version >= (0, 27):
        return max(sum(page.page_bytes * ceil_div(page.layers, stages) for page in group.pages) for group in groups)
    most: dict[int, int] = {}
    for group in groups:
        for page in group.pages:
            most[page.page_bytes] = max(most.get(page.page_bytes, 0), ceil_div(page.layers, stages))
    if rules.version >= (0, 22):
        return sum(page_bytes * layers for page_bytes, layers in most.items())
    return sum(most) * max(most.values())


def approximate_gcd(counts: list[int], *, least: int) -> int:
    """The number, at least ``least``, that the counts are rounded up to multiples of with the least waste; the largest
    of equally good ones."""
    spans = range(least, max(counts) + 1)
    return min(reversed(spans), key=lambda span: sum(-count % span for count in counts), default=least)


def _no_start(rules: Rules, why: str) -> CannotJudge:
    return CannotJudge(f"vLLM {'.'.join(map(str, rules.version))} does not start: {why}")
