"""``kvplan model``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand, QuickGroup
from kvplan.render import import_formats, listing_formats, sheet_formats
from kvplan.results.listings import families, models
from kvplan.results.model_sheet import model_sheet

ModelArgument = Annotated[
    str,
    typer.Argument(help="Catalog name, alias, hub id, or a path: config.json, its folder, or a .gguf.",
                   autocompletion=o.complete_model, show_default=False),
]  # fmt: skip
Family = Annotated[str | None, typer.Option("--family", help="Only this family, e.g. qwen3, or this model_type.")]
ImportPath = Annotated[
    str, typer.Argument(help="A config.json, a checkpoint folder, a .gguf file, or owner/name with --fetch.",
                        show_default=False)
]  # fmt: skip
ImportName = Annotated[str, typer.Option("--name", "-n", help="What --model will take.", show_default=False)]
ImportAliases = Annotated[list[str] | None, typer.Option("--alias", help="Another name for it; repeatable.")]
HubId = Annotated[str | None, typer.Option("--hub-id", help="Its owner/name on the Hub, for the commands to paste.")]
Families = Annotated[bool, typer.Option("--families", help="List the architectures that kvplan knows instead.")]
Attention = Annotated[
    list[str] | None,
    typer.Option(
        "--attention",
        help="Only mha, gqa, mqa, mla or moe, or with such layers: sliding, chunked, cross, gdn, kda, mamba, "
        "lightning, conv, compressed, indexer ...; repeat for both of two.",
    ),
]
Search = Annotated[
    list[str] | None,
    typer.Argument(metavar="WORDS", help="Only models with these words in name, hub id or family.",
                   show_default=False),
]  # fmt: skip
MaxParameters = Annotated[
    str | None, typer.Option("--max-parameters", help="Parameters at most, all experts counted: 8B, 500M.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=QuickGroup, no_args_is_help=True, help="The models that kvplan knows by name.")
    group.command("list", cls=QuickCommand)(list_command)
    group.command("show", cls=QuickCommand)(show_command)
    group.command("import", cls=QuickCommand)(import_command)
    app.add_typer(group, name="model")


def import_command(
    path: ImportPath,
    name: ImportName,
    alias: ImportAliases = None,
    hub_id: HubId = None,
    source: o.Source = None,
    replace: o.Replace = False,
    fetch: o.Fetch = False,
    catalog: o.OwnCatalog = None,
    format: o.ImportFormat = None,
    output: o.Output = None,
) -> None:
    """Add a model to your own catalog: from a config.json, a checkpoint folder, a GGUF file, or the Hub (--fetch).

    The row holds all that kvplan needs, so it goes on working where the file is moved or deleted.
    """
    from kvplan.catalog.imports import ImportWords
    from kvplan.results.imports import import_model

    words = ImportWords(path, name, tuple(alias or ()), hub_id, source, catalog, replace, fetch)
    write(import_model(words), import_formats, format, output)


def list_command(
    words: Search = None,
    family: Family = None,
    attention: Attention = None,
    max_parameters: MaxParameters = None,
    families_: Families = False,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """The models of the catalogs: size, attention, KV bytes per token, context."""
    if families_:
        o.refuse_beside("--families", {"WORDS": words, "--family": family, "--attention": attention,
                                       "--max-parameters": max_parameters})  # fmt: skip
        return write(families(), listing_formats, format, output)
    answer = models(
        tuple(catalog or ()),
        name=" ".join(words) if words else None,
        family=family,
        attention=tuple(attention or ()),
        max_parameters=max_parameters,
    )
    write(answer, listing_formats, format, output)


def show_command(
    model: ModelArgument,
    fetch: o.Fetch = False,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """One model: its layers, its KV cache, its weights, and where the figures come from."""
    write(model_sheet(model, tuple(catalog or ()), fetch=fetch), sheet_formats, format, output)
