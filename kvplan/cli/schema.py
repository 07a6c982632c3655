"""``kvplan schema``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import print_text
from kvplan.cli.quick import QuickCommand
from kvplan.results.schemas import NAMES, schema


def complete_schema(incomplete: str) -> list[str]:
    """Schema names for the shell."""
    return o.starting_with(incomplete, list(NAMES))


Name = Annotated[str, typer.Argument(help=", ".join(NAMES) + ".", autocompletion=complete_schema, show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema", cls=QuickCommand)(schema_command)


def schema_command(name: Name) -> None:
    """The JSON Schema (draft 2020-12) that an answer with --format json validates against."""
    print_text(json.dumps(schema(name), indent=2) + "\n")
