"""``kvplan kv``."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.cli import options as o
from kvplan.cli.outputs import write
from kvplan.cli.quick import QuickCommand
from kvplan.render import kv_formats
from kvplan.results.kv import kv

_POOL = "Pool"
PoolGib = Annotated[
    float | None,
    typer.Option("--pool-gib", help="Say what a pool of so many GiB on each GPU holds.", rich_help_panel=_POOL),
]
PoolBytes = Annotated[int | None, typer.Option("--pool-bytes", help="The same in bytes.", rich_help_panel=_POOL)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("kv", cls=QuickCommand)(kv_command)


def kv_command(
    model: o.ModelName,
    fetch: o.Fetch = False,
    catalog: o.Catalogs = None,
    format: o.Format = None,
    output: o.Output = None,
    context: o.Context = None,
    pool_gib: PoolGib = None,
    pool_bytes: PoolBytes = None,
    host: o.KvHost = None,
    engine: o.EngineName = None,
    gpu_memory_utilization: o.Utilization = None,
    mem_fraction_static: o.StaticFraction = None,
    enforce_eager: o.EnforceEager = False,
    tp: o.Tp = None,
    pp: o.Pp = None,
    dp: o.Dp = None,
    ep: o.Ep = None,
    dcp: o.Dcp = None,
    weights: o.Weights = None,
    kv_cache_dtype: o.KvCacheDtype = None,
    max_model_len: o.MaxModelLen = None,
    max_num_batched_tokens: o.MaxBatchedTokens = None,
    max_num_seqs: o.MaxSequences = None,
    block_size: o.BlockSize = None,
    prefix_caching: o.PrefixCaching = None,
    unify_kv_groups: o.UnifyKvGroups = False,
    mamba_cache_mode: o.MambaCacheMode = None,
    mamba_ssm_cache_dtype: o.MambaStateDtype = None,
    speculative_config: o.Speculative = None,
) -> None:
    """What a model's KV cache is made of: bytes per token, per sequence, per GPU, and what a pool holds."""
    answer = kv(o.words_of(dict(locals())), pool_gib=pool_gib, pool_bytes=pool_bytes)
    write(answer, kv_formats, format, output)
    raise typer.Exit(answer.exit_code)
