"""``kvplan model``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand, QuickGroup
from kvplan.render import listing_formats, sheet_formats
from kvplan.results.listings import families, models
from kvplan.results.model_sheet import model_sheet

ModelArgument = Annotated[
    str,
    typer.Argument(help="Catalog name, alias, hub id, or a path to a config.json or its folder.",
                   autocompletion=o.complete_model, show_default=False),
]  # fmt: skip
Family = Annotated[str | None, typer.Option("--family", help="Only this family, e.g. qwen3, or this model_type.")]
Families = Annotated[bool, typer.Option("--families", help="List the architectures that kvplan knows instead.")]
Attention = Annotated[
    list[str] | None,
    typer.Option("--attention", help="Only mha, gqa, mqa, mla, sliding or moe; repeat for both of two."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=QuickGroup, no_args_is_help=True, help="The models that kvplan knows by name.")
    group.command("list", cls=QuickCommand)(list_command)
    group.command("show", cls=QuickCommand)(show_command)
    app.add_typer(group, name="model")


def list_command(
    family: Family = None,
    attention: Attention = None,
    families_: Families = False,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """The models of the catalogs: size, attention, KV bytes per token, context."""
    answer = families() if families_ else models(tuple(catalog or ()), family=family, attention=tuple(attention or ()))
    write(answer, listing_formats, format, output)


def show_command(
    model: ModelArgument,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """One model: its layers, its KV cache, its weights, and where the figures come from."""
    write(model_sheet(model, tuple(catalog or ())), sheet_formats, format, output)
