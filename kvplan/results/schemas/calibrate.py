"""``kvplan.calibrate/1``."""

from __future__ import annotations

from kvplan.results.schemas.shapes import (
    BYTES,
    ENGINE,
    FLAG,
    LAYOUT,
    NUMBER,
    POSITIVE,
    TEXT,
    described,
    envelope,
    interval,
    listed,
    nullable,
    record,
    table,
)  # fmt: skip

SCHEMAS = {
    "calibrate": envelope(
        "calibrate",
        log=record(
            files=listed(TEXT),
            engine=TEXT,
            version=nullable(TEXT),
            starts=POSITIVE,
            complete=described(FLAG, "the KV cache was set up"),
            settings=described(table({"type": ["string", "number", "boolean"]}), "flags, with underscores"),
        ),
        model=nullable(TEXT),
        host=nullable(TEXT),
        engine=nullable(described(ENGINE, "as predicted")),
        layout=nullable(LAYOUT),
        ranks=listed(
            record(name=TEXT, figures=described(table({"type": "number"}), "bytes, tokens, sequences of one GPU"))
        ),
        figures=listed(
            record(
                name=TEXT,
                unit={"enum": ["bytes", "tokens", "sequences"]},
                predicted=nullable(interval(NUMBER)),
                observed=nullable({"type": "number"}),
                error_fraction=nullable(described({"type": "number"}, "(best - observed) / observed")),
                inside=nullable(described(FLAG, "the interval holds what was observed")),
            )
        ),
        unpredicted=nullable(described(TEXT, "why nothing was predicted")),
        saved=nullable(
            record(
                name=TEXT,
                file=TEXT,
                always_read=FLAG,
                replaced=nullable(TEXT),
                terms=described(table(BYTES), "total, budget, weights, activation, runtime, graphs, rest: of one GPU"),
            )
        ),
        notes=listed(TEXT),
    )
}
