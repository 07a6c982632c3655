"""JSON Schemas (draft 2020-12) of everything that kvplan prints as JSON: what scripts may rely on.

Written by hand, one file a family of answers. They are strict: every field is required and no other is allowed, so
that a change of an answer without a change of its schema fails the tests. What is not known is null, never 0.
"""

from __future__ import annotations

from importlib import import_module

from kvplan.errors import UnknownName
from kvplan.results.json_shapes import Json

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_WHERE = {
    "fit": "fit", "fit-matrix": "fit", "kv": "kv", "check": "check", "diff": "check", "sweep": "sweep",
    "lock": "lock", "error": "error",
    "model": "listings", "models": "listings", "families": "listings", "host": "listings", "hosts": "listings",
    "calibrate": "calibrate", "explain": "explain", "explain-list": "explain",
    "model-import": "imports", "host-import": "imports",
}  # fmt: skip
"""Name of a schema -> the file of this folder that holds it."""

NAMES = tuple(_WHERE)


def schema(name: str) -> Json:
    """The schema of one kind of answer by its name: ``fit`` describes ``kvplan.fit/1``."""
    wanted = name.lower().removeprefix("kvplan.").partition("/")[0]
    if wanted not in _WHERE:
        raise UnknownName.of("schema", name, NAMES, listing="known: " + ", ".join(NAMES))
    body = import_module(f"{__name__}.{_WHERE[wanted]}").SCHEMAS[wanted]
    return {"$schema": DRAFT, "title": f"kvplan.{wanted}/1", **body}
