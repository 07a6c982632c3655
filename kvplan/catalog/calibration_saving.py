"""``kvplan calibrate --save``: a calibration becomes a row of the user's catalog."""

from __future__ import annotations

from typing import Any

from kvplan.catalog.hardware import SHIPPED
from kvplan.catalog.row_names import checked_name
from kvplan.catalog.row_target import Added, row_target
from kvplan.catalog.toml_writer import table_text
from kvplan.domain.calibration import Calibration
from kvplan.units import to_gib

_SETTINGS = (
    "kv_cache_dtype", "gpu_memory_utilization", "mem_fraction_static", "max_model_len", "max_num_batched_tokens",
    "max_num_seqs", "block_size", "enforce_eager",
)  # fmt: skip
"""Of EngineSettings, what a row keeps."""


def save_calibration(calibration: Calibration, catalog: str | None, *, replace: bool) -> Added:
    """Write it to the user's catalog, beside the hosts, or to ``catalog``."""
    name = checked_name(calibration.name, "calibration")
    row = row_of(calibration)
    with row_target("calibration", SHIPPED, catalog) as target:
        return target.add(name, (), table_text(("calibrations", name), row), row, replace=replace)


def row_of(calibration: Calibration) -> dict[str, Any]:
    """The row as it is written: what is not known and what is 1 anyway left out."""
    settings = {name: getattr(calibration.settings, name) for name in _SETTINGS}
    layout = {name: count for name, count in calibration.layout._asdict().items() if count > 1}
    row = {
        "host": calibration.host,
        "engine": calibration.engine.name,
        "version": calibration.engine.version,
        "model": calibration.model,
        "weights": calibration.weights,
        "layout": layout,
        "settings": {name: value for name, value in settings.items() if value not in (None, False)},
        "users": calibration.users,
        "context_tokens": calibration.context_tokens,
        "observed_gib": {term: round(to_gib(value), 4) for term, value in calibration.observed.items()},
        "source": calibration.source,
    }
    return {key: value for key, value in row.items() if value != {}}
