"""KV103: the card is not the deployment's alone, or less of it is visible than the engine takes its fraction of.

vLLM takes its utilization of the card's whole memory and ends at once where less is free. Services of one file that
name the same GPU share it; what runs there besides, no file says.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.found import FoundDeployment
from kvplan.engines.versions import release
from kvplan.engines.vllm_terms import NEW_BUDGET_SINCE, free_at_start, startable
from kvplan.rules.card_mates import gpu_ids, sees_all
from kvplan.rules.context import Context
from kvplan.rules.engine_facts import engine_name, pinned_version
from kvplan.rules.interface import Finding, finding
from kvplan.rules.wording import figures_of, gib_span, gib_text, spelled

ID = "KV103"
TITLE = "the card is shared, or less of it is free than the engine takes"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    if context.mates:
        yield from _mates(context)
    yield from _sliced_in_time(context)
    if engine_name(context) == "vllm" and not context.has("kv_cache_memory_bytes"):
        yield from _visible(context)


def _sliced_in_time(context: Context) -> Iterator[Finding]:
    """Turns on a card divide its time, not its memory; what the others take no file says."""
    for item in context.found.unresolved:
        if item.name == "gpu_fraction":
            message = f"{item.text}: several processes use one card's memory, and nothing bounds what the others take"
            remedy = "give gpu_fraction, or a whole GPU"
            yield Finding(ID, "warn", context.found.name, str(item.place), message, remedy=remedy)


def _mates(context: Context) -> Iterator[Finding]:
    """Said once, at the service that comes last: the one that does not start."""
    first = min((context.found, *context.mates), key=lambda item: item.place.line)
    if first is context.found:
        return
    shares = [(item, _utilization(item)) for item in (context.found, *context.mates)]
    names = ", ".join(sorted(item.name for item in context.mates))
    known = [share for _, share in shares if share is not None]
    cards = ", ".join(sorted(gpu_ids(context.found)))
    if len(known) < len(shares):
        message = f"GPU {cards} is shared with {names}, and what that takes is not said by a utilization"
        yield finding(ID, "warn", context, ("gpus", "gpu_memory_utilization"), message,
                      remedy="give each service a GPU, or a utilization that leaves room")  # fmt: skip
        return
    asked = sum(known)
    if asked <= 1.0:
        return
    words = " + ".join(f"{share:g} ({item.name})" for item, share in shares)
    implied = any(sees_all(item) for item, _ in shares)
    if implied:
        cards = f"{cards} (with every GPU in sight an engine takes the first)"
    yield finding(
        ID, "warn" if implied else "fail", context, ("gpu_memory_utilization", "gpus"),
        f"services on GPU {cards} ask for more than the card: {words} = {asked:.2f}; the last one to start ends",
        figures={"utilization_sum": round(asked, 4), "limit": 1.0},
        formula="sum of utilizations on a card <= 1",
        remedy=spelled(context, "gpu_memory_utilization", f"{max(1.0 - asked + (known[0] or 0.0), 0.0):.2f}"),
    )  # fmt: skip


def _utilization(found: FoundDeployment) -> float | None:
    """vLLM's, by its version's default; None for engines that take what they need."""
    engine, _, version = str(found.value("engine") or found.engine).partition("@")
    if engine != "vllm" or "kv_cache_memory_bytes" in found.settings:
        return None
    value = found.value("gpu_memory_utilization")
    try:
        return float(str(value)) if value is not None else _default(version)
    except ValueError:
        return None


def _default(version: str) -> float:
    return 0.9 if version and release(version) < NEW_BUDGET_SINCE else 0.92


def _visible(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.deployment.host.unified_memory or judged.deployment.host.gpu is None:
        return
    utilization = context.number("gpu_memory_utilization")
    if not utilization:
        version = pinned_version(context)
        utilization = 0.9 if version is not None and version < NEW_BUDGET_SINCE else 0.92
    wanted = judged.deployment.host.gpu.hbm_bytes.scaled(utilization)
    free = free_at_start(judged.deployment)
    if wanted.best <= free.best:
        return
    level = "fail" if wanted.low > free.high else "warn"
    yield finding(
        ID, level, context, ("gpu_memory_utilization", "gpus", "model"),
        f"utilization {utilization:g} asks for {gib_text(wanted.best)}, and {gib_span(free)} are free when vLLM starts:"
        " it ends at once",
        figures={"wanted_bytes": figures_of(wanted), "free_bytes": figures_of(free)},
        formula="utilization x total <= total - CUDA context - display",
        remedy=spelled(context, "gpu_memory_utilization", f"{startable(judged.deployment):g}"),
    )  # fmt: skip
