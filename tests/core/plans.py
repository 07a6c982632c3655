"""Plans for tests, built from nothing: every charge and every limit is off unless a test says otherwise."""

from __future__ import annotations

from kvplan.core.shapes import (
    Charges,
    GpuRates,
    HostRates,
    KvGrowth,
    KvGrowths,
    Limits,
    ModelWork,
    Plan,
    Traffic,
)  # fmt: skip

NO_GROWTH = KvGrowth(0.0, 0.0, 0.0, 1.0, 0.0)
EVERYTHING = 1e30

RESIDENT = Charges(*[0.0] * len(Charges._fields))._replace(
    resident_fraction=1.0, read_fraction=1.0, link_rate_fraction=1.0, prefill_factor=1.0, kv_rate_fraction=1.0
)


def growths(*found: KvGrowth) -> KvGrowths:
    """Up to four, filled up."""
    first, second, third, fourth = (*found, *[NO_GROWTH] * 4)[:4]
    return first, second, third, fourth


def full(bytes_per_token: float, block_tokens: float = 1.0) -> KvGrowths:
    """Layers that keep every token."""
    return growths(KvGrowth(bytes_per_token, 0.0, 0.0, block_tokens, 0.0))


def plan(kv: KvGrowths, **fields: float) -> Plan:
    """A dense model on one GPU of an endless host; ``fields`` are set in whichever record has them."""
    records = {
        "kv": kv,
        "model": ModelWork(4.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        "charges": RESIDENT,
        "gpu": GpuRates(EVERYTHING, EVERYTHING, EVERYTHING, EVERYTHING, 0.0, 0.0, EVERYTHING, 0.0),
        "host": HostRates(EVERYTHING, EVERYTHING, EVERYTHING, EVERYTHING, 1.0),
        "limits": Limits(EVERYTHING, EVERYTHING, EVERYTHING, *[0.0] * 9, 1.0),
        "traffic": Traffic(1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
    for name, value in fields.items():
        owners = [key for key, record in records.items() if name in getattr(record, "_fields", ())]
        assert len(owners) == 1, f"{name} is a field of {owners}"
        records[owners[0]] = records[owners[0]]._replace(**{name: float(value)})  # type: ignore[union-attr]
    return Plan(**records)  # type: ignore[arg-type]
