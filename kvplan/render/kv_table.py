"""``kvplan kv`` on a screen: the answer in a sentence, the kinds of layers, the pool."""

from __future__ import annotations

from collections.abc import Iterable

from kvplan.domain.assessment import GpuMemory
from kvplan.domain.deployment import Deployment
from kvplan.domain.model import KvLayers
from kvplan.render import humans
from kvplan.render.fit_header import memory_words
from kvplan.render.screen import Column, Page
from kvplan.results.kv import KvLayerBytes, KvResult
from kvplan.results.kv_pool import KvPool
from kvplan.results.kv_predicted import Prediction

COLUMNS = (
    Column("layers"), Column("number", right=True), Column("KV/token", right=True), Column("window", right=True),
    Column("sequence GiB", right=True),
)  # fmt: skip


def render(answer: KvResult) -> str:
    """The whole screen."""
    page = Page()
    page.verdict(sentence(answer))
    page.gap()
    labels = facts(answer)
    for label, text in labels:
        page.labelled(label, text, max(len(label) for label, _ in labels) + 1)
    page.gap()
    page.table(COLUMNS, [layer_cells(row) for row in answer.layers])
    if answer.warnings or answer.notes:
        page.gap()
    for text in answer.notes:
        page.labelled("Note:", f"{text}.")
    for text in answer.warnings:
        page.labelled("Warning:", f"{text}.")
    if answer.deployment.engine.name != "generic":
        return page.text()
    page.gap()
    page.faint("Engine generic is the architecture itself: one copy over all tensor-parallel ranks, no rounding to "
               "blocks. A real engine's pool holds a little less.", 2)  # fmt: skip
    return page.text()


def sentence(answer: KvResult) -> str:
    """``Llama-3.1-8B-Instruct takes 128 KiB of KV a token: 16.0 GiB for a sequence of 131,072 tokens.``"""
    deployment = answer.deployment
    each = f" on each of {gpus(answer)} GPUs" if gpus(answer) > 1 else ""
    token = humans.bytes_per_token(answer.kv_bytes_per_token)
    fixed = answer.kv_bytes_fixed_per_sequence
    windows = f", beside {humans.gib_or_mib(fixed)} of {fixed_words(deployment.model.kv)} a sequence" if fixed else ""
    context = humans.count(deployment.workload.context_tokens)
    return (
        f"{humans.clean(deployment.model.name)} takes {token} of KV a token{windows}: "
        f"{humans.gib(answer.kv_bytes_per_sequence)} GiB for a sequence of {context} tokens{each}."
    )


def fixed_words(kv: Iterable[KvLayers]) -> str:
    """What a sequence holds whatever its length: ``windows``, ``states``, ``windows and images``."""
    found = {
        "windows": any(item.window_tokens is not None for item in kv),
        "states": any(item.state is not None for item in kv),
        "images or audio": any(item.sequence_tokens is not None for item in kv),
    }
    return " and ".join(name for name, there in found.items() if there)


def facts(answer: KvResult) -> list[tuple[str, str]]:
    """(label, text) of each line."""
    deployment, pool = answer.deployment, answer.pool
    layout = [(name, getattr(deployment.layout, name)) for name in ("tp", "pp", "dp", "ep", "dcp")]
    spread = " ".join(f"{name} {ways}" for name, ways in layout if ways > 1) or "one GPU"
    each = " a GPU" if gpus(answer) > 1 else ""
    scheme = deployment.settings.weights or deployment.model.dtype
    engine = deployment.engine
    named = engine.name if engine.name == "generic" else f"{engine.name} {engine.version}"
    blocks = f", blocks of {answer.block_tokens} tokens" if answer.block_tokens > 1 else ""
    lines = [
        ("KV", f"{answer.kv_cache_dtype}, engine {named}, {spread}{blocks}"),
        ("Weights", "?" if answer.weight_bytes is None else f"{scheme}, {humans.gib(answer.weight_bytes)} GiB{each}"),
    ]
    if gpus(answer) > 1:
        together = humans.bytes_per_token(answer.kv_bytes_per_token_all_gpus)
        lines.append(("All GPUs", f"{together} of KV a token together"))
    if answer.predicted is not None:
        lines.append(("Memory", memory_words(answer.predicted.split, deployment.layout.gpus)))
        lines += [("Pool", _uncounted(answer.predicted.split, each))] if pool is None else []
    if pool is not None:
        lines += pool_facts(pool, deployment, each, answer.predicted)
    return lines


def _uncounted(split: GpuMemory, each: str) -> str:
    """A pool that the engine does not count in tokens, or none at all."""
    if split.kv_pool_bytes.best <= 0.0:
        return "no room for KV beside the weights"
    return f"{humans.gib_span(split.kv_pool_bytes)}{each} is left for KV"


def pool_facts(pool: KvPool, deployment: Deployment, each: str, predicted: Prediction | None) -> list[tuple[str, str]]:
    """What the pool holds, and the lines that the engine itself writes."""
    longest = humans.count(deployment.settings.max_model_len or deployment.workload.context_tokens)
    blocks = "" if pool.log_line is None else f" in {humans.count(pool.blocks)} blocks"
    held = f"{humans.gib_words(pool.pool_bytes)}{each} holds {humans.count(pool.tokens)} tokens{blocks}"
    if predicted is not None:
        span = f"{humans.count(predicted.fewest_tokens or 0)}..{humans.count(predicted.most_tokens or pool.tokens)}"
        pool_gib = humans.gib_span(predicted.split.kv_pool_bytes)
        held = f"{pool_gib}{each} holds {humans.count(pool.tokens)} tokens ({span}){blocks}"
    if pool.max_concurrency is not None:
        held += f", {pool.max_concurrency:,.2f} sequences of {longest} tokens"
    return [("Pool", held), *(("Log line", line) for line in (pool.log_line or "").splitlines())]


def layer_cells(row: KvLayerBytes) -> tuple[str, ...]:
    """One kind of layer."""
    window = humans.NOTHING if row.window_tokens is None else humans.count(row.window_tokens)
    token = humans.bytes_per_token(row.bytes_per_token) if row.bytes_per_token else humans.NOTHING
    return row.kind, humans.count(row.layers), token, window, humans.gib(row.bytes_per_sequence)


def gpus(answer: KvResult) -> int:
    """GPUs that hold one replica."""
    return answer.deployment.layout.tp * answer.deployment.layout.pp
