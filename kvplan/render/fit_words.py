"""The sentences under the table of ``kvplan fit``: why tight, why not another strategy, what was left out.

All are plain text without layout, so that the screen and Markdown say the same.
"""

from __future__ import annotations

from kvplan.assess.calibrated import SAID as CALIBRATED
from kvplan.assess.verdict import best_first, budget_words, closest, weights_fit
from kvplan.domain.assessment import Assessment, Budget, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.render import humans
from kvplan.render.fit_actions import Note, exact_instead
from kvplan.render.fit_firmness import judged_how, sensitivity_notes
from kvplan.render.fit_rows import Screenful, runs
from kvplan.results.fit import FitResult
from kvplan.units import to_ms

MOST_QUESTIONS = 4
FEWEST_QUESTIONS = 2
ROWS_AND_QUESTIONS = 11
"""Together they leave room on one screen for the rest."""


_PARTS = {"weights": "weights", "kv": "KV", "reuse": "idle KV", "look-up": "look-up", "attention": "attention"}
"""Parts of a budget that are worth their own term in a sum; the rest is the engine's."""


def questions(assessment: Assessment, screen: Screenful) -> list[Note]:
    """The "why not X" that a reader would ask first; fewer of them under a long table."""
    items = {item.id: item for item in screen.rows}
    winner = screen.winner
    near = closest(assessment.strategies)
    asked = ["hbm", _first_quantized(assessment), _stock(assessment)]
    if winner is None:
        asked += ["weight-offload", near.id if near and weights_fit(assessment) else ""]
    elif winner.id != "hbm":
        asked += ["offload-stream", _faster(items, winner), "offload-retrieve", "offload-cpu-attention"]
    notes = []
    for name in dict.fromkeys(asked):
        item = items.get(name)
        if item is not None and item is not winner:
            notes.append(Note(f"Why not {name}?", why_not(item, winner, assessment.deployment)))
    return notes[: max(FEWEST_QUESTIONS, min(MOST_QUESTIONS, ROWS_AND_QUESTIONS - len(items)))]


def _first_quantized(assessment: Assessment) -> str:
    found = [item.id for item in assessment.strategies if item.id.startswith("kv-") and item.budgets]
    return found[0] if found else ""


def _stock(assessment: Assessment) -> str:
    """The best strategy that works and that a stock engine has."""
    found = (item.id for item in best_first(assessment.strategies) if item.works and item.flags is not None)
    return next(found, "")


def _faster(items: dict[str, StrategyAssessment], winner: StrategyAssessment) -> str:
    """The fastest plain strategy that works, where that is not the winner."""
    works = [item for item in items.values() if item.works and "+" not in item.id and item.itl_s is not None]
    best = min(works, key=lambda item: (item.itl_s.best if item.itl_s else 0.0, item.id), default=winner)
    return best.id


def why_not(item: StrategyAssessment, winner: StrategyAssessment | None, deployment: Deployment) -> str:
    """Why it was not chosen: the arithmetic of what binds, or what it would cost beside the winner."""
    if item.works:
        return _second_best(item, winner)
    text = arithmetic(item, deployment)
    return f"{text} Only the optimistic end fits." if item.outcome == "unlikely" else text


def _second_best(item: StrategyAssessment, winner: StrategyAssessment | None) -> str:
    most = f", {humans.users(item.users_max.best)} at most" if item.users_max else ""
    only = "" if winner is not None and winner.outcome == "tight" else "only "
    text = f"It {'fits too' if item.outcome == 'fits' else f'is {only}tight'}: {humans.ms_per_token(item.itl_s)}{most}"
    if item.reason:
        return f"{text}; {item.reason}."
    if item.accuracy.high is None:
        return f"{text}; nobody has published what accuracy it loses."
    if winner is None or winner.accuracy.high is None or item.accuracy.high <= winner.accuracy.high:
        return f"{text}."
    return f"{text}; but it loses {humans.loss_words(item.accuracy)}."


def arithmetic(item: StrategyAssessment, deployment: Deployment) -> str:
    """The sum or the rate that is over its limit, and what would still fit."""
    budget = item.budgets.get(item.bound_by or "")
    objective = f"{humans.number(to_ms(deployment.objectives.itl_s))} ms"
    if budget is not None and budget.used is not None and budget.limit is not None:
        if budget.name in ("link", "dram_bandwidth"):
            pace = f"; at the pace there is, {humans.ms_per_token(item.itl_s)}" if runs(item) else ""
            return f"{_rate(budget, objective)}{pace}."
        each = " on each GPU" if budget.name == "hbm" and deployment.layout.gpus > 1 else ""
        return f"{_sum(budget)}{each}{_still_fits(item)}."
    if item.bound_by == "ttft" and item.ttft_s is not None and deployment.objectives.ttft_s is not None:
        limit = humans.number(deployment.objectives.ttft_s)
        return f"{humans.seconds(item.ttft_s)} to the first token, {limit} s asked."
    return f"{humans.ms_per_token(item.itl_s)}, {objective} asked{_still_fits(item)}."


def _sum(budget: Budget) -> str:
    """``15.0 weights + 64.0 KV + 3.0 engine = 82.0 of 72.9 GiB of HBM``; the last term takes up the rounding."""
    assert budget.used is not None and budget.limit is not None
    total, limit = (round(humans.in_its_unit(budget.name, value), 1) for value in (budget.used.best, budget.limit))
    terms = [
        (_PARTS[part.name], round(humans.in_its_unit(budget.name, part.value), 1))
        for part in budget.parts
        if part.name in _PARTS
    ]
    rest = total - sum(value for _, value in terms)
    terms += [("engine", rest)] if rest >= 0.05 else []
    if budget.name == "cpu_cores":
        return f"{' + '.join(f'{value:.3g} {name}' for name, value in terms)} = {total:.4g} of {limit:.4g} CPU cores"
    added = " + ".join(f"{value:,.1f} {name}" for name, value in terms)
    return f"{added} = {total:,.1f} of {limit:,.1f} GiB of {budget_words(budget.name)}"


