"""``kvplan check``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import gate_options as g
from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.render import check_formats
from kvplan.results.check import check

_Paths = Annotated[
    list[str],
    typer.Argument(help="Files and folders; - reads a rendered manifest from standard input.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check_command)


def check_command(
    paths: _Paths,
    host: g.Host = None,
    catalog: o.Catalogs = None,
    fail_on: g.FailOn = None,
    exit_zero: g.ExitZero = False,
    allow_empty: g.AllowEmpty = False,
    baseline: g.BaselineFile = None,
    update_baseline: g.UpdateBaseline = False,
    format: g.Format = None,
    output: g.Output = None,
) -> None:
    """Do the deployment files in these folders stay inside their host's budgets? (the CI gate)

    Reads Kubernetes, kustomize, compose, systemd, shell, Helm values, KServe, Ray, Dynamo and engines' own files.
    Nothing is executed. kvplan explain KV201 says what a rule means, docs/rules.md lists them.

    Exit codes: 0 no finding at the chosen level, 1 findings, 2 a flag or file that can't be used, 3 nothing recognised.

    A finding that may stay: # kvplan: ignore[KV104] why, until=2027-01-31 on its line or the line above.
    """
    gate = g.gate_of(
        fail_on, exit_zero=exit_zero, allow_empty=allow_empty, baseline=baseline, update_baseline=update_baseline
    )
    answer = check(paths, host=host, catalog=tuple(catalog or ()), gate=gate)
    write(answer, check_formats, format or "text", output)  # a failed job must say why in its log
    raise typer.Exit(answer.exit_code)
