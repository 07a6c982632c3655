"""``kvplan fit``."""

from __future__ import annotations

import typer

from kvplan.cli import fit_options as f
from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand
from kvplan.render import fit_formats
from kvplan.results.fit import fit, fit_hosts


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fit", cls=QuickCommand)(fit_command)


def fit_command(
    model: o.ModelName,
    hosts: o.HostNames,
    fetch: o.Fetch = False,
    catalog: o.Catalogs = None,
    strategy: o.Strategies = None,
    method: o.MethodName = None,
    format: o.Format = None,
    output: o.Output = None,
    gpus: o.Gpus = None,
    cpu_cores: o.CpuCores = None,
    dram_gib: o.DramGib = None,
    dram_gb_per_s: o.DramRate = None,
    link: o.LinkName = None,
    hbm_gib: o.HbmGib = None,
    numa_nodes: o.NumaNodes = None,
    display_reserve_gib: o.DisplayReserve = None,
    context: o.Context = None,
    prompt_tokens: o.PromptTokens = None,
    output_tokens: o.OutputTokens = None,
    users: o.Users = 1,
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
    sensitivity: f.WithSensitivity = False,
    seed: f.Seed = None,
) -> None:
    """Which KV strategy fits this model on this host for this workload, and what binds each."""
    given = dict(locals())
    each = [o.words_of(given, host=host) for host in hosts]
    draws = f.seed_of(sensitivity, seed)
    answer = fit(each[0], draws) if len(each) == 1 else fit_hosts(each, draws)
    write(answer, fit_formats, format, output)
    raise typer.Exit(answer.exit_code)
