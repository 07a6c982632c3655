"""``kvplan host``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand, QuickGroup
from kvplan.render import import_formats, listing_formats, sheet_formats
from kvplan.results.host_sheet import host_sheet
from kvplan.results.listings import hosts

HostArgument = Annotated[
    str,
    typer.Argument(help="Catalog name, alias, or a TOML file with one host.",
                   autocompletion=o.complete_host, show_default=False),
]  # fmt: skip
ImportFile = Annotated[str, typer.Argument(help="A TOML file with one host.", show_default=False)]
ImportName = Annotated[str | None, typer.Option("--name", "-n", help="What --host will take, if not its own name.")]
Search = Annotated[
    list[str] | None,
    typer.Argument(metavar="WORDS", help="Only hosts with these words in name, alias, title or GPU.",
                   show_default=False),
]  # fmt: skip
Vendor = Annotated[
    str | None, typer.Option("--vendor", help="Only GPUs of nvidia, amd, intel, apple, google or aws; or cpu: no GPU.")
]
Category = Annotated[
    str | None, typer.Option("--category", help="Only server, workstation, desktop, edge, mac, cloud or cpu.")
]
MinHbm = Annotated[
    str | None,
    typer.Option("--min-hbm", help="Memory of one GPU at least (of unified memory the pool): 80GB, 48GiB, or GiB."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=QuickGroup, no_args_is_help=True, help="The hosts that kvplan knows by name.")
    group.command("list", cls=QuickCommand)(list_command)
    group.command("show", cls=QuickCommand)(show_command)
    group.command("import", cls=QuickCommand)(import_command)
    app.add_typer(group, name="host")


def import_command(
    file: ImportFile,
    name: ImportName = None,
    source: o.Source = None,
    replace: o.Replace = False,
    catalog: o.OwnCatalog = None,
    format: o.ImportFormat = None,
    output: o.Output = None,
) -> None:
    """Add a host to your own catalog, from a TOML file with one host table as --host takes it."""
    from kvplan.catalog.imports import ImportWords
    from kvplan.results.imports import import_host

    words = ImportWords(file, name, source=source, catalog=catalog, replace=replace)
    write(import_host(words), import_formats, format, output)


def list_command(
    words: Search = None,
    vendor: Vendor = None,
    category: Category = None,
    min_hbm: MinHbm = None,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """The hosts of the catalogs: GPUs, host memory, cores, link, and what is not known of them."""
    name = " ".join(words) if words else None
    answer = hosts(tuple(catalog or ()), name=name, vendor=vendor, category=category, min_hbm=min_hbm)
    write(answer, listing_formats, format, output)


def show_command(
    host: HostArgument,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """One host: every figure with its ends, which are estimates, and what is not known."""
    write(host_sheet(host, tuple(catalog or ())), sheet_formats, format, output)
