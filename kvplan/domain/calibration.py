"""What a start-up log showed on one host, kept so that later plans for that host can use it."""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.domain.deployment import EngineChoice, EngineSettings, Layout

TERMS = ("total", "budget", "weights", "activation", "runtime", "graphs", "rest")
"""What can be kept, in bytes of one GPU. ``total``: of the device; ``budget``: for weights, KV and all else;
``rest``: activation, runtime and graphs together, where a log does not print each."""


class Calibration(NamedTuple):
    """One start: on what, of what, with which settings, and what it showed."""

    name: str
    host: str
    engine: EngineChoice
    model: str
    """Catalog name, else the model's own."""
    weights: str
    """How they were stored, a name of weight_scheme.SCHEMES."""
    layout: Layout
    settings: EngineSettings
    users: int
    context_tokens: int
    observed: Mapping[str, float]
    """Of TERMS, on the GPU with the smallest pool."""
    source: str
    """The log's name and date."""
