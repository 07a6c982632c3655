"""The form of a ``[calibrations.NAME]`` row, checked by pydantic: one clear line for a slip of the hand."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kvplan.catalog.row_errors import in_one_line
from kvplan.units import LARGEST_COUNT

_Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
_Share = Annotated[float, Field(gt=0, le=1)]
_Gib = Annotated[float, Field(ge=0, le=65_536, allow_inf_nan=False)]
_Word = Annotated[str, Field(min_length=1, max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LayoutRow(_Strict):
    """How the model was spread."""

    tp: _Count = 1
    pp: _Count = 1
    dp: _Count = 1
    ep: _Count = 1
    dcp: _Count = 1


class SettingsRow(_Strict):
    """Engine flags that were given, or that the engine said it uses."""

    kv_cache_dtype: _Word | None = None
    gpu_memory_utilization: _Share | None = None
    mem_fraction_static: _Share | None = None
    max_model_len: _Count | None = None
    max_num_batched_tokens: _Count | None = None
    max_num_seqs: _Count | None = None
    block_size: _Count | None = None
    enforce_eager: bool = False


class ObservedRow(_Strict):
    """GiB of one GPU."""

    total: _Gib | None = None
    budget: _Gib | None = None
    weights: _Gib | None = None
    activation: _Gib | None = None
    runtime: _Gib | None = None
    graphs: _Gib | None = None
    rest: _Gib | None = None


class CalibrationRow(_Strict):
    """One row."""

    host: _Word
    engine: _Word
    version: _Word
    model: _Word
    weights: _Word
    layout: LayoutRow = LayoutRow()
    settings: SettingsRow = SettingsRow()
    users: _Count = 1
    context_tokens: _Count
    observed_gib: ObservedRow
    source: str


def checked_row(row: dict[str, Any], where: str) -> CalibrationRow:
    """The row, or the first thing that is wrong with it as a CatalogError."""
    try:
        return CalibrationRow.model_validate(row)
    except ValidationError as error:
        raise in_one_line(error, where, CalibrationRow.model_fields) from None
