"""``kvplan.fit/1`` and ``kvplan.fit-matrix/1``."""

from __future__ import annotations

from kvplan.results.json_shapes import Json
from kvplan.results.schemas.shapes import (
    BOUND_BY,
    BREAK_EVEN,
    BYTES,
    CATALOG,
    COUNT,
    ENGINE,
    FLAG,
    GPU_MEMORY,
    HOST,
    LAYOUT,
    MODEL,
    NUMBER,
    OBJECTIVES,
    OUTCOME,
    POSITIVE,
    SECONDS,
    SENSITIVITY,
    TEXT,
    described,
    envelope,
    interval,
    listed,
    nullable,
    record,
)  # fmt: skip

_ENDS_OF_BYTES = interval(BYTES)
_ENDS_OF_COUNT = interval(COUNT)
_ENDS_OF_NUMBER = interval(NUMBER)


def _budget(number: Json, unit: str) -> Json:
    """``used`` is the demand at the ITL objective; a limit of null is not known, or there is none."""
    part = record(name=TEXT, value=number, formula=TEXT, source=TEXT)
    return record(used=nullable(interval(number, unit)), limit=nullable(described(number, unit)), parts=listed(part))


_BUDGETS = {
    "type": "object",
    "additionalProperties": False,
    "description": "empty where the strategy is not applicable, or an input is not known",
    "properties": {
        "hbm": _budget(COUNT, "bytes of one GPU"),
        "dram_capacity": _budget(COUNT, "bytes of the whole host"),
        "dram_bandwidth": _budget(NUMBER, "bytes per second, whole host"),
        "link": _budget(NUMBER, "bytes per second of one GPU"),
        "cpu_cores": _budget(NUMBER, "physical cores of the whole host"),
    },
}

_STRATEGY = record(
    id=TEXT,
    method=nullable(described(TEXT, "the published method whose constants were taken")),
    outcome=OUTCOME,
    bound_by=BOUND_BY,
    reason=nullable(TEXT),
    kv_bytes_per_token=nullable(described(COUNT, "bytes of one GPU")),
    budgets=_BUDGETS,
    users_max=nullable(_ENDS_OF_COUNT),
    context_tokens_max=nullable(_ENDS_OF_COUNT),
    itl_s=nullable(interval(SECONDS)),
    ttft_s=nullable(interval(SECONDS)),
    decode_tokens_per_s=nullable(_ENDS_OF_NUMBER),
    accuracy=record(
        loss_points=record(low=nullable(NUMBER), high=nullable(NUMBER)),
        on=TEXT,
        source=TEXT,
        task=described({"enum": ["retrieval", "reasoning", "chat", None]}, "--task; null: whatever was published"),
    ),
    flags=nullable(described(TEXT, "the command to paste; null where the engine has no such feature")),
    evidence=listed(TEXT),
    notes=listed(TEXT),
    longest_request=nullable(
        described(record(outcome=OUTCOME, hbm_bytes=_ENDS_OF_COUNT), "with a replica to itself; null: all are as long")
    ),
    break_even=nullable(described(BREAK_EVEN, "of strategies that reload KV")),
)

_LENGTHS = record(quantiles=listed(record(fraction=NUMBER, tokens=POSITIVE)), mean_tokens=_ENDS_OF_NUMBER, source=TEXT)

FIT = envelope(
    "fit",
    model=MODEL,
    host=HOST,
    engine=ENGINE,
    workload=record(
        context_tokens=POSITIVE,
        prompt_tokens=POSITIVE,
        output_tokens=nullable(POSITIVE),
        users=POSITIVE,
        lengths=nullable(_LENGTHS),
    ),
    objectives=OBJECTIVES,
    layout=LAYOUT,
    gpu_memory=GPU_MEMORY,
    verdict=record(outcome=OUTCOME, strategy=nullable(TEXT), bound_by=BOUND_BY, sentence=TEXT),
    catalog=CATALOG,
    strategies=listed(_STRATEGY),
    remedies=listed(record(change=TEXT, strategy=TEXT, users_max=COUNT, itl_s=nullable(interval(SECONDS)), works=FLAG)),
    sensitivity=nullable(described(SENSITIVITY, "null unless asked for")),
    not_modelled=listed(TEXT),
    warnings=listed(TEXT),
)

SCHEMAS = {
    "fit": FIT,
    "fit-matrix": record(
        schema={"const": "kvplan.fit-matrix/1"},
        fits={**listed(FIT), "minItems": 1},
        refused=listed(described(record(host=TEXT, message=TEXT, help=nullable(TEXT)), "a host that can't be judged")),
    ),
}
