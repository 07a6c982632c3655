"""``kvplan.explain/1`` and ``kvplan.explain-list/1``; a model or host has the schema of its own sheet."""

from __future__ import annotations

from kvplan.results.schemas.shapes import BREAK_EVEN, FLAG, NUMBER, TEXT, envelope, interval, listed, nullable, record

_INPUT = record(name=TEXT, value=interval(NUMBER), unit=nullable(TEXT), source=TEXT)
_LOSS = record(low=nullable(NUMBER), high=nullable(NUMBER))
_ACCURACY = record(loss_points=_LOSS, on=TEXT, source=TEXT)
_METHOD = record(
    name=TEXT,
    family=TEXT,
    default=FLAG,
    title=TEXT,
    setup=TEXT,
    formula=listed(TEXT),
    inputs=listed(_INPUT),
    accuracy=_ACCURACY,
    evidence=listed(TEXT),
    notes=listed(TEXT),
    source=TEXT,
)

SCHEMAS = {
    "explain": envelope(
        "explain",
        kind={"enum": ["strategy", "combination", "method", "figure", "rule"]},
        name=TEXT,
        title=TEXT,
        text=nullable(TEXT),
        unit=nullable(TEXT),
        formula=listed(TEXT),
        inputs=listed(_INPUT),
        accuracy=nullable(_ACCURACY),
        evidence=listed(TEXT),
        notes=listed(TEXT),
        source=nullable(TEXT),
        see=listed(TEXT),
        setup=nullable(TEXT),
        methods=listed(_METHOD),
        accuracy_by_task=listed(
            record(task={"enum": ["retrieval", "reasoning", "chat"]}, loss_points=_LOSS, on=TEXT, source=TEXT)
        ),
        deployment=nullable(TEXT),
        break_even=nullable(BREAK_EVEN),
    ),
    "explain-list": envelope("explain-list", topics=listed(record(kind=TEXT, name=TEXT, title=TEXT))),
}
