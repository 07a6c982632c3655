"""Options that several commands take the same way: one definition each, named as the engines name them."""

from __future__ import annotations

from typing import Annotated

import typer

from kvplan.deployments.words import Words
from kvplan.errors import InputError

_HOST = "Host overrides"
_WORK = "Workload"
_ENGINE = "Engine settings"
_GOALS = "Objectives"
_NEIGHBOURS = "Neighbours"


def complete_model(incomplete: str) -> list[str]:
    """Model names for the shell."""
    from kvplan.catalog.models import model_table

    return starting_with(incomplete, [*model_table().names(), *model_table().aliases()])


def complete_host(incomplete: str) -> list[str]:
    """Host names for the shell."""
    from kvplan.catalog.hardware import host_table

    return starting_with(incomplete, [*host_table().names(), *host_table().aliases()])


def complete_strategy(incomplete: str) -> list[str]:
    """Strategy ids for the shell."""
    from kvplan.strategies import all_strategies

    return starting_with(incomplete, list(all_strategies()))


def complete_method(incomplete: str) -> list[str]:
    """Names of published methods for the shell."""
    from kvplan.strategies.methods import families, methods_of

    return starting_with(incomplete, [method.name for family in families() for method in methods_of(family)])


def starting_with(incomplete: str, names: list[str]) -> list[str]:
    """The names that begin so, in any case."""
    return [name for name in names if name.lower().startswith(incomplete.lower())]


ModelName = Annotated[
    str,
    typer.Option("--model", "-m", help="Catalog name, alias, hub id, or a path: config.json, its folder, or a .gguf.",
                 autocompletion=complete_model, show_default=False),
]  # fmt: skip
HostNames = Annotated[
    list[str],
    typer.Option("--host", "-H", help="Catalog name, alias, or a TOML file with one host; repeat to compare hosts.",
                 autocompletion=complete_host, show_default=False),
]  # fmt: skip
KvHost = Annotated[
    str | None,
    typer.Option("--host", "-H", help="Predict an engine's pool on it; where a pool is given, only its card matters.",
                 autocompletion=complete_host, show_default=False),
]  # fmt: skip
OneHost = Annotated[
    list[str],  # so that a second one is seen and refused, rather than taken for the first
    typer.Option("--host", "-H", help="Catalog name, alias, or a TOML file with one host.",
                 autocompletion=complete_host, show_default=False),
]  # fmt: skip
Fetch = Annotated[
    bool, typer.Option("--fetch", help="Read a hub id that no catalog has from the Hub; needs huggingface_hub.")
]
OwnCatalog = Annotated[
    str | None, typer.Option("--catalog", help="Write to this file instead of the one in ~/.config/kvplan.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Take the place of what has this name.")]
Source = Annotated[str | None, typer.Option("--source", help="Where the figures come from; the file if left out.")]
ImportFormat = Annotated[str | None, typer.Option("--format", "-f", help="table or json.")]
Catalogs = Annotated[list[str] | None, typer.Option("--catalog", help="A catalog file laid over the shipped ones.")]
Strategies = Annotated[
    list[str] | None,
    typer.Option("--strategy", help="Judge only this strategy; repeatable.", autocompletion=complete_strategy),
]
MethodName = Annotated[
    str | None,
    typer.Option("--method", help="Constants of a published method: shadowkv, magicpig, ktransformers ...",
                 autocompletion=complete_method),
]  # fmt: skip
Format = Annotated[str | None, typer.Option("--format", "-f", help="table, json, markdown or csv.")]
Output = Annotated[list[str] | None, typer.Option("--output", "-o", help="FORMAT=FILE, or FILE; repeatable.")]

