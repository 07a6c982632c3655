"""Plans for tests, built from nothing: every charge and every limit is off unless a test says otherwise."""

from __future__ import annotations

from typing import Any

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

NO_GROWTH = KvGrowth(0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
EVERYTHING = 1e30


def zeros(kind: Any) -> Any:
    """A record with every field 0, those of tomorrow included."""
    return kind(*[0.0] * len(kind._fields))


RESIDENT: Charges = zeros(Charges)._replace(
    resident_fraction=1.0,
    read_fraction=1.0,
    link_rate_fraction=1.0,
    cpu_rate_fraction=1.0,
    prefill_factor=1.0,
    kv_rate_fraction=1.0,
)


def growths(*found: KvGrowth) -> KvGrowths:
    """Up to four, filled up."""
    first, second, third, fourth = (*found, *[NO_GROWTH] * 4)[:4]
    return first, second, third, fourth


def full(bytes_per_token: float, block_tokens: float = 1.0) -> KvGrowths:
    """Layers that keep every token."""
    return growths(KvGrowth(bytes_per_token, 0.0, 0.0, 0.0, block_tokens, 0.0, 0.0))


def plan(kv: KvGrowths, **fields: float) -> Plan:
    """A dense model on one GPU of an endless host; ``fields`` are set in whichever record has them.

    What spills fills HBM to the byte unless ``spill_to_bytes`` says otherwise.
    """
    fields.setdefault("spill_to_bytes", fields.get("hbm_bytes", EVERYTHING))
    records = {
        "kv": kv,
        "model": zeros(ModelWork)._replace(
            layers=4.0, weight_bytes=1.0, dense_read_bytes=1.0, stages=1.0, expert_groups=1.0
        ),
        "charges": RESIDENT,
        "gpu": GpuRates(*[EVERYTHING] * len(GpuRates._fields))._replace(
            step_overhead_s=0.0,
            all_reduce_s=0.0,
            peer_over_link=0.0,
            moe_layer_s=0.0,
            first_token_s=0.0,
            sequence_s=0.0,
            launch_s=0.0,
            prefill_peer_gain=1.0,
        ),
        "host": HostRates(*[EVERYTHING] * len(HostRates._fields))._replace(
            cpu_dram_fraction=1.0,
            cpu_weight_fraction=1.0,
            link_out_fraction=1.0,
            link_duplex_fraction=1.0,
            lesser_core_worth=1.0,
        ),
        "limits": zeros(Limits)._replace(
            hbm_bytes=EVERYTHING,
            dram_bytes=EVERYTHING,
            itl_s=EVERYTHING,
            tenants=1.0,
            prefill_chunk_tokens=EVERYTHING,
            pinned_weight_factor=1.0,
        ),
        "traffic": zeros(Traffic)._replace(gpus=1.0, replicas=1.0, prompt_fraction=1.0, reuse_factor=1.0),
    }
    for name, value in fields.items():
        owners = [key for key, record in records.items() if name in getattr(record, "_fields", ())]
        assert len(owners) == 1, f"{name} is a field of {owners}"
        records[owners[0]] = records[owners[0]]._replace(**{name: float(value)})  # type: ignore[union-attr]
    return Plan(**records)  # type: ignore[arg-type]
