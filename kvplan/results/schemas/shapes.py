"""The pieces that schemas are made of."""

from __future__ import annotations

from typing import Final

from kvplan.results.json_shapes import Json

TEXT: Final[Json] = {"type": "string"}
FLAG: Final[Json] = {"type": "boolean"}
COUNT: Final[Json] = {"type": "integer", "minimum": 0}
POSITIVE: Final[Json] = {"type": "integer", "minimum": 1}
NUMBER: Final[Json] = {"type": "number", "minimum": 0}
FRACTION: Final[Json] = {"type": "number", "minimum": 0, "maximum": 1}
OUTCOME: Final[Json] = {"enum": ["fits", "tight", "unlikely", "no", "na", "unknown"]}
BOUND_BY: Final[Json] = {"type": ["string", "null"], "description": "a budget or an objective; null where it fits"}


def record(**fields: Json) -> Json:
    """An object with exactly these fields."""
    return {"type": "object", "additionalProperties": False, "required": list(fields), "properties": fields}


def described(shape: Json, text: str) -> Json:
    """The same with a description, which says the unit."""
    return {**shape, "description": text}


def nullable(shape: Json) -> Json:
    """The same, or null where it is not known."""
    if isinstance(shape.get("type"), str):
        return {**shape, "type": [shape["type"], "null"]}
    return {"anyOf": [shape, {"type": "null"}]}


def listed(shape: Json) -> Json:
    """A list of them."""
    return {"type": "array", "items": shape}


def table(shape: Json) -> Json:
    """An object with any names, each with a value of this shape."""
    return {"type": "object", "additionalProperties": shape}


def interval(shape: Json, text: str = "") -> Json:
    """``{"low", "best", "high"}``, also where the three are equal."""
    body = record(low=shape, best=shape, high=shape)
    return described(body, text) if text else body


def envelope(name: str, /, **fields: Json) -> Json:
    """An answer: its schema's name, the version of kvplan, and its fields."""
    return record(schema={"const": f"kvplan.{name}/1"}, kvplan_version=TEXT, **fields)


BYTES: Final = described(COUNT, "bytes")
BYTES_PER_S: Final = described(NUMBER, "bytes per second")
SECONDS: Final = described(NUMBER, "seconds")
ENGINE: Final = record(name=TEXT, version=TEXT)
LAYOUT: Final = record(tp=POSITIVE, pp=POSITIVE, dp=POSITIVE, ep=POSITIVE, dcp=POSITIVE)
CATALOG: Final = record(digest=TEXT, files=listed(TEXT))
OBJECTIVES: Final = record(itl_s=SECONDS, ttft_s=nullable(SECONDS), margin_fraction=FRACTION)

PARAMETERS: Final = {
    "description": "elements that the checkpoint stores; low, best and high where the config leaves out a tower",
    "anyOf": [POSITIVE, interval(POSITIVE)],
}

MODEL: Final = record(
    name=TEXT,
    parameters=PARAMETERS,
    active_parameters=described(POSITIVE, "elements that one token multiplies with"),
    layers=POSITIVE,
    max_context_tokens=nullable(POSITIVE),
    source=TEXT,
)

HOST: Final = record(
    name=TEXT,
    gpus=described(COUNT, "GPUs in use"),
    gpu=nullable(TEXT),
    hbm_bytes=nullable(described(COUNT, "bytes of one GPU")),
    dram_bytes=nullable(BYTES),
    cpu_cores=nullable(described(NUMBER, "physical cores")),
    numa_nodes=nullable(POSITIVE),
    link=nullable(record(kind=TEXT, bytes_per_s=BYTES_PER_S)),
    unified_memory=FLAG,
    source=TEXT,
)

GPU_MEMORY: Final = record(
    total_bytes=BYTES,
    budget_bytes=BYTES,
    weight_bytes=BYTES,
    activation_bytes=BYTES,
    runtime_bytes=BYTES,
    graph_bytes=BYTES,
    kv_pool_bytes=interval(BYTES),
    kv_pool_tokens=nullable(COUNT),
    levers=listed(record(flag=TEXT, kv_pool_bytes=BYTES)),
    calibration=nullable(described(TEXT, "the calibration that some of it was taken from")),
)

BREAK_EVEN: Final = record(
    reload_beats_recompute_tokens=nullable(interval(COUNT, "cached tokens from which a reload is faster; null: never")),
    hit_fraction=nullable(interval(FRACTION, "hits above which prefill throughput gains; null: none")),
)

SENSITIVITY: Final = record(
    seed={"type": "integer"},
    points=described(COUNT, "draws of all uncertain inputs together"),
    inputs=listed(TEXT),
    holds_fraction=nullable(described(FRACTION, "share of the draws with the same answer; null: no figure decides")),
    turns=described(
        listed(
            record(
                input=TEXT,
                change_fraction=described({"type": "number"}, "the smallest that turns the verdict; negative: less"),
                outcome=OUTCOME,
                strategy=nullable(TEXT),
                bound_by=BOUND_BY,
            )
        ),
        "inputs that do so by themselves within 20 %, the smallest change first",
    ),
)
