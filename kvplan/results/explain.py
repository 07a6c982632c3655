"""``kvplan explain``: a strategy, figure or rule with its formula, inputs and sources; a model or host as its sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvplan import __version__
from kvplan.assess import assess_frame, build_frame
from kvplan.catalog.hardware import host_table
from kvplan.catalog.models import load_model, model_table
from kvplan.deployments.resolve import resolve, resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.interval import Interval
from kvplan.domain.task import TASKS
from kvplan.errors import InputError, UnknownName
from kvplan.results.explain_methods import MethodSheet, method_names, sheets_named, sheets_of, who_has
from kvplan.results.explanation import Explanation
from kvplan.results.figures import FigureText, all_figures, find_figure
from kvplan.results.host_sheet import HostSheet, host_sheet
from kvplan.results.json_shapes import Json
from kvplan.results.kv_layouts import NOWHERE
from kvplan.results.model_sheet import ModelSheet, model_sheet
from kvplan.results.rule_docs import section_in_words
from kvplan.results.rule_texts import rule_texts
from kvplan.strategies import all_strategies
from kvplan.strategies.interface import Input, Situation, Strategy
from kvplan.strategies.scores import loss_on, published
from kvplan.units import shorten

LIST_SCHEMA = "kvplan.explain-list/1"
EXAMPLE_MODEL = "llama3-8b"
"""A strategy's notes may depend on the deployment; they are asked for this model under no engine."""

STOCK = "a feature of stock engines"
PROTOTYPE = "a prototype of its authors, not a feature of stock engines"


@dataclass(frozen=True, slots=True)
class Topic:
    """One name that can be explained."""

    kind: str
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class TopicList:
    """Everything that can be explained."""

    topics: tuple[Topic, ...]

    def to_json(self) -> Json:
        """The envelope ``kvplan.explain-list/1``."""
        rows = [{"kind": topic.kind, "name": topic.name, "title": topic.title} for topic in self.topics]
        return {"schema": LIST_SCHEMA, "kvplan_version": __version__, "topics": rows}


def explain(name: str, catalog: Sequence[str] = (), words: Words | None = None) -> Explanation | ModelSheet | HostSheet:
    """What stands behind a name. Where a strategy and a figure share it (``hbm``), the strategy has that text.

    ``words`` say for which deployment: InputError where the name is no strategy, and so does not depend on one.
    """
    strategy = all_strategies().get(name.lower())
    if strategy is not None:
        return of_strategy(strategy) if words is None else on_deployment(strategy, words)
    if words is not None:
        raise InputError(f"only a strategy is explained for a model and a host, and {shorten(name)!r} is none",
                         help="leave out --model, --host and --gpus")  # fmt: skip
    methods = sheets_named(name)
    if methods:
        return of_method(methods)
    figure = find_figure(name)
    if figure is not None:
        return of_figure(figure)
    rule = rule_texts().get(name.upper())
    if rule is not None:
        text, notes = section_in_words(rule.id)
        level = f"its findings are {rule.level.upper()} unless they say otherwise"
        return Explanation("rule", rule.id, rule.title, text=text or rule.text, notes=(*notes, level))
    return _sheet(name, catalog)


def topics(catalog: Sequence[str] = ()) -> TopicList:
    """Every name that ``explain`` takes, aliases aside."""
    found = [Topic(_kind(strategy), strategy.id, strategy.title) for strategy in all_strategies().values()]
    found += [Topic("method", name, title) for name, title in method_names().items()]
    found += [Topic("figure", figure.name, figure.title) for figure in all_figures().values()]
    found += [Topic("rule", rule.id, rule.title) for rule in rule_texts().values()]
    models, hosts = model_table(catalog), host_table(catalog)
    found += [Topic("model", name, models.row(name)[0].get("name", name)) for name in models.names()]
    found += [Topic("host", name, hosts.row(name)[0].get("title", name)) for name in hosts.names()]
    return TopicList(tuple(found))


def on_deployment(strategy: Strategy, words: Words) -> Explanation:
    """The same for one deployment, with where it pays if it reloads KV. Raises KvplanError as ``fit`` does."""
    frame = build_frame(resolve(words._replace(model=words.model or EXAMPLE_MODEL)))
    item = assess_frame(frame, (strategy.id,)).strategies[0]
    situation = frame.situation
    usable = strategy.kv_suffix is None or strategy.kv_suffix in situation.kernels
    explained = of_strategy(strategy, situation if usable else None)
    deployment = frame.deployment
    gpu = deployment.host.gpu.name if deployment.host.gpu else "no GPU"
    where = f"{deployment.model.name} on {deployment.host.name} ({deployment.layout.gpus} x {gpu})"
    engine = f"{deployment.engine.name} {deployment.engine.version}"
    why_not = "" if item.budgets else f": {item.reason}"
    return replace(explained, here=f"{where}, {engine}{why_not}", break_even=item.break_even)


