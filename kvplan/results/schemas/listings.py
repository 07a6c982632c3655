"""``kvplan.models/1``, ``kvplan.model/1``, ``kvplan.families/1``, ``kvplan.hosts/1``, ``kvplan.host/1``."""

from __future__ import annotations

from kvplan.results.schemas.shapes import (
    BYTES,
    COUNT,
    FLAG,
    NUMBER,
    PARAMETERS,
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

_ATTENTION = described(listed(TEXT), "MHA, GQA, MQA or MLA; kinds of layers beside full attention; MoE")
_TOKEN = described(COUNT, "bytes in 16 bits over all GPUs, once every window is full")
_NAME = described(TEXT, "what --model or --host takes")
_PRICE = nullable(described(NUMBER, "US dollars"))

_MODEL_ROW = record(
    name=_NAME,
    title=TEXT,
    hub_id=nullable(TEXT),
    family=TEXT,
    model_type=TEXT,
    attention=_ATTENTION,
    layer_kinds=described(listed(TEXT), "full, sliding, mla, gdn ...: what the layers keep of a sequence"),
    parameters=POSITIVE,
    active_parameters=POSITIVE,
    layers=POSITIVE,
    kv_bytes_per_token=_TOKEN,
    max_context_tokens=nullable(POSITIVE),
    dtype=TEXT,
    source=TEXT,
)

_MODEL = envelope(
    "model",
    name=_NAME,
    title=TEXT,
    hub_id=nullable(TEXT),
    aliases=listed(TEXT),
    family=nullable(TEXT),
    model_type=TEXT,
    attention=_ATTENTION,
    parameters=PARAMETERS,
    published_parameters=nullable(POSITIVE),
    active_parameters=POSITIVE,
    layers=POSITIVE,
    hidden_size=POSITIVE,
    attention_heads=POSITIVE,
    vocab_size=POSITIVE,
    experts=nullable(
        record(experts=POSITIVE, experts_per_token=POSITIVE, moe_layers=POSITIVE, intermediate_size=POSITIVE)
    ),
    max_context_tokens=nullable(POSITIVE),
    dtype=TEXT,
    kv_layers=listed(
        record(
            kind=TEXT,
            layers=POSITIVE,
            bytes_per_token=described(COUNT, "bytes in 16 bits, all these layers"),
            window_tokens=nullable(POSITIVE),
            kv_heads=COUNT,
            key_elements=COUNT,
            value_elements=COUNT,
        )
    ),
    kv_bytes_per_token=_TOKEN,
    kv_bytes_fixed_per_sequence=described(COUNT, "bytes in 16 bits: states and full windows"),
    weight_bytes=described(table(BYTES), "bytes of all weights by type"),
    source=TEXT,
    notes=nullable(TEXT),
    warnings=listed(TEXT),
)

_HOST_ROW = record(
    name=_NAME,
    title=TEXT,
    aliases=listed(TEXT),
    category=TEXT,
    vendor=described(TEXT, "of the GPU; cpu where there is none"),
    gpu=nullable(TEXT),
    gpus=COUNT,
    hbm_bytes=nullable(described(COUNT, "bytes of one GPU; of unified memory the whole pool")),
    hbm_bytes_per_s=nullable(NUMBER),
    dram_bytes=nullable(BYTES),
    dram_bytes_per_s=nullable(NUMBER),
    cpu_cores=nullable(NUMBER),
    link=nullable(TEXT),
    unified_memory=FLAG,
    usd_per_hour=_PRICE,
    unknown=described(listed(TEXT), "figures that no source states, as kvplan host show names them"),
    file=described(TEXT, "the catalog that the row stands in"),
    source=TEXT,
)

_FIGURE = record(
    name=TEXT,
    of={"enum": ["gpu", "host"]},
    value=nullable(interval(NUMBER)),
    unit={"enum": ["bytes", "bytes/s", "FLOP/s", "fraction", "s", "cores"]},
    basis=nullable(described(TEXT, "what an estimate rests on; null where the source states the figure")),
)

_HOST = envelope(
    "host",
    name=_NAME,
    title=TEXT,
    aliases=listed(TEXT),
    category=TEXT,
    platform=TEXT,
    gpu=nullable(record(name=TEXT, vendor=TEXT, kernel_class=TEXT, source=TEXT)),
    gpus=COUNT,
    cpu=nullable(TEXT),
    numa_nodes=nullable(POSITIVE),
    link=nullable(record(kind=TEXT, gpus_per_uplink=POSITIVE)),
    unified_memory=FLAG,
    figures=listed(_FIGURE),
    unknown=described(listed(TEXT), "names of the figures whose value is null"),
    usd_per_hour=_PRICE,
    source=TEXT,
    notes=listed(TEXT),
)

SCHEMAS = {
    "models": envelope("models", models=listed(_MODEL_ROW)),
    "model": _MODEL,
    "families": envelope("families", families=listed(record(family=TEXT, model_types=listed(TEXT)))),
    "hosts": envelope("hosts", hosts=listed(_HOST_ROW)),
    "host": _HOST,
}
