"""``kvplan diff``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import gate_options as g
from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.render import diff_formats
from kvplan.results.diff import diff

_Base = Annotated[str, typer.Argument(help="A git revision (main, v1.2, a commit), or a folder.", show_default=False)]
_Head = Annotated[str, typer.Argument(help="The same; . is the folder as it is now.", show_default=False)]
_Paths = Annotated[
    list[str] | None,
    typer.Argument(help="Files and folders on both sides; everything if left out.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff_command)


def diff_command(
    base: _Base,
    head: _Head,
    paths: _Paths = None,
    host: g.Host = None,
    catalog: o.Catalogs = None,
    fail_on: g.FailOn = None,
    exit_zero: g.ExitZero = False,
    allow_empty: g.AllowEmpty = False,
    baseline: g.BaselineFile = None,
    format: g.DiffFormat = None,
    output: g.Output = None,
) -> None:
    """What does a change do to the deployments? Compares two git revisions, or two folders.

    Says for each deployment what became of its KV pool, its host memory and its verdict, which settings did that, and
    which findings are new, worse or fixed. Nothing is checked out, fetched or executed.

    Exit codes: 0 nothing new at the chosen level, 1 a finding that is new or worse, 2 a flag, revision or file that
    cannot be used, 3 nothing recognised on either side.
    """
    gate = g.gate_of(fail_on, exit_zero=exit_zero, allow_empty=allow_empty, baseline=baseline)
    answer = diff((base, head), paths or ["."], host=host, catalog=tuple(catalog or ()), gate=gate)
    write(answer, diff_formats, format or "text", output)
    raise typer.Exit(answer.exit_code)
