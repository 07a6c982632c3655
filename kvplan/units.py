"""Units at the edges: the only place that knows 2**30 and 1e9, and how people write counts and sizes.

Inside kvplan every quantity is SI: bytes, seconds, bytes per second. Human units exist in files, flags and on
screens; the functions here convert them on the way in and on the way out.

GB is 10^9 bytes, GiB is 2^30 bytes. A "128 GB" DIMM kit holds 128 GiB.
"""

from __future__ import annotations

import re
from typing import Final

from kvplan.errors import InputError

KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30
GB: Final = 10**9
TERA: Final = 10**12
MILLI: Final = 1e-3

LARGEST_COUNT: Final = 2**53
"""Counts above this are not exact as floats, and no real deployment comes near it."""

_COUNT = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kKmMgG]?)(?:i|ib|iB)?\s*$")
_COUNT_SCALE = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}

_BYTES = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?)[bB]?\s*$")
_BYTES_SCALE = {
    ("", ""): 1, ("k", ""): 10**3, ("m", ""): 10**6, ("g", ""): 10**9, ("t", ""): 10**12,
    ("k", "i"): 2**10, ("m", "i"): 2**20, ("g", "i"): 2**30, ("t", "i"): 2**40,
}  # fmt: skip


def gib(value: float) -> float:
    """GiB -> bytes."""
    return float(value * GIB)


def gb(value: float) -> float:
    """GB, decimal -> bytes."""
    return float(value * GB)


def gb_per_s(value: float) -> float:
    """GB/s -> bytes per second."""
    return float(value * GB)


def tflops(value: float) -> float:
    """TFLOPS -> floating-point operations per second."""
    return float(value * TERA)


def ms(value: float) -> float:
    """Milliseconds -> seconds."""
    return float(value * MILLI)


def to_gib(value_bytes: float) -> float:
    """Bytes -> GiB."""
    return value_bytes / GIB


def to_kib(value_bytes: float) -> float:
    """Bytes -> KiB."""
    return value_bytes / KIB


def to_gb_per_s(bytes_per_s: float) -> float:
    """Bytes per second -> GB/s."""
    return bytes_per_s / GB


def to_billions(elements: float) -> float:
    """Elements -> thousands of millions, as the sizes of models are named."""
    return elements / GB


def to_tflops(flops: float) -> float:
    """Floating-point operations per second -> TFLOPS."""
    return flops / TERA


def to_ms(value_s: float) -> float:
    """Seconds -> milliseconds."""
    return value_s / MILLI


def parse_tokens(text: str, *, what: str = "a token count") -> int:
    """A count of tokens as people type it: ``131072``, ``128k`` (131072), ``1m`` (1048576).

    The suffixes are binary, as the context lengths of models are. Raises InputError for anything that is not a
    whole positive count below 2^53.
    """
    match = _COUNT.match(text)
    if match is None:
        raise InputError(f"{what} must look like 32768, 32k or 1m (it is {shorten(text)!r})")
    tokens = float(match[1]) * _COUNT_SCALE[match[2].lower()]
    if tokens < 1 or tokens > LARGEST_COUNT or tokens != int(tokens):
        raise InputError(f"{what} must be a whole number from 1 to 2^53 (it is {shorten(text)!r})")
    return int(tokens)


def parse_bytes(text: str, *, what: str = "a size") -> int:
    """A size as people type it: ``24GiB``, ``1.5TB``, ``1024``. Suffixes without an ``i`` are decimal."""
    match = _BYTES.match(text)
    if match is None:
        raise InputError(f"{what} must look like 24GiB, 24GB or a number of bytes (it is {shorten(text)!r})")
    value_bytes = float(match[1]) * _BYTES_SCALE[match[2].lower(), match[3]]
    if value_bytes > LARGEST_COUNT:
        raise InputError(f"{what} is beyond 2^53 bytes (it is {shorten(text)!r})")
    return int(value_bytes)


def parse_vllm_tokens(text: str, *, what: str = "--max-model-len") -> int:
    """A count as vLLM reads it: ``1k`` = 1000, ``1K`` = 1024, ``25.6k`` = 25600."""
    match = re.match(r"^\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)\s*$", text)
    scales = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
    if match is None:
        raise InputError(f"{what} must look like 32768, 32k (32000) or 32K (32768) (it is {shorten(text)!r})")
    tokens = float(match[1]) * scales[match[2]]
    if tokens < 1 or tokens > LARGEST_COUNT or tokens != int(tokens):
        raise InputError(f"{what} must be a whole number from 1 to 2^53 (it is {shorten(text)!r})")
    return int(tokens)


def shorten_value(value: object) -> str:
    """Any value from outside as it would be written in Python, short enough for one line of an error message."""
    try:
        return shorten(repr(value))
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return "a number of thousands of digits"


def shorten(text: str, limit: int = 60) -> str:
    """Text from outside, short and printable enough to be quoted in one line of an error message."""
    clean = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