def _rate(budget: Budget, objective: str) -> str:
    """``1,820 of the link's 55.4 GB/s (33x) for 50 ms a token``."""
    assert budget.used is not None and budget.limit is not None
    used, limit = (humans.number(humans.in_its_unit(budget.name, value)) for value in (budget.used.best, budget.limit))
    whose = "link" if budget.name == "link" else "DRAM"
    return f"{used} of the {whose}'s {limit} GB/s ({humans.times(budget.load)}) for {objective} a token"


def _still_fits(item: StrategyAssessment) -> str:
    if item.users_max is None:
        return ""
    most = item.users_max.best
    if most < 1:
        return ": not even one user fits"
    return f": {humans.users(most)} fit{humans.verb(most)}"


def why_tight(assessment: Assessment) -> list[Note]:
    """The budget that leaves the least room at the pessimistic end."""
    winner = next((item for item in assessment.strategies if item.id == assessment.verdict.strategy), None)
    if winner is None or winner.outcome != "tight":
        return []
    objectives = assessment.deployment.objectives
    rooms = [
        (budget.used.high / budget.limit, _reach(budget))
        for budget in winner.budgets.values()
        if budget.used is not None and budget.limit
    ]
    if winner.itl_s is not None:
        pace = f"{humans.ms_per_token(winner.itl_s)}, {humans.number(to_ms(objectives.itl_s))} ms asked"
        rooms.append((winner.itl_s.high / objectives.itl_s, pace))
    if winner.ttft_s is not None and objectives.ttft_s is not None:
        pace = f"{humans.seconds(winner.ttft_s)} to the first token, {humans.number(objectives.ttft_s)} s asked"
        rooms.append((winner.ttft_s.high / objectives.ttft_s, pace))
    if not rooms or (winner.reason and max(rooms)[0] <= 1.0 - objectives.margin_fraction):
        return []  # the verdict has said it
    return [Note("Why tight?", f"{max(rooms)[1]}; {objectives.margin_fraction:.0%} should stay free.")]


def _reach(budget: Budget) -> str:
    """``HBM 71.2 (69.0..74.1) of 72.9 GiB``."""
    assert budget.used is not None and budget.limit is not None
    used = humans.span(budget.used, lambda value: humans.in_its_unit(budget.name, value))
    limit = humans.number(humans.in_its_unit(budget.name, budget.limit))
    unit = {"hbm": "GiB", "dram_capacity": "GiB", "cpu_cores": "cores"}.get(budget.name, "GB/s")
    return f"{humans.budget_in_short(budget.name)} {used} of {limit} {unit}"


def left_out(assessment: Assessment, screen: Screenful) -> list[Note]:
    """One line for each reason why a strategy has no row."""
    engine, gpu = assessment.deployment.engine.name, assessment.deployment.host.gpu
    groups: dict[str, list[str]] = {}
    for item in screen.excused:
        if item.bound_by == "kernel" and item.outcome == "no":
            label = f"No kernel in {engine} on {gpu.name if gpu else 'a CPU'}"
        else:
            label = f"{humans.OUTCOME_WORDS[item.outcome]}, {item.reason}"
        groups.setdefault(label, []).append(item.id)
    notes = [Note(f"{humans.clean(label)}:", f"{', '.join(_without_pairs(ids))}.") for label, ids in groups.items()]
    return notes + _twins(screen)


def _without_pairs(ids: list[str]) -> list[str]:
    """Combinations go without saying where their placement is listed already."""
    return [name for name in ids if name.partition("+")[2] not in ids]


def _twins(screen: Screenful) -> list[Note]:
    """Plain strategies that change nothing here; combinations of them are not worth a word."""
    groups: dict[str, list[str]] = {}
    for item, twin in screen.same:
        if "+" not in item.id:
            why = [note for note in item.notes if note.startswith("judged")]
            groups.setdefault(twin.id, []).append(f"{item.id} ({why[0]})" if why else item.id)
    return [Note(f"Same as {twin} here:", f"{', '.join(ids)}.") for twin, ids in groups.items()]


def notes_before(answer: FitResult, screen: Screenful) -> list[Note]:
    """Under the table: why tight, what about the winner, why not another one, what has no row, what would be exact."""
    assessment = answer.assessment
    if assessment.verdict.bound_by in ("context", "topology"):
        return []
    exact = exact_instead(answer.remedies) if screen.winner is not None else []
    first = [*why_tight(assessment), *_about(screen.winner)]
    after = [*exact, *left_out(assessment, screen), *sensitivity_notes(answer.sensitivity)]
    return [*first, *questions(assessment, screen), *judged_how(screen), *after]


def _about(winner: StrategyAssessment | None) -> list[Note]:
    """What to know about the winner before believing in it."""
    return [Note(f"About {winner.id}:", f"{'; '.join(winner.notes)}.")] if winner and winner.notes else []


def warnings(assessment: Assessment) -> list[Note]:
    """What reading the input has warned of, and which log took the place of estimates."""
    return [warning(text) for text in assessment.warnings]


def warning(text: str) -> Note:
    """One warning; that a calibration was used is none, but stands among them."""
    used = text.startswith(CALIBRATED)
    label = CALIBRATED.strip().capitalize() if used else "Warning:"
    return Note(label, f"{humans.clean(text.removeprefix(CALIBRATED))}.")
