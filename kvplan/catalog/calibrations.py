"""Calibrations in the user's catalogs: rows ``[calibrations.NAME]`` that ``kvplan calibrate --save`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvplan.catalog.files import CatalogFile, Table, config_paths, listed_paths, read_file
from kvplan.domain.calibration import TERMS, Calibration
from kvplan.domain.deployment import EngineChoice, EngineSettings, Layout
from kvplan.units import gib, shorten


def load_calibrations(host: str, extra: Sequence[str] = ()) -> tuple[Calibration, ...]:
    """What was kept for a host, in the order of the files. Where there are no user's files this costs nothing."""
    paths = [*config_paths(), *listed_paths(), *extra]
    files = [file for file in map(read_file, paths) if "calibrations" in file.text]
    if not files:
        return ()
    table = Table("calibrations", files)
    rows = [(name, *table.row(name)) for name in table.names()]
    return tuple(_calibration(name, row, file) for name, row, file in rows if row.get("host", host) == host)


def _calibration(name: str, row: dict[str, Any], file: CatalogFile) -> Calibration:
    from kvplan.catalog.calibration_rows import checked_row

    checked = checked_row(row, f"{file.path} [calibrations.{shorten(name)}]")
    observed = {term: getattr(checked.observed_gib, term) for term in TERMS}
    return Calibration(
        name=name,
        host=checked.host,
        engine=EngineChoice(checked.engine, checked.version),
        model=checked.model,
        weights=checked.weights,
        layout=Layout(**checked.layout.model_dump()),
        settings=EngineSettings(**checked.settings.model_dump()),
        users=checked.users,
        context_tokens=checked.context_tokens,
        observed={term: gib(value) for term, value in observed.items() if value is not None},
        source=checked.source,
    )
