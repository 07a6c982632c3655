"""Values of a Helm chart that no other form knows: what they mean is said by the chart's templates.

A folder is full of ``values.yaml``; only those that name an engine are reported. A chart's templates themselves are
manifests with placeholders, which the Kubernetes form reports.
"""

from __future__ import annotations

import re

from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.other_platforms import ENGINE_WORD

_KEY = re.compile(r"^[A-Za-z][\w-]*[ \t]*:", re.MULTILINE)
_ENGINE = ENGINE_WORD.removeprefix("(?i)")
_RUN = re.compile(
    rf"^[ \t-]*[\w.-]*(?:image|repository|registry|command|cmd|args|entrypoint|engine)[\w.-]*[ \t]*:"
    rf"[^#\n]*(?:{_ENGINE})"
    rf"|^[ \t]*(?:{_ENGINE})[ \t]*:[ \t]*(?:#.*)?$"
    r"|^[ \t-]*[\"']?(?:--)?(?:max[-_]?model[-_]?len|tensor[-_]?parallel[-_]?size|gpu[-_]?memory[-_]?utilization"
    r"|max[-_]?num[-_]?seqs|mem[-_]fraction[-_]static|ctx[-_]size)[\"' \t]*[:= ]",
    re.MULTILINE | re.IGNORECASE,
)
"""An engine's image or command, a part of the chart that is called by it, or a flag of its own."""


class HelmValues:
    """A file that is called values, with an engine in it."""

    name = "helm-values"
    order = 60
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = (b"text-generation-inference", b"sglang", b"tensorrt", b"trtllm", b"llama", b"ollama",
                                 b"axModelLen", b"ensorParallelSize", b"ctx")  # fmt: skip

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml") or "values" not in source.name.lower():
            return False
        if "apiVersion" in source.text or _KEY.search(source.text) is None:
            return False
        return _RUN.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        match = _RUN.search(source.text)
        line = source.text.count("\n", 0, match.start()) + 1 if match is not None else 1
        message = "values of a Helm chart that is not known here, so nothing in them is judged"
        advice = f"render it first: helm template CHART -f {source.name} | kvplan check -"
        return Reading([], [Unreadable(source.at(line), message, advice)])


FORM = HelmValues()
