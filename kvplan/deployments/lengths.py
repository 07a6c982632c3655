"""``--context``: one length, quantiles of lengths (``p50=4k,p95=32k,max=128k``), or a request trace."""

from __future__ import annotations

import os
import re

from kvplan.domain.lengths import Lengths, from_quantiles, from_requests
from kvplan.errors import InputError
from kvplan.traces.lengths import request_lengths
from kvplan.units import parse_tokens, shorten

_FORM = "e.g. --context p50=4k,p95=32k,max=128k (max is the longest single request), or a trace as .csv or .jsonl"
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)$")
_TRACES = (".csv", ".jsonl")


def is_spread(text: str) -> bool:
    """Whether a ``--context`` states more than one length."""
    return "=" in text or text.lower().endswith(_TRACES)


def read_lengths(text: str, flag: str = "--context") -> tuple[Lengths, int | None]:
    """The lengths, and the mean output of a trace, whose requests state it."""
    if "=" not in text or os.path.isfile(text):
        requests = request_lengths(text)
        output = round(sum(output for _, output in requests) / len(requests))
        return from_requests(requests, f"{len(requests):,} requests of {shorten(text, 200)}"), max(output, 1)
    stated = dict(_pair(item, flag) for item in text.split(",") if item.strip())
    mean = stated.pop("mean", None)
    if "max" not in stated:
        raise InputError(f"{flag} {shorten(text)!r} states no max", help=_FORM)
    points = sorted((_fraction(name, flag), tokens) for name, tokens in stated.items())
    for (_, lower), (fraction, upper) in zip(points, points[1:], strict=False):
        if upper < lower:
            name = "max" if fraction == 1.0 else f"p{100 * fraction:g}"
            raise InputError(f"{flag}: {name}={upper} is below a lower quantile of {lower}", help=_FORM)
    if mean is not None and mean > points[-1][1]:
        raise InputError(f"{flag}: mean={mean} is above max={points[-1][1]}")
    return from_quantiles(points, None if mean is None else float(mean)), None


def _pair(item: str, flag: str) -> tuple[str, int]:
    name, _, value = item.partition("=")
    name = name.strip().lower()
    return ("max" if name == "p100" else name), parse_tokens(value, what=f"{flag} {shorten(name)}")


def _fraction(name: str, flag: str) -> float:
    if name == "max":
        return 1.0
    match = _PERCENTILE.match(name)
    if match is None or not 0.0 < float(match[1]) < 100.0:
        raise InputError(f"{flag} has no quantile {shorten(name)!r}", help=_FORM)
    return float(match[1]) / 100.0
