"""A file on disk -> what ``check`` finds in it."""

from __future__ import annotations

from pathlib import Path

from kvplan.results.check import CheckResult, check
from kvplan.rules.interface import Finding


def checked(folder: Path, text: str, name: str = "serve.sh", host: str | None = None) -> CheckResult:
    """One file, checked."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return check([str(path)], host=host)


def found(folder: Path, text: str, rule: str, name: str = "serve.sh", host: str | None = None) -> list[Finding]:
    """The findings of one rule in one file."""
    return [item for item in checked(folder, text, name, host).findings if item.rule == rule]


def only(folder: Path, text: str, rule: str, name: str = "serve.sh", host: str | None = None) -> Finding:
    """The one finding of a rule in one file."""
    items = found(folder, text, rule, name, host)
    assert len(items) == 1, items
    return items[0]


def serve(flags: str, version: str | None = "0.10.0") -> str:
    """A script that serves a model with these flags; line 3 is the command."""
    return f"#!/bin/bash\npip install vllm{'==' + version if version else ''}\nvllm serve {flags}\n"


def toml(body: str, top: str = "") -> str:
    """A deployment in kvplan's own form; the body begins on line 6 where ``top`` is one line."""
    head = ['schema = "kvplan.deployment/1"', 'model = "llama3-8b"', 'host = "h100-server"', "gpus = 1"]
    named = {line.split(" ")[0] for line in top.splitlines()}
    kept = [line for line in head if line.split(" ")[0] not in named]
    engine = [] if "engine" in named else ['engine = "vllm@0.21"']
    return "\n".join([*kept, *engine, top, body]) + "\n"


def pod(command: str = "", limits: str = "nvidia.com/gpu: 1", image: str = "vllm/vllm-openai:v0.10.0") -> str:
    """A Pod whose one container has these args (one a line) and limits."""
    args = "\n".join(f"    - {line}" for line in command.splitlines())
    return (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: chat\nspec:\n  containers:\n  - name: vllm\n"
        f"    image: {image}\n    args:\n{args}\n    resources:\n      limits: {{{limits}}}\n"
    )
