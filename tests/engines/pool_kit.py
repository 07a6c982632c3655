"""Questions to an engine's pool in words, and the observations of ``tests/truth``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment, Drafting
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import KvLayers, Model
from kvplan.engines import find_engine
from kvplan.engines.interface import KvKernel
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.results.kv_layouts import NOWHERE

TRUTH = Path(__file__).parent.parent / "truth"
MTP = Drafting("mtp", '{"method": "mtp", "num_speculative_tokens": 1}', 1, by_mtp=True)


def observations(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRUTH / f"{name}.jsonl").read_text().splitlines()]


def layers_of(rows: Iterable[list[Any]]) -> tuple[KvLayers, ...]:
    """[kind, layers, heads, key elements, value elements, window] -> layers."""
    return tuple(KvLayers(*row[:5], window_tokens=row[5], replicated=row[0] == "mla") for row in rows)


def model_of(row: dict[str, Any]) -> Model:
    """The catalog's model, with the geometry that a log prints where the catalog has no such model."""
    model = load_model(row["model"], ())
    if "kv" not in row:
        return model
    kv = layers_of(row["kv"])
    return model._replace(kv=kv, layers=sum(item.layers for item in kv), mtp_kv=())


def kernel(flag: str, element_bytes: float = 1.0) -> KvKernel:
    return KvKernel(KvFormat(flag, element_bytes), flag, "test")


def deployment_of(model: Model, engine: str, **words: Any) -> Deployment:
    given = {"context": "4k", **words}
    return resolve_on(Words(model=model.name, engine=engine, **given), model, NOWHERE, weights_matter=False)


def layout_of(
    model: Model | str,
    engine: str,
    pool_bytes: float | None = None,
    kv: KvKernel | None = None,
    drafting: Drafting | None = None,
    **words: Any,
) -> KvLayout:
    """What the engine answers for a model."""
    known = load_model(model, ()) if isinstance(model, str) else model
    deployment = deployment_of(known, engine, **words)
    deployment = deployment._replace(settings=deployment.settings._replace(drafting=drafting))
    layout: KvLayout = find_engine(deployment.engine.name).kv_layout(KvQuestion(deployment, kv, pool_bytes))  # type: ignore[attr-defined]
    return layout
