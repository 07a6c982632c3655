"""``kvplan explain``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand
from kvplan.deployments.words import Words
from kvplan.errors import InputError
from kvplan.render import explain_formats, topic_formats
from kvplan.results.explain import explain, topics


def complete_topic(incomplete: str) -> list[str]:
    """Everything that can be explained, for the shell."""
    return o.starting_with(incomplete, [topic.name for topic in topics().topics])


Name = Annotated[
    str | None,
    typer.Argument(help="A strategy, a method, a budget or figure, a rule, a model or a host.",
                   autocompletion=complete_topic, show_default=False),
]  # fmt: skip
OnModel = Annotated[
    str | None,
    typer.Option("--model", "-m", help="Explain a strategy for this model (default llama3-8b); needs --host.",
                 autocompletion=o.complete_model),
]  # fmt: skip
OnHost = Annotated[
    str | None,
    typer.Option("--host", "-H", help="Explain a strategy on this host: where reloading KV pays there.",
                 autocompletion=o.complete_host),
]  # fmt: skip
List = Annotated[bool, typer.Option("--list", help="List what can be explained.")]
Format = Annotated[str | None, typer.Option("--format", "-f", help="table or json; csv too with --list.")]


def _deployment(model: str | None, host: str | None, gpus: int | None, catalogs: tuple[str, ...]) -> Words | None:
    """The deployment that a strategy is explained for; None where none was named."""
    if host is None and (model is not None or gpus is not None):
        raise InputError("a strategy is explained for a host", help="--host NAME, e.g. rtx4090")
    return None if host is None else Words(model=model or "", host=host, gpus=gpus, catalog=catalogs)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", cls=QuickCommand)(explain_command)


def explain_command(
    name: Name = None,
    list_: List = False,
    model: OnModel = None,
    host: OnHost = None,
    gpus: o.Gpus = None,
    catalog: o.Catalogs = None,
    format: Format = None,
    output: o.Output = None,
) -> None:
    """A strategy, rule, figure, model or host: its formula, inputs and sources."""
    catalogs = tuple(catalog or ())
    words = _deployment(model, host, gpus, catalogs)
    if list_:
        write(topics(catalogs), topic_formats, format, output)
        return
    if name is None:
        raise InputError("nothing was named", help="kvplan explain NAME; kvplan explain --list says what there is")
    write(explain(name, catalogs, words), explain_formats, format, output)
