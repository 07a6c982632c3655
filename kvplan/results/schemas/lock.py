"""``kvplan.lock/1``."""

from __future__ import annotations

from kvplan.results.json_shapes import Json
from kvplan.results.schemas.shapes import COUNT, FLAG, MODEL, TEXT, described, envelope, listed, nullable, record

_PLACES: Json = described(listed(TEXT), "path:line of the deployments that use the name")
_NAME = described(TEXT, "as the deployment files have it; empty where they leave it open")

_LOCKED = record(
    name=described(TEXT, "of the row"),
    aliases=described(listed(TEXT), "other names under which deployment files mean it"),
    status={
        "enum": ["new", "changed", "same", "kept"],
        "description": "against the file as it was; kept: not read again, for it is on the Hub or not on this machine",
    },
    hub_id=nullable(TEXT),
    form={"enum": ["config", "layout"], "description": "keys of a config.json, or what another file says"},
    model=MODEL,
    kv_bytes_per_token=described(COUNT, "bytes in 16 bits over all GPUs, once every window is full"),
    warnings=listed(TEXT),
    places=_PLACES,
)
_KNOWN = record(
    text=_NAME,
    name=described(TEXT, "of the catalog's row"),
    catalog=described(TEXT, "the file that has it"),
    only_here=described(FLAG, "the user's own catalog: another machine does not read it"),
    places=_PLACES,
)

SCHEMAS = {
    "lock": envelope(
        "lock",
        file=described(TEXT, "the lock file"),
        deployments=COUNT,
        written=described(FLAG, "the file was changed"),
        stale=described(FLAG, "the file did not say what it should"),
        locked=listed(_LOCKED),
        known=described(listed(_KNOWN), "names that a catalog has, so that nothing is locked for them"),
        dropped=described(listed(record(name=TEXT, reason=TEXT)), "rows that the file had and needs no more"),
        unlocked=described(
            listed(record(text=_NAME, question=TEXT, remedy=nullable(TEXT), places=_PLACES)),
            "what could not be locked, and the question that is open",
        ),
        unreadable=described(listed(record(where=TEXT, message=TEXT)), "files that may name models"),
    ),
}
