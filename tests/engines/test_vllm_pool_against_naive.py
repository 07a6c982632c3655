"""The closed forms of vLLM's pool against an oracle that deals out layers and hands out blocks one at a time."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment, EngineChoice
from kvplan.domain.model import KvLayers, State
from kvplan.engines.kv_layout import KvQuestion
from kvplan.engines.vllm_memory.layout import vllm_layout
from kvplan.engines.vllm_memory.rules import in_flight_tokens, rules_of
from kvplan.errors import CannotJudge
from kvplan.results.kv_layouts import NOWHERE
from tests import naive

VERSIONS = ("0.9.2", "0.11", "0.12", "0.17", "0.18", "0.20", "0.21", "0.24", "0.26", "0.27", "0.28", "0.33")
_PAIRS = ((1, 64), (2, 64), (1, 128), (4, 128), (8, 128), (2, 256))


class Case(NamedTuple):
    """One random model under one version."""

    version: str
    kv: tuple[KvLayers, ...]
    tp: int
    longest: int
    batch: int
    pool_bytes: int
    fp8: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Full layers, alone or beside sliding, chunked or recurrent ones, of one geometry or of two."""
    version = draw(st.sampled_from(VERSIONS))
    heads, width = draw(st.sampled_from(_PAIRS))
    count = st.integers(1, 60)
    full = KvLayers("full", draw(count), heads, width, width)
    beside = draw(st.sampled_from(("nothing", "window", "window", "wider", "state", "state")))
    kv: tuple[KvLayers, ...] = (full,)
    window = draw(st.sampled_from((128, 512, 1000, 1024)))
    if beside == "window":
        kv = (full, KvLayers("sliding", draw(count), heads, width, width, window_tokens=window))
    if beside == "wider":
        kv = (full, KvLayers("sliding", draw(count), 2 * heads, width, width, window_tokens=window))
    if beside == "state":
        state = State(3 * 16 * draw(st.integers(1, 64)), 16 * draw(st.integers(1, 4000)), conv_columns=3)
        kv = (full, KvLayers("gdn", draw(count), 16, 0, 0, state=state))
    longest, batch = draw(st.integers(64, 3000)), draw(st.sampled_from((64, 256, 1024)))
    tp = draw(st.sampled_from((1, 2, 4, 16)))
    pool_bytes = draw(st.integers(2**20, 2**31))
    return Case(version, kv, tp, longest, batch, pool_bytes, draw(st.booleans()))


_MODEL = load_model("llama3-8b", ())
_BASE = resolve_on(Words(model="llama3-8b", engine="vllm@0.21", context=64), _MODEL, NOWHERE, weights_matter=False)


def deployment_of(case: Case) -> Deployment:
    """The case as kvplan takes it."""
    return _BASE._replace(
        model=_MODEL._replace(kv=case.kv),
        engine=EngineChoice("vllm", case.version),
        layout=_BASE.layout._replace(tp=case.tp),
        settings=_BASE.settings._replace(max_model_len=case.longest, kv_cache_dtype="fp8" if case.fp8 else None),
        workload=_BASE.workload._replace(context_tokens=case.longest),
    )


def naive_layers(case: Case, state_blocks: int) -> list[naive.PooledLayer]:
    """The case as the oracle takes it: every layer by itself."""
    layers: list[naive.PooledLayer] = []
    for kind, item in enumerate(case.kv):
        if item.state is not None:
            columns = item.state.conv_elements // case.tp * 2
            one = naive.PooledLayer(kind, "state", columns + item.state.recurrent_elements // case.tp * 2,
                                    state_blocks=state_blocks)  # fmt: skip
        else:
            on_rank = max(1, sum(1 for head in range(item.kv_heads) if head % case.tp == 0))
            element = 1 if case.fp8 else 2
            token = sum(element for _ in range(on_rank * (item.key_elements + item.value_elements)))
            keeps = "window" if item.window_tokens else "all"
            one = naive.PooledLayer(kind, keeps, token, item.window_tokens or 0)
        layers += [one for _ in range(item.layers)]
    return layers


def accounting_of(case: Case) -> naive.Accounting:
    """What the version does, in the oracle's words."""
    numbers = tuple(int(part) for part in case.version.split("."))
    joins = Fraction(3, 2) if numbers >= (0, 18) else Fraction(5, 4) if numbers >= (0, 12) else Fraction(1)
    batches = 2 if numbers >= (0, 26) else 1
    return naive.Accounting(16, joins, case.batch * batches, case.longest, numbers >= (0, 27), numbers < (0, 21))


@settings(max_examples=3000, deadline=None)
@given(cases())
def test_blocks_tokens_and_requests_are_those_of_the_oracle(case: Case) -> None:
    numbers = tuple(int(part) for part in case.version.split("."))
    question = KvQuestion(deployment_of(case), None, float(case.pool_bytes))
    recurrent = any(item.state for item in case.kv)
    caches = recurrent and numbers >= (0, 26)
    layers, accounting = naive_layers(case, 2 if caches else 1), accounting_of(case)
    dealt = naive.block_tables(layers, accounting)
    unequal = len({naive.page_bytes(layer, 16) for layer in layers if layer.keeps != "state"}) > 1
    if dealt is None or (unequal and numbers < (0, 12)) or (recurrent and numbers < (0, 10)):
        with pytest.raises(CannotJudge):
            vllm_layout(question, case.batch)
        return
    tables, block_bytes = dealt
    answer = vllm_layout(question, case.batch)
    assert answer.pool is not None
    blocks = case.pool_bytes // block_bytes
    if blocks < 5000:
        assert naive.carved_blocks(case.pool_bytes, block_bytes) == blocks
    reserved = [naive.reserved_blocks(table, accounting) for table in tables]
    request = sum(reserved)
    assert answer.pool.blocks == blocks
    assert answer.bytes_per_sequence == request * block_bytes
    assert answer.pool.max_concurrency == pytest.approx(blocks / request)
    if accounting.counts_blocks:
        shortest = min(table.block_tokens for table in tables)
        assert answer.pool.tokens == blocks // len(tables) * shortest
    else:
        assert answer.pool.tokens == int(blocks / request * case.longest)
    if blocks < 5000:
        assert naive.requests_admitted(blocks, request) == max(blocks - 1, 0) // request


@settings(max_examples=1000, deadline=None)
@given(cases())
def test_no_request_ever_holds_more_than_is_reserved_for_it(case: Case) -> None:
    """Batch by batch, with one batch in flight, a request stays inside what its tables grant it."""
    layers, accounting = naive_layers(case, 1), accounting_of(case)
    dealt = naive.block_tables(layers, accounting)
    for table in dealt[0] if dealt else []:
        if table.layers[0].keeps != "state":
            assert naive.most_blocks_held(table, accounting) <= naive.reserved_blocks(table, accounting)


def test_batches_in_flight_by_version_and_stages() -> None:
    for version, stages, batches in (("0.25", 1, 1), ("0.25", 4, 1), ("0.26", 1, 2), ("0.26", 4, 4), ("0.29", 4, 5)):
        assert in_flight_tokens(rules_of(version), 2048, stages) == 2048 * batches
