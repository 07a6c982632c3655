"""Answers of ``kvplan fit`` that several tests of rendering look at, computed once."""

from __future__ import annotations

from functools import cache

from kvplan.deployments.words import Words
from kvplan.results.fit import FitMatrix, FitResult, fit

LONG = {"context": "128k", "users": 8}


@cache
def long_context() -> FitResult:
    """HBM is far too small, offloads fit."""
    return fit(Words(model="llama3-8b", host="h100-server", gpus=1, **LONG))


@cache
def weights_too_large() -> FitResult:
    """The weights alone do not fit."""
    return fit(Words(model="llama3-70b", host="rtx4090"))


@cache
def unified() -> FitResult:
    """One pool of memory: offload makes no sense."""
    return fit(Words(model="llama3-70b", host="m3-ultra", weights="q4_k_m", users=2, itl_ms=100.0))


@cache
def no_row_at_all() -> FitResult:
    """The model's own limit is in the way, whatever the strategy."""
    return fit(Words(model="llama3-8b", host="h100-server", gpus=1, context="500k"))


@cache
def three_hosts() -> FitMatrix:
    """A server, a desktop and a Mac."""
    hosts = ("h100-server", "rtx4090", "m3-ultra")
    return FitMatrix(tuple(fit(Words(model="llama3-8b", host=host, gpus=1, **LONG)) for host in hosts))


ANSWERS = {
    "long-context": long_context,
    "weights-too-large": weights_too_large,
    "unified": unified,
    "no-row-at-all": no_row_at_all,
    "three-hosts": three_hosts,
}
