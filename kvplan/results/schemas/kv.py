"""``kvplan.kv/1``."""

from __future__ import annotations

from kvplan.results.schemas.shapes import (
    BYTES,
    COUNT,
    ENGINE,
    GPU_MEMORY,
    LAYOUT,
    NUMBER,
    POSITIVE,
    TEXT,
    described,
    envelope,
    listed,
    nullable,
    record,
)  # fmt: skip

_PER_GPU = described(COUNT, "bytes of one GPU")

SCHEMAS = {
    "kv": envelope(
        "kv",
        model=TEXT,
        engine=ENGINE,
        layout=LAYOUT,
        kv_cache_dtype=TEXT,
        block_tokens=POSITIVE,
        context_tokens=POSITIVE,
        kv_bytes_per_token=described(COUNT, "bytes of one GPU for one more token, once every window is full"),
        kv_bytes_per_token_all_gpus=BYTES,
        kv_bytes_fixed_per_sequence=described(COUNT, "bytes of one GPU: states and full windows"),
        kv_bytes_per_sequence=described(COUNT, "bytes of one GPU for a sequence of context_tokens"),
        layers=listed(
            record(
                kind=TEXT,
                layers=POSITIVE,
                bytes_per_token=_PER_GPU,
                window_tokens=nullable(POSITIVE),
                bytes_per_sequence=_PER_GPU,
            )
        ),
        weight_bytes=nullable(_PER_GPU),
        gpu_memory=described(nullable(GPU_MEMORY), "predicted, where a host is named and no pool is given"),
        pool=nullable(
            record(
                pool_bytes=_PER_GPU,
                blocks=COUNT,
                tokens=COUNT,
                max_concurrency=nullable(described(NUMBER, "sequences of context_tokens, or of --max-model-len")),
                log_line=nullable(TEXT),
            )
        ),
        notes=listed(TEXT),
        warnings=listed(TEXT),
    )
}
