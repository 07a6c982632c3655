"""What is said beside a layout: rules that were taken where settings or sources leave a choice."""

from __future__ import annotations

from kvplan.engines.vllm_memory import states
from kvplan.engines.vllm_memory.blocks import card_class
from kvplan.engines.vllm_memory.groups import Grouping
from kvplan.engines.vllm_memory.pages import Place, longest_tokens
from kvplan.engines.vllm_memory.rules import in_flight_tokens


def notes_of(place: Place, grouping: Grouping) -> tuple[str, ...]:
    """One sentence each."""
    holds = {page.holds for group in grouping.groups for page in group.pages}
    kinds = {layers.kind for layers in place.deployment.model.kv}
    found = _version_notes(place, grouping)
    if holds & {"sliding", "chunked", "cross"}:
        found += _in_flight_notes(place, "sliding" in holds)
    if "state" in holds:
        found += _state_notes(place, kinds)
    if "mla" in kinds and card_class(place.deployment) is None:
        found.append("blocks as on a Hopper card: --host names another one")
    if "chunked" in kinds and not place.rules.v0:
        found.append("chunked layers keep every token: vLLM turns its hybrid KV manager off for them")
    if grouping.wasted_layers:
        found.append(f"groups are filled up with {grouping.wasted_layers} layers of padding")
    if place.deployment.layout.pp > 1:
        found.append("the fullest pipeline stage is taken to have an even share of every kind of layer")
    return tuple(found)


def _version_notes(place: Place, grouping: Grouping) -> list[str]:
    rules = place.rules
    if rules.version[:2] == (0, 7):
        return ["0.7 calls the GPU blocks of the first line cuda blocks"]
    if rules.version[:2] == (0, 8):
        return ["V1 is the default engine of 0.8: where it falls back to V0, the lines are V0's"]
    if rules.counts_blocks and len(grouping.groups) > 1:
        return ["before 0.21 the printed tokens are blocks / groups x block: less than requests really find"]
    return []


def _in_flight_notes(place: Place, slides: bool) -> list[str]:
    rules, deployment = place.rules, place.deployment
    tokens = in_flight_tokens(rules, place.batched_tokens, deployment.layout.pp)
    asked = deployment.settings.max_num_batched_tokens is not None or deployment.host.gpu is not None
    default = "" if asked else ", the scheduler's default: servers on large cards start with 8,192"
    found = [f"a request of {longest_tokens(deployment):,} tokens is counted with {tokens:,} in flight{default}"]
    drafting = deployment.settings.drafting
    if slides and drafting is not None and drafting.by_mtp and rules.batches_in_flight:
        found.append("windows hold up to a block more where several MTP modules draft")
    return found


def _state_notes(place: Place, kinds: set[str]) -> list[str]:
    mode = states.cache_mode(place.deployment, place.rules)
    found = [f"states as under mamba_cache_mode {mode}: prefix caching of hybrids is on by default since 0.26"]
    if "gdn" in kinds and mode == "align" and place.rules.version >= (0, 33):
        found.append("where FlashInfer computes the prefill of gated delta nets a request holds one state more")
    return found
