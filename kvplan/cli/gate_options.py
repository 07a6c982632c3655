"""Options of the commands that end a CI job: ``check`` and ``diff``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.errors import InputError
from kvplan.results.check import FAIL_ON, Gate

_GATE = "What fails the job"
_OUT = "Output"

Host = Annotated[
    str | None,
    typer.Option("--host", "-H", help="The host of files that name none: a catalog name, or a TOML file with one host.",
                 autocompletion=o.complete_host),
]  # fmt: skip
FailOn = Annotated[
    str | None,
    typer.Option("--fail-on", rich_help_panel=_GATE, show_default=False,
                 help="Exit 1 from this level on: fail (unless told); warn (and fail); unknown (and both)."),
]  # fmt: skip
ExitZero = Annotated[
    bool, typer.Option("--exit-zero", help="Exit 0 in spite of findings: only report.", rich_help_panel=_GATE)
]
AllowEmpty = Annotated[
    bool,
    typer.Option("--allow-empty", rich_help_panel=_GATE,
                 help="Exit 0 where no deployment is recognised. Without it that is 3: the path may be wrong."),
]  # fmt: skip
BaselineFile = Annotated[
    str | None,
    typer.Option("--baseline", metavar="FILE", rich_help_panel=_GATE,
                 help="Findings in this file don't count until they get worse; an earlier JSON output will do too."),
]  # fmt: skip
UpdateBaseline = Annotated[
    bool,
    typer.Option("--update-baseline", help="Write --baseline anew with what is found now.", rich_help_panel=_GATE),
]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", rich_help_panel=_OUT,
                 help="On standard output: text, concise, json, sarif, junit, github, gitlab or markdown."),
]  # fmt: skip
DiffFormat = Annotated[
    str | None,
    typer.Option("--format", "-f", help="On standard output: text, json or markdown.", rich_help_panel=_OUT),
]
Output = Annotated[
    list[str] | None,
    typer.Option("--output", "-o", metavar="FORMAT=FILE", rich_help_panel=_OUT,
                 help="Write this format to a file as well; repeatable."),
]  # fmt: skip


def gate_of(
    fail_on: str | None, *, exit_zero: bool, allow_empty: bool, baseline: str | None, update_baseline: bool = False
) -> Gate:
    """The options together. InputError for a level that is none, and for an update of nothing."""
    if fail_on is not None and fail_on not in FAIL_ON:
        raise InputError(f"--fail-on {fail_on!r} is not known", help="known: " + ", ".join(FAIL_ON))
    if update_baseline and not baseline:
        raise InputError("--update-baseline needs --baseline FILE, the file to write")
    return Gate(fail_on, exit_zero, allow_empty, baseline, update_baseline)
