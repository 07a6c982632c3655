"""``kvplan.check/1``."""

from __future__ import annotations

from kvplan.results.schemas.shapes import COUNT, OUTCOME, TEXT, described, listed, nullable, record, table

_PLACE = described(TEXT, "path:line")
_VALUE = {"type": ["string", "number", "boolean", "array", "null"]}
_SETTING = record(value=_VALUE, where=nullable(_PLACE), default_of=nullable(TEXT))

_DEPLOYMENT = record(
    name=TEXT,
    form=TEXT,
    where=_PLACE,
    engine=nullable(TEXT),
    engine_version=nullable(TEXT),
    model=nullable(TEXT),
    host=nullable(TEXT),
    settings=table(_SETTING),
    outcome=nullable(OUTCOME),
)

_FINDING = record(
    rule={"type": "string", "pattern": "^KV[0-9]{3}$"},
    level={"enum": ["fail", "warn", "unknown", "info"]},
    deployment=nullable(TEXT),
    where=nullable(_PLACE),
    message=TEXT,
    figures={"type": "object"},
    formula=nullable(TEXT),
    remedy=nullable(TEXT),
    suppressed=nullable(described(TEXT, "the reason; null where the finding counts")),
)

SCHEMAS = {
    "check": record(
        schema={"const": "kvplan.check/1"},
        summary=record(fail=COUNT, warn=COUNT, unknown=COUNT, info=COUNT, suppressed=COUNT, deployments=COUNT),
        deployments=listed(_DEPLOYMENT),
        findings=listed(_FINDING),
    )
}
