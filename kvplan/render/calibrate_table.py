"""``kvplan calibrate`` on a screen: the answer, each figure beside its prediction, the ranks, what was kept."""

from __future__ import annotations

import shlex

from kvplan.domain.interval import Interval
from kvplan.engine_logs.interface import EngineStart
from kvplan.render import humans
from kvplan.render.screen import Column, Page
from kvplan.results.calibrate import CalibrateResult
from kvplan.results.log_figures import Figure
from kvplan.units import to_gib

COLUMNS = (
    Column("figure"), Column("predicted", right=True), Column("observed", right=True), Column("error", right=True),
    Column("interval"),
)  # fmt: skip
NAMES = {
    "total_bytes": "device total, GiB",
    "budget_bytes": "budget, GiB",
    "weight_bytes": "weights, GiB",
    "activation_bytes": "activation, GiB",
    "runtime_bytes": "runtime, GiB",
    "graph_estimate_bytes": "graphs set aside, GiB",
    "graph_bytes": "graphs taken, GiB",
    "state_pool_bytes": "states, GiB",
    "kv_pool_bytes": "KV pool, GiB",
    "kv_tokens": "KV tokens",
    "kv_tokens_of_pool": "tokens of that pool",
    "max_concurrency": "max concurrency",
}
_OF_RANKS = ("weight_bytes", "activation_bytes", "runtime_bytes", "graph_bytes", "kv_pool_bytes")
MOST_RANKS = 32


def render(answer: CalibrateResult) -> str:
    """The whole screen."""
    page = Page()
    page.verdict(sentence(answer))
    page.gap()
    lines = facts(answer)
    for label, text in lines:
        page.labelled(label, text, max(len(label) for label, _ in lines) + 1)
    page.gap()
    page.table(COLUMNS, [cells(one) for one in answer.figures])
    if len(answer.start.ranks) > 1:
        page.gap()
        _ranks(page, answer.start)
    if answer.notes:
        page.gap()
    for note in answer.notes:
        page.labelled("Note:", f"{note}.")
    page.gap()
    _end(page, answer)
    return page.text()


def sentence(answer: CalibrateResult) -> str:
    """``KV pool of 58.11 GiB observed, 57.90 (57.61..58.20) predicted: -0.4 %.``"""
    pool = answer.figure("kv_pool_bytes") or answer.figure("weight_bytes")
    if answer.deployment is None:
        return f"CANNOT predict: {answer.unpredicted}."
    if pool is None or pool.observed is None or pool.predicted is None:
        return "The log prints no KV pool; the parts that it prints are below."
    name = "KV pool" if pool.name == "kv_pool_bytes" else "Weights"
    predicted = humans.span(pool.predicted, to_gib, _gib)
    return f"{name} of {_gib(to_gib(pool.observed))} GiB observed, {predicted} predicted: {_error(pool)}."


def facts(answer: CalibrateResult) -> list[tuple[str, str]]:
    """(label, text) of each line."""
    start, deployment = answer.start, answer.deployment
    files = ", ".join(map(humans.clean, answer.files))
    lines = [("Log", f"{files}: {start.engine} {start.version or 'of unknown version'}")]
    if deployment is not None:
        layout = [(name, getattr(deployment.layout, name)) for name in ("tp", "pp", "dp", "ep", "dcp")]
        spread = " ".join(f"{name} {ways}" for name, ways in layout if ways > 1) or "one GPU"
        scheme = deployment.settings.weights or deployment.model.dtype
        lines += [
            ("Model", f"{humans.clean(deployment.model.name)}, {scheme}"),
            ("Host", humans.clean(deployment.host.name)),
            ("Engine", f"{deployment.engine.name} {deployment.engine.version}, {spread}"),
        ]
    said = ((name, value) for name, value in start.said.items() if name not in _SHOWN_ELSEWHERE and value is not False)
    settings = ", ".join(name if value is True else f"{name} {value}" for name, value in said)
    return [*lines, ("Settings", humans.clean(settings or "none that the log names"))]


_SHOWN_ELSEWHERE = ("model", "file", "tp", "pp", "dp", "ep", "dcp", "gpu")


def cells(one: Figure) -> tuple[str, ...]:
    """One figure."""
    scale = to_gib if one.unit == "bytes" else float
    text = _gib if one.unit != "tokens" else humans.count
    predicted = humans.NOTHING if one.predicted is None else humans.span(one.predicted, scale, text)
    observed = humans.NOTHING if one.observed is None else text(scale(one.observed))
    inside = {None: "", True: "holds it", False: "misses it"}[one.inside]
    return NAMES[one.name], predicted, observed, _error(one), inside if _is_span(one.predicted) else ""


def _is_span(value: Interval | None) -> bool:
    return value is not None and not value.is_exact


def _gib(value: float) -> str:
    return f"{value:,.2f}"


def _error(one: Figure) -> str:
    if one.error_fraction is None:
        return humans.NOTHING
    percent = round(100.0 * one.error_fraction, 1)
    return f"{percent:+.1f} %" if percent else "0.0 %"


def _ranks(page: Page, start: EngineStart) -> None:
    """Every rank, the one that counts in bold."""
    shown = [name for name in _OF_RANKS if any(name in rank.figures for rank in start.ranks)]
    columns = [Column("GiB of"), *(Column(NAMES[name].removesuffix(", GiB"), right=True) for name in shown)]
    rows = [[rank.name or "?", *(_gib(to_gib(rank.figures[name])) if name in rank.figures else humans.NOTHING
                                 for name in shown)] for rank in start.ranks[:MOST_RANKS]]  # fmt: skip
    page.table(columns, rows, start.ranks.index(start.tightest))
    more = len(start.ranks) - MOST_RANKS
    left_out = f" {more} more ranks are in --format json." if more > 0 else ""
    page.faint(f"The smallest pool counts: {start.tightest.name}.{left_out}", 2)


def _end(page: Page, answer: CalibrateResult) -> None:
    """What was kept, or how to keep it."""
    deployment = answer.deployment
    if answer.saved is not None and answer.terms is not None and deployment is not None:
        terms = ", ".join(f"{name} {_gib(to_gib(value))}" for name, value in answer.terms.items())
        page.labelled("Kept:", f"{terms} GiB as {answer.saved.name} in {answer.saved.file}.")
        return
    logs = " ".join(map(shlex.quote, answer.files))
    if deployment is None:
        page.command("Next:", f"kvplan calibrate {logs} --host NAME")
    else:
        page.command("Keep it:", f"kvplan calibrate {logs} --host {shlex.quote(deployment.host.name)} --save NAME")
