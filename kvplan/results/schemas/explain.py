"""``kvplan.explain/1`` and ``kvplan.explain-list/1``; a model or host has the schema of its own sheet."""

from __future__ import annotations

from kvplan.results.schemas.shapes import NUMBER, TEXT, envelope, interval, listed, nullable, record

_INPUT = record(name=TEXT, value=interval(NUMBER), unit=nullable(TEXT), source=TEXT)
_ACCURACY = record(loss_points=record(low=nullable(NUMBER), high=nullable(NUMBER)), on=TEXT, source=TEXT)

SCHEMAS = {
    "explain": envelope(
        "explain",
        kind={"enum": ["strategy", "combination", "figure", "rule"]},
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
    ),
    "explain-list": envelope("explain-list", topics=listed(record(kind=TEXT, name=TEXT, title=TEXT))),
}
