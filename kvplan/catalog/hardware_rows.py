"""What a host or GPU row may hold: the pydantic models that check the files of users.

Imported only where such a row is met, and by the tests, which hold the shipped rows to the same models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from kvplan.catalog.hardware_domain import CATEGORIES, LARGEST_LINK_GB_PER_S, LINK_CLASSES_GB_PER_S
from kvplan.errors import CatalogError, did_you_mean
from kvplan.units import shorten, shorten_value

KERNEL_CLASSES: Final = (
    "volta", "turing", "ampere", "ada", "hopper", "blackwell_dc", "blackwell_rtx", "cdna2", "cdna3", "cdna4", "rdna",
    "gaudi", "xe2", "apple", "tpu", "neuron", "unknown",
)  # fmt: skip
VENDORS: Final = ("nvidia", "amd", "intel", "apple", "google", "aws", "unknown")
PLATFORMS: Final = ("linux", "macos", "windows", "wsl")
LINKS: Final = (*LINK_CLASSES_GB_PER_S, "unified")


def _refuse(message: str, value: object) -> PydanticCustomError:
    return PydanticCustomError("kvplan", "{text}", {"text": f"{message} (it is {shorten_value(value)})"})


def _number(value: object, largest: float, whole: bool = False, zero: bool = False) -> float:
    """A finite number above 0 (or from 0 on) and up to ``largest``; booleans and text are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise _refuse("must be a whole number" if whole else "must be a number", value)
    if value != value:
        raise _refuse("must be a number", value)
    if value < 0 or (value == 0 and not zero):
        raise _refuse("must not be negative" if zero else "must be greater than 0", value)
    if value > largest:
        raise _refuse(f"must be at most {largest:,g}", value)
    return value


def _interval(value: object, largest: float, zero: bool = False) -> object:
    """A number, or a table with low <= best <= high and perhaps a basis."""
    if not isinstance(value, Mapping):
        return _number(value, largest, zero=zero)
    unknown = [key for key in value if key not in ("low", "best", "high", "basis")]
    missing = [key for key in ("low", "best", "high") if key not in value]
    if unknown or missing:
        raise _refuse("must be a number or { low, best, high, basis }", value)
    low, best, high = (_number(value[key], largest, zero=zero) for key in ("low", "best", "high"))
    if not low <= best <= high:
        raise _refuse("must have low <= best <= high", (low, best, high))
    if not isinstance(value.get("basis", ""), str):
        raise _refuse("basis must be text", value["basis"])
    return value


def _up_to(largest: float) -> Any:
    return PlainValidator(lambda value: _number(value, largest))


def _whole_up_to(largest: float) -> Any:
    return PlainValidator(lambda value: _number(value, largest, whole=True))


def _figure_up_to(largest: float) -> Any:
    return PlainValidator(lambda value: _interval(value, largest))


def _reserve(value: object) -> object:
    """GiB kept aside; the one figure that may be 0."""
    return _interval(value, 65_536, zero=True)


def _one_of(choices: tuple[str, ...]) -> Any:
    def check(value: object) -> str:
        if isinstance(value, str) and value in choices:
            return value
        guesses = did_you_mean(value, choices) if isinstance(value, str) else []
        advice = f"did you mean {guesses[0]}?" if guesses else f"one of {', '.join(choices)}"
        raise _refuse(f"is not known; {advice}", value)

    return PlainValidator(check)


def _gpu_reference(value: object) -> object:
    """A name in the catalog, or a GPU row written in place."""
    if isinstance(value, (str, Mapping)):
        return value
    raise _refuse("must be the name of a GPU or a table", value)


def _texts(value: object) -> object:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise _refuse("must be a list of texts", value)


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise _refuse("must be text", value)


