"""``kvplan fit`` of several hosts: strategies down, hosts across."""
from __future__ import annotations
from kvplan.results.fit import FitMatrix


def render_matrix(answer: FitMatrix) -> str:
    raise NotImplementedError