Gpus = Annotated[int | None, typer.Option("--gpus", help="Use so many of the host's GPUs.", rich_help_panel=_HOST)]
CpuCores = Annotated[float | None, typer.Option("--cpu-cores", help="Physical cores.", rich_help_panel=_HOST)]
DramGib = Annotated[float | None, typer.Option("--dram-gib", help="Host memory, GiB.", rich_help_panel=_HOST)]
DramRate = Annotated[
    float | None, typer.Option("--dram-gb-per-s", help="Achieved host memory rate, GB/s.", rich_help_panel=_HOST)
]
LinkName = Annotated[
    str | None, typer.Option("--link", help="pcie4x16, pcie5x16, c2c, or GB/s.", rich_help_panel=_HOST)
]
HbmGib = Annotated[float | None, typer.Option("--hbm-gib", help="Memory of one GPU, GiB.", rich_help_panel=_HOST)]
NumaNodes = Annotated[int | None, typer.Option("--numa-nodes", help="NUMA nodes.", rich_help_panel=_HOST)]
DisplayReserve = Annotated[
    float | None,
    typer.Option("--display-reserve-gib", help="GPU memory that a desktop or WSL holds, GiB.", rich_help_panel=_HOST),
]

Context = Annotated[
    str | None,
    typer.Option("--context", "-c", rich_help_panel=_WORK,
                 help="Tokens of a sequence, prompt and output: 128k (131072), p50=4k,p95=32k,max=128k, or a trace."),
]  # fmt: skip
PromptTokens = Annotated[str | None, typer.Option("--prompt-tokens", help="Tokens in.", rich_help_panel=_WORK)]
OutputTokens = Annotated[str | None, typer.Option("--output-tokens", help="Tokens out.", rich_help_panel=_WORK)]
Users = Annotated[int, typer.Option("--users", "-u", help="Sequences that decode at once.", rich_help_panel=_WORK)]
SharedPrefix = Annotated[
    str | None, typer.Option("--shared-prefix-tokens", help="Prefix that all share.", rich_help_panel=_WORK)
]
PrefixHit = Annotated[
    float | None,
    typer.Option("--prefix-hit-fraction", help="Share of a prompt found in DRAM.", rich_help_panel=_WORK),
]
IdleSessions = Annotated[
    int | None, typer.Option("--idle-sessions", help="Sessions kept in DRAM.", rich_help_panel=_WORK)
]

EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="NAME[@VERSION]: vllm, sglang, llama.cpp, tensorrt-llm, mlx, ollama, generic.",
                 rich_help_panel=_ENGINE),
]  # fmt: skip
Tp = Annotated[
    int | None, typer.Option("--tp", "--tensor-parallel-size", help="Tensor parallel.", rich_help_panel=_ENGINE)
]
Pp = Annotated[
    int | None, typer.Option("--pp", "--pipeline-parallel-size", help="Pipeline stages.", rich_help_panel=_ENGINE)
]
Dp = Annotated[int | None, typer.Option("--dp", "--data-parallel-size", help="Replicas.", rich_help_panel=_ENGINE)]
Ep = Annotated[int | None, typer.Option("--ep", help="Expert parallel.", rich_help_panel=_ENGINE)]
Dcp = Annotated[
    int | None,
    typer.Option("--dcp", "--decode-context-parallel-size", help="Decode context parallel.", rich_help_panel=_ENGINE),
]
Weights = Annotated[
    str | None, typer.Option("--weights", help="bf16, fp8, awq-int4, q4_k_m ...", rich_help_panel=_ENGINE)
]
KvCacheDtype = Annotated[
    str | None, typer.Option("--kv-cache-dtype", help="As the engine spells it.", rich_help_panel=_ENGINE)
]
Utilization = Annotated[
    float | None,
    typer.Option("--gpu-memory-utilization", help="vLLM: share of the GPU.", rich_help_panel=_ENGINE),
]
StaticFraction = Annotated[
    float | None,
    typer.Option("--mem-fraction-static", help="SGLang: share of free memory.", rich_help_panel=_ENGINE),
]
MaxModelLen = Annotated[
    str | None, typer.Option("--max-model-len", help="vLLM's limit (1k = 1000).", rich_help_panel=_ENGINE)
]
MaxBatchedTokens = Annotated[
    str | None, typer.Option("--max-num-batched-tokens", help="Tokens of a step.", rich_help_panel=_ENGINE)
]
MaxSequences = Annotated[
    int | None, typer.Option("--max-num-seqs", help="Sequences of a step.", rich_help_panel=_ENGINE)
]
BlockSize = Annotated[int | None, typer.Option("--block-size", help="Tokens of a block.", rich_help_panel=_ENGINE)]
EnforceEager = Annotated[bool, typer.Option("--enforce-eager", help="No CUDA graphs.", rich_help_panel=_ENGINE)]
KvOffloading = Annotated[
    float | None,
    typer.Option("--kv-offloading-size", help="vLLM: GiB of DRAM for idle KV.", rich_help_panel=_ENGINE),
]
Speculative = Annotated[
    str | None,
    typer.Option("--speculative-config", help='As vLLM takes it: {"method": "mtp", "num_speculative_tokens": 1}.',
                 rich_help_panel=_ENGINE),
]  # fmt: skip
PrefixCaching = Annotated[
    bool | None,
    typer.Option("--enable-prefix-caching/--no-enable-prefix-caching", help="vLLM: keep states at block ends.",
                 rich_help_panel=_ENGINE, show_default=False),
]  # fmt: skip
UnifyKvGroups = Annotated[
    bool,
    typer.Option("--disable-hybrid-kv-cache-manager", help="vLLM: windows keep every token.", rich_help_panel=_ENGINE),
]
MambaCacheMode = Annotated[
    str | None, typer.Option("--mamba-cache-mode", help="vLLM: none or align.", rich_help_panel=_ENGINE)
]
MambaStateDtype = Annotated[
    str | None,
    typer.Option("--mamba-ssm-cache-dtype", help="vLLM: auto, float32, bfloat16.", rich_help_panel=_ENGINE),
]
CpuOffload = Annotated[
    float | None,
    typer.Option("--cpu-offload-gb", help="vLLM: GiB of weights in DRAM, each GPU.", rich_help_panel=_ENGINE),
]