Text = Annotated[str, PlainValidator(_text)]
Texts = Annotated[list[str], PlainValidator(_texts)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    title: Text = ""
    aliases: Texts = []
    source: Text = ""
    notes: Texts = []


class GpuRow(_Row):
    """One accelerator as a file describes it."""

    vendor: Annotated[str, _one_of(VENDORS)] = "unknown"
    kernel_class: Annotated[str, _one_of(KERNEL_CLASSES)] = "unknown"
    unified: bool = False
    hbm_gib: Annotated[Any, _figure_up_to(16_384)] = None
    hbm_gb_per_s: Annotated[float, _up_to(1_000_000)] = 0.0
    bf16_tflops: Annotated[float, _up_to(1_000_000)] = 0.0
    fp8_tflops: Annotated[float, _up_to(1_000_000)] = 0.0
    weight_read_fraction: Annotated[Any, _figure_up_to(1)] = None
    kv_read_fraction: Annotated[Any, _figure_up_to(1)] = None
    prefill_fraction: Annotated[Any, _figure_up_to(1)] = None
    step_overhead_ms: Annotated[Any, _figure_up_to(10_000)] = None
    peer_gb_per_s: Annotated[float, _up_to(100_000)] = 0.0


class HostRow(_Row):
    """One machine as a file describes it."""

    category: Annotated[str, _one_of(CATEGORIES)] = "desktop"
    platform: Annotated[str, _one_of(PLATFORMS)] = "linux"
    gpu: Annotated[Any, PlainValidator(_gpu_reference)] = None
    gpus: Annotated[int, _whole_up_to(100_000)] = 1
    cpu: Text = ""
    cpu_cores: Annotated[Any, _figure_up_to(65_536)] = None
    efficiency_cores: Annotated[int, _whole_up_to(65_536)] = 0
    vcpus: Annotated[int, _whole_up_to(65_536)] = 0
    threads_per_core: Annotated[int, _whole_up_to(8)] = 2
    dram_gib: Annotated[Any, _figure_up_to(1_048_576)] = None
    dram_gb_per_s: Annotated[Any, _figure_up_to(1_000_000)] = None
    numa_nodes: Annotated[int, _whole_up_to(1024)] = 1
    link: Annotated[str, _one_of(LINKS)] = ""
    link_gb_per_s: Annotated[Any, _figure_up_to(LARGEST_LINK_GB_PER_S)] = None
    gpus_per_uplink: Annotated[int, _whole_up_to(1024)] = 1
    gpu_share_fraction: Annotated[Any, _figure_up_to(1)] = None
    os_reserve_gib: Annotated[Any, PlainValidator(_reserve)] = None
    display_reserve_gib: Annotated[Any, PlainValidator(_reserve)] = 0.0
    usd_per_hour: Annotated[float, _up_to(1_000_000)] = 0.0


_MODELS: Final[dict[str, type[_Row]]] = {"hosts": HostRow, "gpus": GpuRow}


def checked_row(section: str, row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The row's own fields after validation, defaults left out; a CatalogError names the first slip."""
    model = _MODELS[section]
    try:
        checked = model.model_validate(row).model_dump(exclude_unset=True)
    except ValidationError as error:
        raise _catalog_error(error.errors()[0], model, where) from None
    if section != "hosts":
        return checked
    if "gpu" not in checked and {"gpus", "link", "link_gb_per_s"} & checked.keys():
        raise CatalogError("gpu is missing, though the row has GPUs or a link to them", where=where)
    if isinstance(checked.get("gpu"), Mapping):
        checked["gpu"] = checked_row("gpus", checked["gpu"], f"{where} gpu")
    return checked


def _catalog_error(details: ErrorDetails, model: type[_Row], where: str) -> CatalogError:
    field = shorten(str(details["loc"][0])) if details["loc"] else "the row"
    if details["type"] == "extra_forbidden":
        guesses = did_you_mean(field, model.model_fields)
        help_text = f"did you mean {' or '.join(guesses)}?" if guesses else f"known: {', '.join(model.model_fields)}"
        return CatalogError(f"has no field {field!r}", where=where, help=help_text)
    if details["type"] == "kvplan":
        return CatalogError(f"{field} {details['msg']}", where=where)
    stated = shorten_value(details["input"])
    return CatalogError(f"{field} is not valid: {details['msg']} (it is {stated})", where=where)
