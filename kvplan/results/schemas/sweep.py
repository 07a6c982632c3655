"""``kvplan.sweep/1``. Lists of lists go by context, then by users, as ``axes`` has them."""

from __future__ import annotations

from kvplan.results.schemas.shapes import (
    BOUND_BY,
    CATALOG,
    ENGINE,
    HOST,
    LAYOUT,
    MODEL,
    OBJECTIVES,
    OUTCOME,
    POSITIVE,
    SECONDS,
    TEXT,
    envelope,
    listed,
    nullable,
    record,
)  # fmt: skip

SCHEMAS = {
    "sweep": envelope(
        "sweep",
        model=MODEL,
        host=HOST,
        engine=ENGINE,
        objectives=OBJECTIVES,
        layout=LAYOUT,
        sentence=TEXT,
        axes=record(context_tokens=listed(POSITIVE), users=listed(POSITIVE)),
        strategies=listed(record(id=TEXT, outcomes=listed(listed(OUTCOME)))),
        outcomes=listed(listed(OUTCOME)),
        winners=listed(listed(nullable(TEXT))),
        itl_s=listed(listed(nullable(SECONDS))),
        bound_by=listed(listed(BOUND_BY)),
        catalog=CATALOG,
    )
}
