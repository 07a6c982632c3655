"""``kvplan.check/1``: an answer of ``check`` as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvplan.deployments.found import FoundDeployment, Value
from kvplan.engines.versions import release
from kvplan.engines.vllm_terms import default_batch
from kvplan.results.json_shapes import Json
from kvplan.rules.context import Context
from kvplan.rules.interface import LEVELS, Finding

if TYPE_CHECKING:
    from kvplan.results.check import CheckedDeployment, CheckResult

SCHEMA = "kvplan.check/1"


def check_json(answer: CheckResult) -> Json:
    """The envelope."""
    return {
        "schema": SCHEMA,
        "summary": {
            **{level: answer.count(level) for level in LEVELS},
            "suppressed": len(answer.findings) - len(answer.open),
            "deployments": len(answer.deployments),
        },
        "deployments": [_deployment_json(item) for item in answer.deployments],
        "findings": [finding_json(item) for item in answer.findings],
    }


def finding_json(finding: Finding) -> Json:
    """One finding."""
    return {
        "rule": finding.rule,
        "level": finding.level,
        "deployment": finding.deployment,
        "where": finding.where,
        "message": finding.message,
        "figures": finding.figures,
        "formula": finding.formula,
        "remedy": finding.remedy,
        "suppressed": finding.suppressed,
    }


def settings_json(item: CheckedDeployment) -> Json:
    """Every setting by name: its value, the line that has it, or whose default it is."""
    return {**_given(item.found, item.context), **_defaults(item)}


def named_model(item: CheckedDeployment) -> str | None:
    """The model's name: of the catalog where it has it, else as the file has it."""
    return item.context.model.name if item.context.model else _as_text(item.found.value("model"))


def named_host(item: CheckedDeployment) -> str | None:
    """The host's name, in the same way."""
    return item.context.host.name if item.context.host else _as_text(item.found.value("host"))


def named_engine(item: CheckedDeployment) -> tuple[str | None, str | None]:
    """The engine and its version: those that were judged, else as the file has them."""
    judged = item.context.judged
    if judged is not None:
        return judged.deployment.engine.name, judged.deployment.engine.version
    name, _, version = str(item.found.value("engine") or item.found.engine).partition("@")
    return name or None, version or None


def _deployment_json(item: CheckedDeployment) -> Json:
    engine, version = named_engine(item)
    return {
        "name": item.found.name,
        "form": item.found.form,
        "where": str(item.found.place),
        "engine": engine,
        "engine_version": version,
        "model": named_model(item),
        "host": named_host(item),
        "settings": settings_json(item),
        "outcome": item.outcome,
    }


def _as_text(value: Value | None) -> str | None:
    """A name as the file has it: it may be a number by mistake."""
    return None if value is None else str(value)


def _given(found: FoundDeployment, context: Context) -> Json:
    """What the file says: the value as read, with its line; as written where it could not be read."""
    values = context.translated.values
    shown = {}
    for name, setting in found.settings.items():
        value = values.get(name, setting.value)
        if isinstance(value, float) and not math.isfinite(value):
            value = str(value)  # JSON has no such number
        shown[name] = {
            "value": list(value) if isinstance(value, tuple) else value,
            "where": str(setting.place),
            "default_of": None,
        }
    return shown


def _defaults(item: CheckedDeployment) -> Json:
    """What the file leaves to the engine or the model, and whose default it is."""
    judged, given = item.context.judged, item.found.settings
    if judged is None:
        return {}
    deployment = judged.deployment
    engine = f"{deployment.engine.name} {deployment.engine.version}"
    found: dict[str, tuple[object, str]] = {}
    if judged.length_by == "model":
        found["max_model_len"] = (judged.length_tokens, f"model {deployment.model.name}")
    found["tp"] = (deployment.layout.tp, engine if item.found.engine else "kvplan")
    gpu = deployment.host.gpu
    if deployment.engine.name == "vllm" and gpu is not None:
        tokens, sequences = default_batch(gpu, release(deployment.engine.version))
        found["max_num_batched_tokens"] = (tokens, engine)
        found["max_num_seqs"] = (sequences, engine)
        if not deployment.host.unified_memory and not deployment.host.display_reserve_bytes.best:
            card = judged.assessment.gpu_memory
            found["gpu_memory_utilization"] = (round(card.budget_bytes / card.total_bytes, 4), engine)
    found["kv_cache_dtype"] = ("auto", engine)
    if not item.context.has("users", "context"):
        found["users"] = (1, "kvplan: one full-length request must fit")
    return {
        name: {"value": value, "where": None, "default_of": whose}
        for name, (value, whose) in found.items()
        if name not in given
    }
