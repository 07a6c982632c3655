"""``kvplan.model-import/1`` and ``kvplan.host-import/1``."""

from __future__ import annotations

from kvplan.results.json_shapes import Json
from kvplan.results.schemas.shapes import BYTES, COUNT, FLAG, HOST, MODEL, TEXT, described, envelope, listed, nullable

_ADDED: dict[str, Json] = {
    "name": described(TEXT, "what --model or --host takes"),
    "aliases": listed(TEXT),
    "file": described(TEXT, "the catalog that the row was written to"),
    "always_read": described(FLAG, "false: give the file with --catalog"),
    "replaced": nullable(described(TEXT, "the catalog of the row that the name meant before")),
    "lost_aliases": described(listed(TEXT), "names of the replaced row that mean nothing any more"),
}
_NEXT = described(listed(TEXT), "commands to type next")

SCHEMAS = {
    "model-import": envelope(
        "model-import",
        **_ADDED,
        hub_id=nullable(TEXT),
        form={"enum": ["config", "layout"], "description": "keys of a config.json, or what another file says"},
        model=MODEL,
        dtype=TEXT,
        kv_bytes_per_token=described(COUNT, "bytes in 16 bits over all GPUs, once every window is full"),
        weight_bytes=nullable(BYTES),
        weight_bytes_are_true=described(FLAG, "of the tensors; false: computed from the config"),
        warnings=listed(TEXT),
        next=_NEXT,
    ),
    "host-import": envelope(
        "host-import",
        **_ADDED,
        title=TEXT,
        host=HOST,
        unknown=described(listed(TEXT), "names of the figures that the row does not state"),
        next=_NEXT,
    ),
}
