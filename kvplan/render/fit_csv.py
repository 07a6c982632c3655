"""``kvplan fit`` as CSV: one row for a strategy on a host, bytes and seconds, empty where a figure is not known."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from kvplan.domain.assessment import RESOURCES, Budget, StrategyAssessment
from kvplan.domain.interval import Interval
from kvplan.results.fit import FitMatrix, FitResult

_UNITS = {
    "hbm": "bytes", "dram_capacity": "bytes", "dram_bandwidth": "bytes_per_s", "link": "bytes_per_s", "cpu_cores": "",
}  # fmt: skip
_IN_WHOLES = {"hbm", "dram_capacity"}
_ENDS = ("low", "best", "high")

Cell = str | int | float | None
Row = dict[str, Cell]


def render(answer: FitResult | FitMatrix) -> str:
    """A header row, then a row for each strategy of each host, in the order of the assessment."""
    fits = answer.fits if isinstance(answer, FitMatrix) else (answer,)
    rows = [row for fit in fits for row in _rows(fit)]
    out = StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rows(fit: FitResult) -> Iterator[Row]:
    assessment = fit.assessment
    deployment = assessment.deployment
    workload, host = deployment.workload, deployment.host
    asked: Row = {
        "model": deployment.model.name,
        "host": host.name,
        "gpus": deployment.layout.gpus,
        "gpu": host.gpu.name if host.gpu else None,
        "engine": deployment.engine.name,
        "engine_version": deployment.engine.version,
        "context_tokens": workload.context_tokens,
        "users": workload.users,
    }
    for item in assessment.strategies:
        best = "yes" if item.id == assessment.verdict.strategy else "no"
        answer: Row = {"strategy": item.id, "outcome": item.outcome, "bound_by": item.bound_by, "best": best}
        yield {**asked, **answer, **_figures(item)}


def _figures(item: StrategyAssessment) -> Row:
    row: Row = {"kv_bytes_per_token": _whole(item.kv_bytes_per_token)}
    for name in RESOURCES:
        row.update(_budget(name, item.budgets.get(name)))
    for name, counts in (("users_max", item.users_max), ("context_tokens_max", item.context_tokens_max)):
        row.update(_interval(name, counts, whole=True))
    for name, value in (
        ("itl_s", item.itl_s), ("ttft_s", item.ttft_s), ("decode_tokens_per_s", item.decode_tokens_per_s),
    ):  # fmt: skip
        row.update(_interval(name, value))
    row.update(
        loss_points_low=item.accuracy.low, loss_points_high=item.accuracy.high, reason=item.reason, command=item.flags
    )
    return row


def _budget(name: str, budget: Budget | None) -> Row:
    """``hbm_used_bytes_low`` ... ``hbm_limit_bytes``; cores have no unit but themselves."""
    unit = f"_{_UNITS[name]}" if _UNITS[name] else ""
    whole = name in _IN_WHOLES
    limit = budget.limit if budget else None
    return {
        **_interval(f"{name}_used{unit}", budget.used if budget else None, whole=whole),
        f"{name}_limit{unit}": _whole(limit) if whole else limit,
    }


def _interval(name: str, value: Interval | None, whole: bool = False) -> Row:
    ends: tuple[float | None, ...] = value if value is not None else (None, None, None)
    return {f"{name}_{end}": _whole(figure) if whole else figure for end, figure in zip(_ENDS, ends, strict=True)}


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
