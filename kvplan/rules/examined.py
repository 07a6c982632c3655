"""All rules on one deployment: once, or once for each GPU that it may get.

A list of GPUs of which any will do is judged one by one: the scheduler may choose the smallest, so the worst decides.
A label that leaves open which card it means is another thing: what holds on all cards is said, and what holds on some
only is UNKNOWN, with the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvplan.catalog.hardware import load_host
from kvplan.deployments.as_words import translate
from kvplan.deployments.commands.flag_history import CHANGED_DEFAULTS
from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.names.gpus import gpu_named
from kvplan.deployments.names.instances import instance_host
from kvplan.errors import KvplanError
from kvplan.rules import all_rules
from kvplan.rules.context import Context
from kvplan.rules.interface import LEVELS, Finding
from kvplan.rules.kv402_version_defects import OWN_DEFAULTS
from kvplan.rules.look_up import look_up
from kvplan.rules.surroundings import is_other_gpu
from kvplan.rules.unresolved import at_best
from kvplan.rules.which_engine import version_before
from kvplan.rules.which_host import Around, cards_meant, is_scheduler

Judgement = tuple[str, Context, list[Finding]]
"""What was assumed, in words; what was looked up; what was found."""
MOST_ALTERNATIVES = 16


def examined(found: FoundDeployment, around: Around) -> tuple[Context, list[Finding]]:
    """What was looked up and found. ``around`` is what the user and the project say."""
    found = around.facts.added_to(found)
    alternatives = found.value("gpu_alternatives")
    if isinstance(alternatives, tuple) and alternatives:
        answers = [_judged(text, item, around) for text, item in _any_of(found, alternatives, around)]
        context, findings = _merged_any(found, answers)
    else:
        cards = cards_meant(found, translate(found), around)
        if len(cards) < 2:
            _, context, findings = _judged("", found, around)
            findings += _whatever_is_open(context, around)
            findings += _older_defaults(context, findings, around)
        else:
            context, findings = _merged_either([_judged("", found, replace(around, gpu=card)) for card in cards])
    return context, list(_as_severe(findings, around))


def _whatever_is_open(context: Context, around: Around) -> Iterator[Finding]:
    """What fails even with the kindest values of the settings that the file leaves open."""
    kind = at_best(context.found) if context.judged is None else None
    if kind is None:
        return
    words = " and ".join(f"{item.name} {item.text!r}" for item in context.found.unresolved if item.stops)
    for item in _judged("", kind, around)[2]:
        if item.level == "fail" and item.rule in ("KV101", "KV102"):
            yield replace(item, message=f"whatever {words} is: {item.message}")


def _older_defaults(context: Context, findings: list[Finding], around: Around) -> Iterator[Finding]:
    """Where the file names no version: whether it would fail, or pass, with the defaults of an older one."""
    found = context.found
    if context.judged is None or "engine" in found.settings:
        return
    fails = {item.rule for item in findings if item.level == "fail"}
    for change in CHANGED_DEFAULTS:
        own = change.setting in OWN_DEFAULTS
        if not own or change.engine != found.engine or change.setting in found.settings:
            continue
        older = Setting("engine", f"{found.engine}@{version_before(change.since)}", found.place)
        then = _judged("", replace(found, settings={**found.settings, "engine": older}), around)
        theirs = {item.rule: item for item in then[2] if item.level == "fail" and item.rule != "KV403"}
        if then[1].judged is None or bool(set(theirs) - {"KV403"}) == bool(fails - {"KV403"}):
            continue
        worst = next(iter(theirs.values()), None)
        what = f"it fails: {worst.message}" if worst is not None else "it does not fail"
        message = f"with the default of {change.setting} before {found.engine} {change.since}, {change.before}, {what}"
        figures = {"since": change.since, "source": change.source}
        remedy = f"name the version: pin the image's tag, or write {change.setting}"
        yield Finding("KV402", "warn", found.name, str(found.place), message, figures=figures, remedy=remedy)
        return


def _judged(words: str, found: FoundDeployment, around: Around) -> Judgement:
    context = look_up(found, around)
    return words, context, [item for rule in all_rules().values() for item in rule.check(context)]


def _any_of(
    found: FoundDeployment, alternatives: tuple[str, ...], around: Around
) -> Iterator[tuple[str, FoundDeployment]]:
    """The deployment on each of its GPUs; on one alone where the user says on which host it runs."""
    chosen = _of_host(found, alternatives, around)
    for text in (chosen,) if chosen else alternatives[:MOST_ALTERNATIVES]:
        place = found.settings["gpu_alternatives"].place
        settings = {name: item for name, item in found.settings.items() if name != "gpu_alternatives"}
        named = gpu_named(text, scheduler=is_scheduler(found))
        if named is not None and named.number:
            settings["gpus"] = Setting("gpus", named.number, place)
        name = "instance_type" if instance_host(text, around.catalog) and named is None else "gpu_product"
        settings[name] = Setting(name, text.partition(":")[0] if name == "gpu_product" else text, place)
        yield text, replace(found, settings=settings)


def _of_host(found: FoundDeployment, alternatives: tuple[str, ...], around: Around) -> str | None:
    """The alternative that the host of files without one has."""
    name = str(found.value("host") or "") or around.host_of_others()
    try:
        gpu = load_host(name, around.catalog).gpu if name else None
    except KvplanError:
        return None
    if gpu is None:
        return None
    return next((text for text in alternatives if not is_other_gpu(text, gpu.name)), alternatives[0])


def _merged_any(found: FoundDeployment, answers: list[Judgement]) -> tuple[Context, list[Finding]]:
    """Everything that holds on any alternative; what is the same on all of them once."""
    shared = _same_on_all(answers)
    findings = [item for item in answers[0][2] if item in shared]
    for words, _, own in answers:
        for item in own:
            if item in shared:
                continue
            which = f"with {words}, one of {len(answers)} alternatives" if len(answers) > 1 else f"with {words}"
            findings.append(replace(item, message=f"{which}: {item.message}"))
    return replace(_worst(answers)[1], found=found), findings


def _merged_either(answers: list[Judgement]) -> tuple[Context, list[Finding]]:
    """What holds whichever card it is; a failure on some cards only is a question."""
    named = [(_card(context), context, own) for _, context, own in answers]
    kinds = [{(item.rule, item.level, item.where) for item in own} for _, _, own in named]
    everywhere = set.intersection(*kinds)
    findings = [item for item in named[0][2] if (item.rule, item.level, item.where) in everywhere]
    fails = []
    for words, _, own in named:
        for item in own:
            if (item.rule, item.level, item.where) in everywhere:
                continue
            if item.level == "fail":
                fails.append((words, item))
            else:
                findings.append(replace(item, message=f"if it is {words}: {item.message}"))
    if fails:
        findings.append(_question(named, fails))
    worst = _worst(named)
    return (named[0] if fails else worst)[1], findings


def _question(named: list[Judgement], fails: list[tuple[str, Finding]]) -> Finding:
    first = fails[0][1]
    failing = list(dict.fromkeys(words for words, _ in fails))
    passing = [words for words, _, _ in named if words not in failing]
    message = (
        f"which GPU is meant? With {' or '.join(failing)} it fails ({fails[0][1].rule}: {fails[0][1].message})"
        f"{', with ' + ' or '.join(passing) + ' it does not' if passing else ''}"
    )
    found = named[0][1].found
    where = str(found.where("gpu_product", "mig_profile", "gpus"))
    remedy = 'say which in .kvplan.toml ([labels] "LABEL" = { gpu = "..." }), or give --host NAME'
    return Finding("KV411", "unknown", first.deployment, where, message, figures=first.figures, remedy=remedy)


def _card(context: Context) -> str:
    return context.host.gpu.name if context.host is not None and context.host.gpu is not None else "it"


def _same_on_all(answers: list[Judgement]) -> list[Finding]:
    return [item for item in answers[0][2] if all(item in own for _, _, own in answers[1:])]


def _worst(answers: list[Judgement]) -> Judgement:
    return min(answers, key=lambda answer: min((LEVELS.index(item.level) for item in answer[2]), default=len(LEVELS)))


def _as_severe(findings: list[Finding], around: Around) -> Iterator[Finding]:
    """The findings at the levels that the project gives their rules."""
    severities = around.facts.project.severities
    for item in findings:
        level = str(severities[item.rule].value) if item.rule in severities else item.level
        if level != "off":
            yield item if level == item.level else replace(item, level=level)
