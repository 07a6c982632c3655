"""Every model can be shown, and 150 models be judged on 150 hosts, without a traceback and in minutes."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from kvplan import compiled
from kvplan.assess import assess
from kvplan.catalog.hardware import host_table, load_host
from kvplan.catalog.models import load_model, model_table
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.assessment import OUTCOMES, Assessment
from kvplan.errors import CannotJudge
from kvplan.grid_search.pairs import assess_all
from kvplan.remedies import find_remedies
from kvplan.render.fit_table import render
from kvplan.render.listing_sheet import render as render_sheet
from kvplan.results.fit import FitResult
from kvplan.results.model_sheet import model_sheet

SIDE = 150
SHOWN_EVERY = 499
"""One pair in so many is printed as well, remedies and all."""


def spread(names: list[str]) -> list[str]:
    """``SIDE`` names, spread over the whole catalog."""
    assert len(names) >= SIDE
    return [names[index * len(names) // SIDE] for index in range(SIDE)]


def judge_host(name: str) -> tuple[int, int, list[str]]:
    """(pairs judged, pairs refused with a reason, what went wrong) for one host and all models."""
    host = load_host(name)
    judged, refused, wrong = 0, 0, []
    for index, model in enumerate(spread(model_table().names())):
        try:
            (found,) = assess_all([resolve_on(Words(), load_model(model), host)])
            wrong += [f"{model} on {name}: {text}" for text in faults(found)]
            judged += 1
            if (index + hash_of(name)) % SHOWN_EVERY == 0:
                show(found)
        except CannotJudge:
            refused += 1
        except Exception as error:
            wrong.append(f"{model} on {name}: {type(error).__name__}: {error}")
    if len(compiled.answer_points.signatures) > 1:  # type: ignore[attr-defined]
        wrong.append(f"{name}: a plan holds something else than floats")
    return judged, refused, wrong


def hash_of(name: str) -> int:
    return sum(name.encode())


def faults(found: Assessment) -> list[str]:
    """What no assessment may look like."""
    wrong = [] if found.verdict.outcome in OUTCOMES and found.strategies else ["no verdict"]
    for item in found.strategies:
        spans = [item.itl_s, item.users_max, item.context_tokens_max]
        spans += [budget.used for budget in item.budgets.values()]
        wrong += [f"{item.id}: {span}" for span in spans if span is not None and not span.low <= span.best <= span.high]
        if item.outcome in ("fits", "tight") and item.itl_s is None:
            wrong.append(f"{item.id}: fits without a time per token")
    return wrong


def show(found: Assessment) -> None:
    """The whole screen and JSON; the slow way gives the same."""
    assert assess(found.deployment) == found
    answer = FitResult(found, tuple(find_remedies(found)), "", ())
    assert answer.to_json()["schema"] == "kvplan.fit/1" and render(answer)


def test_every_model_is_shown() -> None:
    for name in model_table().names():
        sheet = model_sheet(name)
        assert sheet.to_json()["kv_layers"] and name in render_sheet(sheet)


def test_150_models_on_150_hosts() -> None:
    hosts = spread(host_table().names())
    next(assess_all([resolve_on(Words(), load_model("llama3-8b"), load_host(hosts[0]))]))  # compiled here, once
    workers = min(os.cpu_count() or 1, 4)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(judge_host, hosts, chunksize=5))
    wrong = [text for _, _, texts in found for text in texts]
    assert not wrong, "\n".join(wrong[:20])
    judged, refused = (sum(counts) for counts in list(zip(*found, strict=True))[:2])
    assert judged + refused == SIDE * SIDE
    assert judged > 0.9 * SIDE * SIDE