def of_strategy(strategy: Strategy, situation: Situation | None = None) -> Explanation:
    """A strategy's or a combination's formula, inputs, accuracy and evidence."""
    situation = situation or _example_situation()
    same_name = all_figures().get(strategy.id)
    return Explanation(
        kind=_kind(strategy),
        name=strategy.id,
        title=strategy.title,
        text=same_name.text if same_name else "",
        formula=strategy.formula,
        inputs=(*_format_inputs(strategy, situation), *strategy.inputs),
        accuracy=strategy.accuracy,
        evidence=strategy.evidence,
        notes=_notes(strategy, situation),
        see=tuple(strategy.id.split("+")) if "+" in strategy.id else (),
        methods=sheets_of(strategy.id) if "+" not in strategy.id else (),
        by_task=() if strategy.accuracy.high == 0.0 else tuple(
            (task, loss_on(task, strategy, situation)) for task in TASKS
        ),
    )  # fmt: skip


def of_method(sheets: tuple[MethodSheet, ...]) -> Explanation:
    """A published method; one that two strategies have is a list of both."""
    sheet, method, strategies = sheets[0], sheets[0].method, tuple(one.family for one in sheets)
    if len(sheets) > 1:
        text = f"a method of {' and of '.join(strategies)}: --method {method.name} is taken by each"
        return Explanation("method", method.name, method.title, text=text, see=strategies, methods=sheets)
    chosen = f"--strategy {sheet.family}" if sheet.default else f"--strategy {sheet.family} --method {method.name}"
    return Explanation(
        kind="method",
        name=method.name,
        title=f"{method.title}, a method of {sheet.family}",
        text=f"{chosen} takes these constants",
        formula=method.formula,
        inputs=method.inputs,
        accuracy=method.accuracy,
        evidence=method.evidence,
        notes=sheet.notes,
        source=method.source,
        see=strategies,
        setup=method.setup,
        by_task=() if method.accuracy.high == 0.0 else tuple((task, published(method.name, task)) for task in TASKS),
    )


def of_figure(figure: FigureText) -> Explanation:
    """A budget, an objective, a figure of the answer, or a verdict."""
    return Explanation(
        kind="figure",
        name=figure.name,
        title=figure.title,
        text=figure.text,
        unit=figure.unit,
        formula=figure.formula,
        source=figure.source,
        see=figure.see,
    )


def _sheet(name: str, catalog: Sequence[str]) -> ModelSheet | HostSheet:
    """The sheet of a model or host, by catalog name, alias or path."""
    models, hosts = model_table(catalog), host_table(catalog)
    if models.find(name) is not None or name.lower().endswith(".json"):
        return model_sheet(name, catalog)
    if hosts.find(name) is not None or name.lower().endswith(".toml"):
        return host_sheet(name, catalog)
    known = [*all_strategies(), *method_names(), *all_figures(), *rule_texts(), *models.names(), *hosts.names()]
    known += [*models.aliases(), *hosts.aliases()]
    raise UnknownName.of("strategy, figure, rule, model or host", name, known, listing="kvplan explain --list")


def _kind(strategy: Strategy) -> str:
    return "combination" if "+" in strategy.id else "strategy"


def _notes(strategy: Strategy, situation: Situation) -> tuple[str, ...]:
    """Who has it, then the strategy's own notes. One that calls itself a prototype isn't called so twice."""
    method = strategy.method(situation)
    if method is not None and "+" not in strategy.id:
        return (who_has(method), *method.cautions)
    own = strategy.notes(situation)
    if strategy.stock:
        return (STOCK, *own)
    return own if any("prototype" in note or "stock" in note for note in own) else (PROTOTYPE, *own)


def _format_inputs(strategy: Strategy, situation: Situation) -> tuple[Input, ...]:
    """Bytes of a quantized element in the architecture's own layout; engines add the scales of theirs."""
    kernel = situation.kernels.get(strategy.kv_suffix or "")
    if kernel is None:
        return ()
    width = Interval.exact(kernel.format.element_bytes)
    return (Input("bytes per KV element, without an engine's own scales", width, "", kernel.source),)


def _example_situation() -> Situation:
    deployment = resolve_on(Words(engine="generic"), load_model(EXAMPLE_MODEL), NOWHERE)
    return build_frame(deployment).situation