ItlMs = Annotated[
    float | None, typer.Option("--itl-ms", help="Time per token, ms (default 50).", rich_help_panel=_GOALS)
]
TtftMs = Annotated[float | None, typer.Option("--ttft-ms", help="Time to first token, ms.", rich_help_panel=_GOALS)]
Margin = Annotated[
    float | None,
    typer.Option("--margin", help="Share that must stay free (default 0.05).", rich_help_panel=_GOALS),
]

Tenants = Annotated[
    int, typer.Option("--tenants", help="Deployments like this one on the host.", rich_help_panel=_NEIGHBOURS)
]
OtherLink = Annotated[
    float, typer.Option("--other-link-gb-per-s", help="Other traffic on the link.", rich_help_panel=_NEIGHBOURS)
]
OtherCores = Annotated[
    float, typer.Option("--other-cpu-cores", help="Cores that others use.", rich_help_panel=_NEIGHBOURS)
]
OtherDram = Annotated[
    float, typer.Option("--other-dram-gib", help="Host memory that others use, GiB.", rich_help_panel=_NEIGHBOURS)
]

_NOT_WORDS = {"hosts", "format", "output", "strategy", "catalog"}


def words_of(options: dict[str, object], **changes: object) -> Words:
    """A command's options (its ``locals()``) as words. Options that no word has are left to the command."""
    known = set(Words._fields) - _NOT_WORDS
    given = {name: value for name, value in options.items() if name in known and value is not None}
    given.update(
        catalog=tuple(options.get("catalog") or ()),  # type: ignore[arg-type]
        strategies=tuple(options.get("strategy") or ()),  # type: ignore[arg-type]
    )
    given.update(changes)
    return Words(**given)  # type: ignore[arg-type]


def refuse_beside(flag: str, others: dict[str, object]) -> None:
    """InputError for options that would be ignored beside ``flag``: those that were given, by name."""
    given = [name for name, value in others.items() if value is not None and value != []]
    if given:
        raise InputError(f"{flag} takes no {' and no '.join(given)}", help=f"leave out {flag} or the filters")


def format_named(text: str | None, known: tuple[str, ...], default: str) -> str:
    """The format that ``--format`` names."""
    name = (text or default).lower()
    if name not in known:
        raise InputError(f"--format {name!r} is not known", help="known: " + ", ".join(known))
    return name
