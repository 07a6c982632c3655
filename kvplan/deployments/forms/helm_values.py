"""Values of a Helm chart that no other form knows: what they mean is said by the chart's templates.

A folder is full of ``values.yaml``; only those that name an engine are reported. A chart's templates themselves are
manifests with placeholders, which the Kubernetes form reports.
"""

from __future__ import annotations

import re

from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.other_platforms import RUNS_AN_ENGINE, TRACES

_RUNS = re.compile(RUNS_AN_ENGINE)
_KEY = re.compile(r"^[A-Za-z][\w-]*[ \t]*:", re.MULTILINE)


class HelmValues:
    """A file that is called values, with an engine in it."""

    name = "helm-values"
    order = 60
    names = ("*.yaml", "*.yml")
    traces = (*TRACES, b"axModelLen", b"ensorParallelSize", b"mem-fraction", b"mem_fraction")

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml") or "values" not in source.name.lower():
            return False
        if "apiVersion" in source.text or _KEY.search(source.text) is None:
            return False
        return _RUNS.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        match = _RUNS.search(source.text)
        line = source.text.count("\n", 0, match.start()) + 1 if match is not None else 1
        message = "values of a Helm chart that is not known here, so nothing in them is judged"
        advice = f"render it first: helm template CHART -f {source.name} | kvplan check -"
        return Reading([], [Unreadable(source.at(line), message, advice)])


FORM = HelmValues()
