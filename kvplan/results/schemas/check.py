"""``kvplan.check/1`` and ``kvplan.diff/1``."""

from __future__ import annotations

from typing import Final

from kvplan.results.json_shapes import Json
from kvplan.results.schemas.shapes import COUNT, NUMBER, OUTCOME, TEXT, described, listed, nullable, record, table

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

_FINDING_FIELDS: Final[dict[str, Json]] = {
    "rule": {"type": "string", "pattern": "^KV[0-9]{3}$"},
    "level": {"enum": ["fail", "warn", "unknown", "info"]},
    "deployment": nullable(TEXT),
    "where": nullable(_PLACE),
    "message": TEXT,
    "figures": {"type": "object"},
    "formula": nullable(TEXT),
    "remedy": nullable(TEXT),
    "suppressed": nullable(described(TEXT, "the reason; null where the finding counts")),
}
_FINDING = record(**_FINDING_FIELDS)


def _both(shape: Json) -> Json:
    """A fact before and after; null where it is not known, or where the deployment was not there."""
    return record(old=nullable(shape), new=nullable(shape))


_SIDE = record(name=TEXT, commit=nullable(described(TEXT, "of a git revision; null for a folder")))
_CHANGED = record(name=TEXT, old=_VALUE, new=_VALUE, old_where=nullable(TEXT), new_where=nullable(TEXT))
_CHANGE = record(
    name=TEXT,
    status={"enum": ["added", "removed", "changed", "unchanged"]},
    old_name=nullable(TEXT),
    old_where=nullable(_PLACE),
    where=nullable(_PLACE),
    model=_both(TEXT),
    host=_both(TEXT),
    engine=_both(TEXT),
    outcome=_both(OUTCOME),
    figures=record(
        kv_pool_tokens=_both(COUNT),
        kv_pool_bytes=_both(described(COUNT, "bytes on one GPU")),
        weight_bytes=_both(described(COUNT, "bytes on one GPU")),
        pinned_host_bytes=_both(described(COUNT, "bytes of host memory that settings pin, of the whole deployment")),
        gpus=_both(COUNT),
        users_max=_both(COUNT),
        itl_s=_both(described(NUMBER, "seconds")),
    ),
    settings=listed(_CHANGED),
)
_FINDING_STATUSES = ("new", "worse", "fixed", "suppressed", "unchanged")

SCHEMAS = {
    "check": record(
        schema={"const": "kvplan.check/1"},
        summary=record(fail=COUNT, warn=COUNT, unknown=COUNT, info=COUNT, suppressed=COUNT, deployments=COUNT),
        deployments=listed(_DEPLOYMENT),
        findings=listed(_FINDING),
    ),
    "diff": record(
        schema={"const": "kvplan.diff/1"},
        base=_SIDE,
        head=_SIDE,
        summary=record(
            deployments=record(added=COUNT, removed=COUNT, changed=COUNT, unchanged=COUNT),
            findings=record(**dict.fromkeys(_FINDING_STATUSES, COUNT)),
        ),
        deployments=listed(_CHANGE),
        findings=listed(record(status={"enum": list(_FINDING_STATUSES)}, **_FINDING_FIELDS)),
    ),
}
