"""``kvplan host``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand, QuickGroup
from kvplan.render import listing_formats, sheet_formats
from kvplan.results.host_sheet import host_sheet
from kvplan.results.listings import hosts

HostArgument = Annotated[
    str,
    typer.Argument(help="Catalog name, alias, or a TOML file with one host.",
                   autocompletion=o.complete_host, show_default=False),
]  # fmt: skip
Vendor = Annotated[str | None, typer.Option("--vendor", help="Only GPUs of nvidia, amd, apple ..., or cpu.")]
MinHbm = Annotated[str | None, typer.Option("--min-hbm", help="GPU memory of all GPUs together: 80GB, 48GiB, or GiB.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(cls=QuickGroup, no_args_is_help=True, help="The hosts that kvplan knows by name.")
    group.command("list", cls=QuickCommand)(list_command)
    group.command("show", cls=QuickCommand)(show_command)
    app.add_typer(group, name="host")


def list_command(
    vendor: Vendor = None,
    min_hbm: MinHbm = None,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """The hosts of the catalogs: GPUs, host memory, cores, link."""
    write(hosts(tuple(catalog or ()), vendor=vendor, min_hbm=min_hbm), listing_formats, format, output)


def show_command(
    host: HostArgument,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
) -> None:
    """One host: every figure with its ends, which are estimates, and what is not known."""
    write(host_sheet(host, tuple(catalog or ())), sheet_formats, format, output)
