"""``kvplan check``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.errors import InputError
from kvplan.render import check_formats
from kvplan.results.check import FAIL_ON, check

_Paths = Annotated[
    list[str],
    typer.Argument(help="Files and folders; - reads a rendered manifest from standard input.", show_default=False),
]
_Host = Annotated[
    str | None,
    typer.Option("--host", "-H", help="The host of files that name none: a catalog name, or a TOML file with one host.",
                 autocompletion=o.complete_host),
]  # fmt: skip
_FailOn = Annotated[str, typer.Option("--fail-on", help="Exit 1 from this level on: fail, warn or unknown.")]
_ExitZero = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 in spite of findings.")]
_Baseline = Annotated[
    str | None, typer.Option("--baseline", help="An earlier --format json output: what it has does not count.")
]
_Format = Annotated[str | None, typer.Option("--format", "-f", help="table, json or markdown.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check_command)


def check_command(
    paths: _Paths,
    host: _Host = None,
    fail_on: _FailOn = "fail",
    exit_zero: _ExitZero = False,
    baseline: _Baseline = None,
    catalog: o.Catalogs = None,
    format: _Format = None,
    output: o.Output = None,
) -> None:
    """Do the deployment files in these folders stay inside their host's budgets? (the CI gate)

    Reads kvplan.deployment/1 TOML, vLLM --config YAML, shell scripts and Kubernetes manifests. Nothing is executed.
    """
    if fail_on not in FAIL_ON:
        raise InputError(f"--fail-on {fail_on!r} is not known", help="known: " + ", ".join(FAIL_ON))
    answer = check(
        paths, host=host, catalog=tuple(catalog or ()), baseline=baseline, fail_on=fail_on, exit_zero=exit_zero
    )
    write(answer, check_formats, format, output)
    raise typer.Exit(answer.exit_code)
