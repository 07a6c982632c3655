"""What is said beside a layout: rules that were taken where settings or sources leave a choice."""

from __future__ import annotations

from kvplan.engines.vllm_memory import states
from kvplan.engines.vllm_memory.blocks import card_class
from kvplan.engines.vllm_memory.groups import Grouping
from kvplan.engines.vllm_memory.pages import Place, longest_tokens
from kvplan.engines.vllm_memory.rules import in_flight_tokens


def notes_of(place: Place, grouping: Grouping) -> tuple[str, ...]:
    """One sentence each."""
    rules, deployment = place.rules, place.deployment
    holds = {page.holds for group in grouping.groups for page in group.pages}
    kinds = {layers.kind for layers in deployment.model.kv}
    found = []
    if rules.version[:2] == (0, 8):
        found.append("V1 is the default engine of 0.8: where it falls back to V0, the lines are V0's")
    if holds & {"sliding", "chunked", "cross"}:
        found.append(_in_flight_note(place))
    if "state" in holds:
        mode = states.cache_mode(deployment, rules)
        found.append(f"states as under mamba_cache_mode {mode}: prefix caching of hybrids is on by default since 0.26")
    if "mla" in kinds and card_class(deployment) is None:
        found.append("blocks as on a Hopper card: --host names another one")
    if grouping.wasted_layers:
        found.append(f"groups are filled up with {grouping.wasted_layers} layers of padding")
    if deployment.layout.pp > 1:
        found.append("the fullest pipeline stage is taken to have an even share of every kind of layer")
    if not rules.v0 and grouping.block_bytes and "chunked" in kinds:
        found.append("chunked layers keep every token: vLLM turns its hybrid KV manager off for them")
    if rules.counts_blocks and len(grouping.groups) > 1 and not rules.v0:
        found.append("before 0.21 the printed tokens are blocks / groups x block: less than requests really find")
    return tuple(found)


def _in_flight_note(place: Place) -> str:
    rules, deployment = place.rules, place.deployment
    tokens = in_flight_tokens(rules, place.batched_tokens, deployment.layout.pp)
    asked = deployment.settings.max_num_batched_tokens is not None
    default = "" if asked else ", the scheduler's default: servers on large cards start with 8,192"
    return f"a request of {longest_tokens(deployment):,} tokens is counted with {tokens:,} in flight{default}"
