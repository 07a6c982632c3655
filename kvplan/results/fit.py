"""``kvplan fit``: which KV strategy fits this model on this host for this workload, and what binds each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvplan import __version__
from kvplan.assess import assess_frame, build_frame
from kvplan.assess.frame import Frame
from kvplan.assess.methods import check_method
from kvplan.catalog.files import catalog_files, digest
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words
from kvplan.domain.assessment import Assessment, Budget, StrategyAssessment
from kvplan.domain.remedy import Remedy
from kvplan.domain.sensitivity import Sensitivity
from kvplan.domain.workload import Workload
from kvplan.errors import CannotJudge
from kvplan.remedies import find_remedies
from kvplan.results.json_shapes import (
    Json,
    break_even_json,
    gpu_memory_json,
    host_json,
    interval,
    layout_json,
    model_json,
    sensitivity_json,
    whole,
    whole_interval,
)

SCHEMA = "kvplan.fit/1"
MATRIX_SCHEMA = "kvplan.fit-matrix/1"


class FitResult(NamedTuple):
    """The answer of one ``fit``."""

    assessment: Assessment
    remedies: tuple[Remedy, ...]
    catalog_digest: str
    catalog_paths: tuple[str, ...]
    sensitivity: Sensitivity | None = None
    """None where it was not asked for."""

    @property
    def exit_code(self) -> int:
        """0 fits or tight, 1 unlikely or no, 3 unknown or not applicable."""
        return {"fits": 0, "tight": 0, "unlikely": 1, "no": 1}.get(self.assessment.verdict.outcome, 3)

    def to_json(self) -> Json:
        """The envelope ``kvplan.fit/1``."""
        assessment = self.assessment
        deployment = assessment.deployment
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "model": model_json(deployment.model),
            "host": host_json(deployment.host, deployment.layout.gpus),
            "engine": {"name": deployment.engine.name, "version": deployment.engine.version},
            "workload": workload_json(deployment.workload),
            "objectives": deployment.objectives._asdict(),
            "layout": layout_json(deployment),
            "gpu_memory": gpu_memory_json(assessment.gpu_memory),
            "verdict": assessment.verdict._asdict(),
            "catalog": {"digest": self.catalog_digest, "files": list(self.catalog_paths)},
            "strategies": [strategy_json(item) for item in assessment.strategies],
            "remedies": [remedy_json(remedy) for remedy in self.remedies],
            "sensitivity": sensitivity_json(self.sensitivity),
            "not_modelled": list(assessment.not_modelled),
            "warnings": list(assessment.warnings),
        }


class RefusedHost(NamedTuple):
    """A host of a matrix that could not be judged at all."""

    host: str
    message: str
    help: str | None

    def to_json(self) -> Json:
        """Host, and why."""
        return dict(self._asdict())


class FitMatrix(NamedTuple):
    """One ``fit`` for each of several hosts."""

    fits: tuple[FitResult, ...]
    refused: tuple[RefusedHost, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 where any host works; otherwise the best of their codes."""
        return min(fit.exit_code for fit in self.fits)

    def to_json(self) -> Json:
        """The envelope ``kvplan.fit-matrix/1``."""
        refused = [one.to_json() for one in self.refused]
        return {"schema": MATRIX_SCHEMA, "fits": [fit.to_json() for fit in self.fits], "refused": refused}


def fit(words: Words, seed: int | None = None) -> FitResult:
    """Judge one deployment; with a seed, how firmly the verdict stands as well.

    Raises KvplanError for input that can't be used or judged.
    """
    deployment = resolve(words)
    check_method(deployment.method, words.strategies)
    frame = build_frame(deployment)
    assessment = assess_frame(frame, words.strategies)
    remedies = find_remedies(assessment, words.catalog, words.strategies)
    files = (*catalog_files("hardware.toml", words.catalog), *catalog_files("models.toml", words.catalog))
    unique = {file.path: file for file in files}
    firmness = None if seed is None else _sensitivity(frame, assessment, seed)
    return FitResult(assessment, tuple(remedies), digest(tuple(unique.values())), tuple(unique), firmness)


def _sensitivity(frame: Frame, assessment: Assessment, seed: int) -> Sensitivity:
    from kvplan.assess.sensitivity import sensitivity

    return sensitivity(frame, assessment, seed)


def fit_hosts(each: Sequence[Words], seed: int | None = None) -> FitMatrix:
    """Judge a deployment on several hosts. One that can't be judged is said beside the others.

    Raises CannotJudge where none can, and every other KvplanError at once.
    """
    fits, refused, errors = [], [], []
    for words in each:
        try:
            fits.append(fit(words, seed))
        except CannotJudge as error:
            errors.append(error)
            refused.append(RefusedHost(words.host, error.message, error.help))
    if not fits:
        raise errors[0]
    return FitMatrix(tuple(fits), tuple(refused))


def workload_json(workload: Workload) -> Json:
    """Tokens of one sequence, and sequences; ``lengths`` where they differ."""
    names = ("context_tokens", "prompt_tokens", "output_tokens", "users")
    lengths = workload.lengths
    return {
        **{name: getattr(workload, name) for name in names},
        "lengths": None if lengths is None else {
            "quantiles": [{"fraction": fraction, "tokens": tokens} for fraction, tokens in lengths.quantiles],
            "mean_tokens": interval(lengths.mean_tokens),
            "source": lengths.source,
        },
    }  # fmt: skip


def strategy_json(item: StrategyAssessment) -> Json:
    """One strategy's record."""
    loss, alone = item.accuracy, item.longest_request
    return {
        "id": item.id,
        "method": item.method,
        "outcome": item.outcome,
        "bound_by": item.bound_by,
        "reason": item.reason or None,
        "kv_bytes_per_token": whole(item.kv_bytes_per_token),
        "budgets": {name: budget_json(budget) for name, budget in item.budgets.items()},
        "users_max": whole_interval(item.users_max),
        "context_tokens_max": whole_interval(item.context_tokens_max),
        "itl_s": interval(item.itl_s),
        "ttft_s": interval(item.ttft_s),
        "decode_tokens_per_s": interval(item.decode_tokens_per_s),
        "accuracy": {
            "loss_points": {"low": loss.low, "high": loss.high}, "on": loss.on, "source": loss.source,
            "task": loss.task,
        },
        "flags": item.flags,
        "evidence": list(item.evidence),
        "notes": list(item.notes),
        "longest_request": None if alone is None else {
            "outcome": alone.outcome, "hbm_bytes": whole_interval(alone.hbm_bytes),
        },
        "break_even": break_even_json(item.break_even),
    }  # fmt: skip


def budget_json(budget: Budget) -> Json:
    """One budget: bytes are integers, rates and cores are floats."""
    in_bytes = budget.name in ("hbm", "dram_capacity")
    number = whole if in_bytes else (lambda value: value)
    return {
        "used": whole_interval(budget.used) if in_bytes else interval(budget.used),
        "limit": number(budget.limit),
        "parts": [
            {"name": part.name, "value": number(part.value), "formula": part.formula, "source": part.source}
            for part in budget.parts
        ],
    }


def remedy_json(remedy: Remedy) -> Json:
    """One remedy."""
    return {
        "change": remedy.change,
        "strategy": remedy.strategy,
        "users_max": remedy.users_max,
        "itl_s": interval(remedy.itl_s),
        "works": remedy.works,
    }
