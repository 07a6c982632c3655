"""``kvplan lock``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.render import lock_formats

_Paths = Annotated[
    list[str],
    typer.Argument(help="Files and folders with deployments, as for check.", show_default=False),
]
_Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", show_default=False,
                 help="The lock file. Left out: the one that there is, else kvplan.lock.toml beside .kvplan.toml or at "
                 "the repository's root."),
]  # fmt: skip
_Fetch = Annotated[
    bool,
    typer.Option("--fetch", help="Read hub ids that are not locked yet from the Hub; needs huggingface_hub."),
]
_Upgrade = Annotated[
    bool, typer.Option("--upgrade", help="With --fetch: read those that are locked already again, at their newest.")
]
_Check = Annotated[
    bool, typer.Option("--check", help="Write nothing; exit 1 where the lock is stale or incomplete (for CI).")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lock")(lock_command)


def lock_command(
    paths: _Paths,
    output: _Output = None,
    fetch: _Fetch = False,
    upgrade: _Upgrade = False,
    check: _Check = False,
    catalog: o.Catalogs = None,
    format: o.ImportFormat = None,
) -> None:
    """Write down the models that deployment files name, so that check and diff find them offline.

    A model that a catalog has needs nothing. Others are read where they are, beside the deployment file or by their
    path: a config.json, a checkpoint folder or a GGUF file; with --fetch also from the Hub. Their geometry goes to
    kvplan.lock.toml. Commit it: check and diff read it by themselves.

    What was locked stays as it is where its file is not here; what no deployment names any more is dropped.

    Exit codes: 0 all is known or locked, 1 something is missing (--check: or stale), 2 a flag or file that can't be
    used, 3 nothing recognised.
    """
    from kvplan.results.lock import LockWords, lock

    answer = lock(paths, LockWords(output, tuple(catalog or ()), fetch, upgrade, check))
    write(answer, lock_formats, format, None)
    raise typer.Exit(answer.exit_code)
