"""``kvplan.error/1``: what ``--format json`` prints where there is no answer."""

from __future__ import annotations

from kvplan.results.schemas.shapes import TEXT, described, nullable, record

SCHEMAS = {
    "error": record(
        schema={"const": "kvplan.error/1"},
        error=record(
            code=described(TEXT, "input, unknown_name, catalog, cannot_judge, unknown_architecture, usage or bug"),
            message=TEXT,
            where=nullable(described(TEXT, "a file, its line or its row")),
            help=nullable(TEXT),
        ),
    )
}
