"""``--context``: one length, quantiles of lengths (``p50=4k,p95=32k,max=128k``), or a request trace."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

from kvplan.domain.lengths import Lengths, from_quantiles, from_requests, mean_bounds
from kvplan.errors import InputError
from kvplan.traces.lengths import request_lengths
from kvplan.units import parse_tokens, shorten

_FORM = "e.g. --context p50=4k,p95=32k,max=128k (max is the longest single request), or a trace: .csv, .jsonl, .json"
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)$")
_TRACES = (".csv", ".jsonl", ".json")


def is_spread(text: str) -> bool:
    """Whether a ``--context`` states more than one length."""
    return "=" in text or text.lower().endswith(_TRACES)


def read_lengths(text: str, flag: str = "--context") -> tuple[Lengths, int | None]:
    """The lengths, and the mean output of a trace, whose requests state it."""
    if "=" not in text or os.path.isfile(text):
        requests = request_lengths(text)
        output = round(sum(output for _, output in requests) / len(requests))
        return from_requests(requests, f"{len(requests):,} requests of {shorten(text, 200)}"), max(output, 1)
    stated = _stated(text, flag)
    mean = stated.pop("mean", None)
    if "max" not in stated:
        raise InputError(f"{flag} {shorten(text)!r} states no max", help=_FORM)
    points = sorted((_fraction(name, flag), tokens) for name, tokens in stated.items())
    for (_, lower), (fraction, upper) in zip(points, points[1:], strict=False):
        if upper < lower:
            name = "max" if fraction == 1.0 else f"p{100 * fraction:g}"
            raise InputError(f"{flag}: {name}={upper} is below a lower quantile of {lower}", help=_FORM)
    if mean is not None:
        _check_mean(mean, points, flag)
    return from_quantiles(points, None if mean is None else float(mean)), None


def check_output(output_tokens: int | None, lengths: Lengths) -> int | None:
    """``--output-tokens``; InputError where it leaves nothing of a mean sequence for the prompt."""
    if output_tokens is not None and output_tokens >= lengths.mean_tokens.best:
        raise InputError(
            f"--output-tokens {output_tokens}: the sequences of --context have {lengths.mean_tokens.best:,.0f} tokens"
            " on average, prompt and output together",
            help="give less output, or the lengths with it",
        )
    return output_tokens


def _stated(text: str, flag: str) -> dict[str, int]:
    """Every name that the text states, each once, with its tokens."""
    stated: dict[str, int] = {}
    for item in text.split(","):
        if not item.strip():
            continue
        name, _, value = item.partition("=")
        name = name.strip().lower()
        percentile = _PERCENTILE.match(name)
        name = f"p{float(percentile[1]):.15g}" if percentile else "max" if name == "p100" else name
        if name in stated:
            raise InputError(f"{flag} {shorten(text)!r} states {shorten(name)} twice", help=_FORM)
        stated[name] = parse_tokens(value, what=f"{flag} {shorten(name)}")
    return stated


def _check_mean(mean: int, points: Sequence[tuple[float, int]], flag: str) -> None:
    """InputError for a mean that no lengths with these quantiles can have."""
    longest = points[-1][1]
    if mean > longest:
        raise InputError(f"{flag}: mean={mean} is above max={longest}")
    least, most = mean_bounds(points)
    if not least <= mean <= most:
        raise InputError(
            f"{flag}: mean={mean} can't be: with these quantiles it is from {math.ceil(least)} to {math.floor(most)}",
            help="leave out the mean, which is then estimated, or correct the quantiles",
        )


def _fraction(name: str, flag: str) -> float:
    if name == "max":
        return 1.0
    match = _PERCENTILE.match(name)
    if match is None or not 0.0 < float(match[1]) < 100.0:
        raise InputError(f"{flag} has no quantile {shorten(name)!r}", help=_FORM)
    return float(match[1]) / 100.0
