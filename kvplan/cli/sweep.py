"""``kvplan sweep``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import fit_options as f
from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand
from kvplan.errors import InputError
from kvplan.render import sweep_formats
from kvplan.results.sweep import sweep

_WORK = "Workload"
_RANGE = "FROM:TO doubles, FROM:TO:COUNT takes so many points, or a list 4k,32k,128k"
Contexts = Annotated[
    str | None,
    typer.Option("--context", "-c", help=f"Tokens of a sequence: {_RANGE} (default 4k to the model's limit).",
                 rich_help_panel=_WORK),
]  # fmt: skip
UserCounts = Annotated[
    str | None,
    typer.Option("--users", "-u", help="Sequences that decode at once, in the same forms (default 1:256).",
                 rich_help_panel=_WORK),
]  # fmt: skip
Format = Annotated[str | None, typer.Option("--format", "-f", help="table, csv or json.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep", cls=QuickCommand)(sweep_command)


def sweep_command(
    model: o.ModelName,
    host: o.OneHost,
    fetch: o.Fetch = False,
    catalog: o.Catalogs = None,
    strategy: o.Strategies = None,
    method: o.MethodName = None,
    format: Format = None,
    output: o.Output = None,
    gpus: o.Gpus = None,
    cpu_cores: o.CpuCores = None,
    dram_gib: o.DramGib = None,
    dram_gb_per_s: o.DramRate = None,
    link: o.LinkName = None,
    hbm_gib: o.HbmGib = None,
    numa_nodes: o.NumaNodes = None,
    display_reserve_gib: o.DisplayReserve = None,
    context: Contexts = None,
    prompt_tokens: o.PromptTokens = None,
    output_tokens: o.OutputTokens = None,
    users: UserCounts = None,
    shared_prefix_tokens: o.SharedPrefix = None,
    prefix_hit_fraction: o.PrefixHit = None,
    idle_sessions: o.IdleSessions = None,
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
    kv_offloading_size: o.KvOffloading = None,
    cpu_offload_gb: o.CpuOffload = None,
    speculative_config: o.Speculative = None,
    itl_ms: o.ItlMs = None,
    ttft_ms: o.TtftMs = None,
    margin: o.Margin = None,
    task: f.TaskName = None,
    max_loss_points: f.MaxLossPoints = None,
    tenants: o.Tenants = 1,
    other_link_gb_per_s: o.OtherLink = 0.0,
    other_cpu_cores: o.OtherCores = 0.0,
    other_dram_gib: o.OtherDram = 0.0,
) -> None:
    """Which KV strategy wins at every context and number of users: a map, or all figures as CSV or JSON."""
    given = dict(locals())
    if len(host) > 1:
        raise InputError("--host is given more than once; a sweep is of one host", help="kvplan fit compares hosts")
    words = o.words_of(given, host=host[0], context=None, users=1)
    answer = sweep(words, context, users, notify=lambda text: typer.echo(text, err=True))
    write(answer, sweep_formats, format, output)
    raise typer.Exit(answer.exit_code)
