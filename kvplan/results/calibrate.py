"""``kvplan calibrate``: what an engine's log says about its memory, beside what kvplan predicts for the same start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kvplan import __version__
from kvplan.assess import build_frame, gpu_memory
from kvplan.assess.frame import Frame
from kvplan.catalog.hardware import load_host
from kvplan.catalog.row_target import Added
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment
from kvplan.engine_logs import read_logs
from kvplan.engine_logs.interface import EngineLog, EngineStart, Rank
from kvplan.engines import find_engine
from kvplan.errors import InputError, KvplanError
from kvplan.results.json_shapes import Json, interval, layout_json
from kvplan.results.log_figures import Figure, figures_of
from kvplan.results.logged_start import logged_start
from kvplan.units import to_gib

SCHEMA = "kvplan.calibrate/1"


class CalibrateWords(NamedTuple):
    """What was typed."""

    logs: tuple[str, ...]
    words: Words = Words()
    """Flags, which go before what the log says. Without a host nothing is predicted."""
    save: str | None = None
    """Name under which the correction is kept."""
    source: str | None = None
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CalibrateResult:
    """The answer of one ``calibrate``."""

    files: tuple[str, ...]
    log: EngineLog
    deployment: Deployment | None
    """None where nothing could be predicted; ``unpredicted`` says why."""
    figures: tuple[Figure, ...]
    unpredicted: str | None
    notes: tuple[str, ...]
    saved: Added | None = None
    terms: Mapping[str, float] | None = None
    """What was kept: a term of domain.calibration -> bytes."""

    @property
    def start(self) -> EngineStart:
        """The start that counts."""
        return self.log.start

    @property
    def exit_code(self) -> int:
        """0, or 3 where nothing could be predicted."""
        return 0 if self.deployment is not None else 3

    def figure(self, name: str) -> Figure | None:
        """One figure by name."""
        return next((one for one in self.figures if one.name == name), None)

    def to_json(self) -> Json:
        """The envelope ``kvplan.calibrate/1``."""
        deployment, start = self.deployment, self.start
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "log": {
                "files": list(self.files),
                "engine": start.engine,
                "version": start.version,
                "starts": self.log.starts,
                "complete": start.complete,
                "settings": dict(start.said),
            },
            "model": deployment.model.name if deployment else None,
            "host": deployment.host.name if deployment else None,
            "engine": {"name": deployment.engine.name, "version": deployment.engine.version} if deployment else None,
            "layout": layout_json(deployment) if deployment else None,
            "ranks": [rank_json(rank) for rank in start.ranks],
            "figures": [figure_json(one) for one in self.figures],
            "unpredicted": self.unpredicted,
            "saved": None if self.saved is None or self.terms is None else {
                "name": self.saved.name, "file": self.saved.file, "always_read": self.saved.always_read,
                "replaced": self.saved.replaced, "terms": {name: round(kept) for name, kept in self.terms.items()},
            },
            "notes": list(self.notes),
        }  # fmt: skip


def calibrate(asked: CalibrateWords) -> CalibrateResult:
    """Read the logs, predict the same start, compare, and keep the correction where it has a name."""
    named = asked.words.engine.partition("@")[0] if asked.words.engine else None
    log = read_logs(asked.logs, find_engine(named).name if named else None)
    if asked.save is not None and not asked.words.host:
        raise InputError("--save needs --host NAME: a correction is kept for a host", help="kvplan host list")
    answer = _compared(asked, log)
    if asked.save is None:
        return answer
    from kvplan.results.calibrate_saving import saved

    return saved(asked, answer)


def _compared(asked: CalibrateWords, log: EngineLog) -> CalibrateResult:
    if not asked.words.host:
        why = "no host was named: --host NAME adds what kvplan predicts"
        return CalibrateResult(asked.logs, log, None, figures_of(log.start, None), why, log.notes)
    host = load_host(asked.words.host, asked.words.catalog)
    start = logged_start(log.start, asked.words)
    deployment = resolve_on(start.words, start.model, host)._replace(calibrations=())
    try:
        frame = build_frame(deployment)
    except KvplanError as error:
        if error.exit_code != 3 or asked.save is not None:
            raise
        return CalibrateResult(
            asked.logs, log, None, figures_of(log.start, None), error.message, (*log.notes, *start.notes)
        )
    notes = (*log.notes, *start.notes, *other_card(frame, log.start))
    figures = figures_of(log.start, frame, gpu_memory(frame))
    return CalibrateResult(asked.logs, log, frame.deployment, figures, None, notes)


def other_card(frame: Frame, start: EngineStart) -> tuple[str, ...]:
    """A note where the log's device is not of the host's size."""
    gpu = frame.deployment.host.gpu
    total = start.tightest.figures.get("total_bytes")
    if total is None or gpu is None or frame.deployment.host.unified_memory:
        return ()
    if gpu.hbm_bytes.low * 0.97 <= total <= gpu.hbm_bytes.high * 1.03:
        return ()
    here = f"the {gpu.name} of {frame.deployment.host.name} has {to_gib(gpu.hbm_bytes.best):.2f}"
    return (f"the log's device has {to_gib(total):.2f} GiB, {here}: not the same card",)


def rank_json(rank: Rank) -> Json:
    """What one GPU's process said; sizes are bytes."""
    return {"name": rank.name, "figures": {name: round(value, 4) for name, value in rank.figures.items()}}


def figure_json(one: Figure) -> Json:
    """One figure."""
    return {
        "name": one.name,
        "unit": one.unit,
        "predicted": interval(one.predicted),
        "observed": one.observed,
        "error_fraction": one.error_fraction,
        "inside": one.inside,
    }
