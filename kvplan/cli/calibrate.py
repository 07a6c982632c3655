"""``kvplan calibrate``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand
from kvplan.errors import InputError
from kvplan.render import calibrate_formats
from kvplan.results.calibrate import CalibrateWords, calibrate

Logs = Annotated[
    list[str],
    typer.Argument(metavar="LOG...", help="Logs of one start: a file, one file for each rank, or - for stdin.",
                   show_default=False),
]  # fmt: skip
LogHost = Annotated[
    list[str] | None,
    typer.Option("--host", "-H", help="The host that the log is from: catalog name, alias, or a TOML file.",
                 autocompletion=o.complete_host),
]  # fmt: skip
LogModel = Annotated[
    str | None,
    typer.Option("--model", "-m", help="The model, where the log's own name for it is not in the catalog.",
                 autocompletion=o.complete_model),
]  # fmt: skip
Save = Annotated[
    str | None, typer.Option("--save", help="Keep the correction under this name: plans for this host then use it.")
]
CatalogFiles = Annotated[
    list[str] | None, typer.Option("--catalog", help="A catalog file laid over the shipped ones; --save writes to it.")
]
Source = Annotated[str | None, typer.Option("--source", help="Where the log is from; its name and date if left out.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate", cls=QuickCommand)(calibrate_command)


def calibrate_command(
    logs: Logs,
    host: LogHost = None,
    model: LogModel = None,
    save: Save = None,
    source: Source = None,
    replace: o.Replace = False,
    fetch: o.Fetch = False,
    catalog: CatalogFiles = None,
    format: o.ImportFormat = None,
    output: o.Output = None,
    gpus: o.Gpus = None,
    hbm_gib: o.HbmGib = None,
    engine: o.EngineName = None,
    tp: o.Tp = None,
    pp: o.Pp = None,
    dp: o.Dp = None,
    ep: o.Ep = None,
    dcp: o.Dcp = None,
    weights: o.Weights = None,
    kv_cache_dtype: o.KvCacheDtype = None,
    gpu_memory_utilization: o.Utilization = None,
    mem_fraction_static: o.StaticFraction = None,
    max_model_len: o.MaxModelLen = None,
    max_num_batched_tokens: o.MaxBatchedTokens = None,
    max_num_seqs: o.MaxSequences = None,
    block_size: o.BlockSize = None,
    enforce_eager: o.EnforceEager = False,
    speculative_config: o.Speculative = None,
) -> None:
    """What an engine's start-up log says about its memory, beside what kvplan predicts; --save keeps the correction.

    Model and settings are read from the log; options go before what it says.
    """
    given = dict(locals())
    if host is not None and len(host) > 1:
        raise InputError("a log is of one host", help="leave out all but one --host")
    words = o.words_of(given, host=host[0] if host else "")
    answer = calibrate(CalibrateWords(tuple(logs), words, save, source, replace))
    write(answer, calibrate_formats, format, output)
    raise typer.Exit(answer.exit_code)
