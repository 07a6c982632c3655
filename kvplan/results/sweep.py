"""``kvplan sweep``: which strategy wins at every context and number of users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from kvplan import __version__
from kvplan.assess.methods import check_method
from kvplan.assess.verdict import users_words
from kvplan.catalog.files import catalog_files, digest
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve_on, tokens
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment
from kvplan.domain.model import Model
from kvplan.errors import InputError
from kvplan.grid_search.axes import doubling, parse_axis
from kvplan.grid_search.search import Frontier, Point, search
from kvplan.results.json_shapes import Json, host_json, layout_json, model_json

SCHEMA = "kvplan.sweep/1"
DEFAULT_USERS = "1:256"
SHORTEST_TOKENS, LONGEST_TOKENS = 4096, 131072
"""The contexts of a sweep that names none: from the first to the model's limit; to the second if there is none."""
MOST_POINTS = 100_000
COMPILING = "compiling the core once, a few seconds ..."


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The answer of one ``sweep``."""

    frontier: Frontier
    catalog_digest: str
    catalog_paths: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where anything fits at any point, 3 where no point can be judged, else 1."""
        outcomes = {point.outcome for _, _, point in self.frontier.each_point()}
        if outcomes & {"fits", "tight"}:
            return 0
        return 1 if outcomes & {"unlikely", "no"} else 3

    def to_json(self) -> Json:
        """The envelope ``kvplan.sweep/1``. Lists of lists go by context, then by users."""
        frontier = self.frontier
        deployment, objectives = frontier.deployment, frontier.deployment.objectives
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "model": model_json(deployment.model),
            "host": host_json(deployment.host, deployment.layout.gpus),
            "engine": {"name": deployment.engine.name, "version": deployment.engine.version},
            "objectives": {
                "itl_s": objectives.itl_s,
                "ttft_s": objectives.ttft_s,
                "margin_fraction": objectives.margin_fraction,
            },
            "layout": layout_json(deployment),
            "sentence": sentence(frontier),
            "axes": {"context_tokens": list(frontier.contexts), "users": list(frontier.users)},
            "strategies": [
                {"id": name, "outcomes": [list(row[index].outcomes) for row in frontier.rows]}
                for index, name in enumerate(frontier.strategies)
            ],
            "outcomes": [[point.outcome for point in row] for row in frontier.points],
            "winners": [[point.strategy for point in row] for row in frontier.points],
            "itl_s": [[point.itl_s for point in row] for row in frontier.points],
            "bound_by": [[point.bound_by for point in row] for row in frontier.points],
            "catalog": {"digest": self.catalog_digest, "files": list(self.catalog_paths)},
        }


def sweep(
    words: Words, contexts: str | None = None, users: str | None = None, notify: Callable[[str], None] | None = None
) -> SweepResult:
    """Judge a grid. ``contexts`` and ``users`` are ranges (grid_search/axes.py) and replace those of ``words``.

    ``notify`` hears what takes long. Raises KvplanError for input that can't be used or judged.
    """
    if not words.model or not words.host:
        raise InputError("a sweep needs a model and a host", help="--model llama3-8b --host rtx4090")
    model, host = load_model(words.model, words.catalog, fetch=words.fetch), load_host(words.host, words.catalog)
    context_axis = parse_axis(contexts, "--context") if contexts else default_contexts(words, model)
    users_axis = parse_axis(users or DEFAULT_USERS, "--users")
    if len(context_axis) * len(users_axis) > MOST_POINTS:
        raise InputError(
            f"{len(context_axis):,} contexts x {len(users_axis):,} users are more than {MOST_POINTS:,} points",
            help="A:B:N takes N points from A to B",
        )

    def at(context_tokens: int, count: int) -> Deployment:
        return resolve_on(words._replace(context=context_tokens, users=count), model, host)

    # what is wrong with the words is said before anything is compiled
    check_method(at(context_axis[0], users_axis[0]).method, words.strategies)
    _warn_if_cold(notify)
    frontier = search(at, context_axis, users_axis, words.strategies)
    files = (*catalog_files("hardware.toml", words.catalog), *catalog_files("models.toml", words.catalog))
    unique = {file.path: file for file in files}
    return SweepResult(frontier, digest(tuple(unique.values())), tuple(unique))


def default_contexts(words: Words, model: Model) -> tuple[int, ...]:
    """Doubling from 4k, or from the prompt and output that were asked for, to the model's own limit."""
    prompt, output = tokens(words.prompt_tokens, "--prompt-tokens"), tokens(words.output_tokens, "--output-tokens")
    longest = model.max_context_tokens or LONGEST_TOKENS
    shortest = max(min(SHORTEST_TOKENS, longest), (prompt or 0) + (output or 0))
    return doubling(shortest, max(shortest, longest))


def sentence(frontier: Frontier) -> str:
    """The answer in one sentence: who wins along the context with most changes, and where everything ends."""
    row = max(range(len(frontier.contexts)), key=lambda index: (_winners(frontier.points[index]), index))
    if not _winners(frontier.points[row]):
        return f"Nothing fits at any of {len(frontier.contexts) * len(frontier.users):,} points."
    longest = max(index for index, points in enumerate(frontier.points) if _winners(points))
    end = ""
    if longest < len(frontier.contexts) - 1:
        by_model = all(point.bound_by == "context" for point in frontier.points[longest + 1])
        where = f"{frontier.contexts[longest]:,} tokens"
        end = f"; {where} is the longest that the model takes" if by_model else f"; nothing fits past {where}"
        if by_model and frontier.deployment.model.max_context_tokens != frontier.contexts[longest]:
            end = f"; past {where} is beyond the model"
    return f"At {frontier.contexts[row]:,} tokens {_told(frontier.points[row], frontier.users)}{end}."


def _winners(points: tuple[Point, ...]) -> int:
    """How many different winners a row has; 0 where nothing fits."""
    return len({point.strategy for point in points if point.strategy})


def _told(points: tuple[Point, ...], users: tuple[int, ...]) -> str:
    """``hbm wins up to 4 users, kv-fp8 up to 8, 3 others up to 64, nothing beyond``."""
    runs = [
        (strategy, [count for count, _ in group][-1])
        for strategy, group in groupby(zip(users, points, strict=True), key=lambda pair: pair[1].strategy)
    ]
    nothing_beyond = runs[-1][0] is None
    runs = runs[:-1] if nothing_beyond else runs
    told: list[str] = []
    for strategy, last in runs:
        name = strategy or "nothing"
        told.append(f"{name} wins up to {users_words(last)}" if not told else f"{name} up to {last:,}")
    if len(told) > 4:
        told[2:] = [f"{len(told) - 2} others up to {runs[-1][1]:,}"]
    return ", ".join([*told, *(["nothing beyond"] if nothing_beyond else [])])


def _warn_if_cold(notify: Callable[[str], None] | None) -> None:
    from kvplan.compiled import is_cold, judge_points

    if notify is not None and is_cold(judge_points):
        notify(COMPILING)
