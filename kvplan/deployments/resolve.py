"""Words -> a Deployment: names looked up in the catalogs, units converted, defaults filled in, limits checked."""

from __future__ import annotations

import math

from kvplan.catalog.calibrations import load_calibrations
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.checkpoints.quantization import ADVICE
from kvplan.deployments.layout import natural_layout
from kvplan.deployments.lengths import check_output, is_spread, read_lengths
from kvplan.deployments.overrides import overridden
from kvplan.deployments.speculation import drafting_of, with_drafts
from kvplan.deployments.tasks import task_of
from kvplan.deployments.words import AUTO_LENGTHS, Words
from kvplan.domain.deployment import Deployment, EngineSettings, Layout
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.domain.workload import Neighbours, Objectives, Workload
from kvplan.engines import choose_engine, find_engine
from kvplan.errors import CannotJudge, InputError, UnknownName
from kvplan.units import LARGEST_COUNT, gb_per_s, gib, ms, parse_tokens, parse_vllm_tokens, shorten

DEFAULT_CONTEXT_TOKENS = 32768
DEFAULT_ITL_MS = 50.0
DEFAULT_MARGIN = 0.05


def resolve(words: Words) -> Deployment:
    """The deployment that the words describe. Raises InputError, UnknownName, CatalogError or CannotJudge."""
    if not words.model:
        raise InputError("no model was named", help="--model NAME, e.g. llama3-8b, or a path to a config.json")
    if not words.host:
        raise InputError("no host was named", help="--host NAME, e.g. rtx4090, or a path to a TOML file with one host")
    model = load_model(words.model, words.catalog, fetch=words.fetch)
    return resolve_on(words, model, load_host(words.host, words.catalog))


def resolve_on(words: Words, model: Model, host: Host, *, weights_matter: bool = True) -> Deployment:
    """The same for a model and a host that are already loaded.

    CannotJudge where weights matter, and neither the checkpoint nor the words tell how they are stored.
    """
    if weights_matter and model.weights_unsettled and not words.weights:
        raise CannotJudge(model.weights_unsettled, where=model.source, help=ADVICE)
    if model.weights_unsettled and words.weights:
        told = tuple(text for text in model.warnings if not text.startswith(model.weights_unsettled))
        model = model._replace(warnings=told)
    model = with_drafts(model, words.speculative_config)
    installed = host.gpus
    host = overridden(host, words)
    settings = _settings(words)
    engine = choose_engine(_one_version(words.engine), host, SCHEMES[settings.weights or model.dtype])
    return Deployment(
        model=model,
        host=host,
        gpus_installed=installed,
        engine=engine,
        layout=_layout(words, model, host, by_layers=find_engine(engine.name).splits_layers),
        settings=settings,
        workload=_workload(words, model),
        objectives=Objectives(
            itl_s=ms(positive(words.itl_ms, "--itl-ms", DEFAULT_ITL_MS)),
            ttft_s=None if words.ttft_ms is None else ms(positive(words.ttft_ms, "--ttft-ms", 1.0)),
            margin_fraction=fraction(words.margin, "--margin", DEFAULT_MARGIN),
        ),
        neighbours=Neighbours(
            tenants=count(words.tenants, "--tenants", 1),
            link_bytes_per_s=gb_per_s(not_negative(words.other_link_gb_per_s, "--other-link-gb-per-s")),
            cpu_cores=not_negative(words.other_cpu_cores, "--other-cpu-cores"),
            dram_bytes=gib(not_negative(words.other_dram_gib, "--other-dram-gib")),
        ),
        method=words.method.strip().lower() if words.method else None,
        task=task_of(words),
        calibrations=() if words.hbm_gib is not None else load_calibrations(host.name, words.catalog),
    )


def _one_version(engine: str | None) -> str | None:
    if engine is not None and engine.count("@") > 1:
        raise InputError(f"--engine {shorten(engine)!r} has more than one @", help="NAME@VERSION, e.g. vllm@0.21")
    return engine


def _layout(words: Words, model: Model, host: Host, *, by_layers: bool) -> Layout:
    named = (words.tp, words.pp, words.dp, words.ep, words.dcp)
    if all(value is None for value in named):
        return natural_layout(model, host.gpus, by_layers=by_layers)
    pp = count(words.pp, "--pp", 1)
    dp = count(words.dp, "--dp", 1)
    tp = count(words.tp, "--tp", natural_layout(model, max(1, host.gpus // (pp * dp))).tp)
    if words.dp is None and words.tp is not None:
        dp = max(1, host.gpus // (tp * pp))
    return Layout(tp=tp, pp=pp, dp=dp, ep=count(words.ep, "--ep", 1), dcp=count(words.dcp, "--dcp", 1))


def _settings(words: Words) -> EngineSettings:
    if words.weights is not None and words.weights.lower() not in SCHEMES:
        raise UnknownName.of("weight type", words.weights, SCHEMES, listing="known: " + ", ".join(SCHEMES))
    batched = words.max_num_batched_tokens
    return EngineSettings(
        weights=words.weights.lower() if words.weights else None,
        kv_cache_dtype=words.kv_cache_dtype,
        gpu_memory_utilization=_optional_fraction(words.gpu_memory_utilization, "--gpu-memory-utilization"),
        mem_fraction_static=_optional_fraction(words.mem_fraction_static, "--mem-fraction-static"),
        max_model_len=_length(words),
        max_num_batched_tokens=_engine_tokens(batched, "--max-num-batched-tokens"),
        max_num_seqs=None if words.max_num_seqs is None else count(words.max_num_seqs, "--max-num-seqs", 1),
        block_size=None if words.block_size is None else count(words.block_size, "--block-size", 16),
        enforce_eager=words.enforce_eager,
        kv_offloading_bytes=_optional_gib(words.kv_offloading_size, "--kv-offloading-size"),
        cpu_offload_bytes=_optional_gib(words.cpu_offload_gb, "--cpu-offload-gb"),
        drafting=drafting_of(words.speculative_config),
        prefix_caching=words.prefix_caching,
        unify_kv_groups=words.unify_kv_groups,
        mamba_cache_mode=words.mamba_cache_mode,
        mamba_ssm_cache_dtype=words.mamba_ssm_cache_dtype,
    )


def _workload(words: Words, model: Model) -> Workload:
    prompt = tokens(words.prompt_tokens, "--prompt-tokens")
    output = tokens(words.output_tokens, "--output-tokens")
    lengths = None
    if words.context is not None and is_spread(str(words.context)):
        lengths, mean_output = read_lengths(str(words.context))
        output = check_output(output, lengths) or mean_output
    context = lengths.longest_tokens if lengths else tokens(words.context, "--context") or _length(words)
    if context is None:
        context = (prompt or 0) + (output or 0) if prompt else None
    if context is None:
        context = min(model.max_context_tokens or DEFAULT_CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS)
    prompt = prompt or max(1, context - (output or 0))
    if prompt + (output or 0) > context:
        raise InputError(
            f"--prompt-tokens {prompt} and --output-tokens {output or 0} are more than --context {context}",
            help="leave out --context, or make it at least their sum",
        )
    return Workload(
        context_tokens=context,
        users=count(words.users, "--users", 1),
        prompt_tokens=prompt,
        output_tokens=output,
        shared_prefix_tokens=_tokens_or_zero(words.shared_prefix_tokens, "--shared-prefix-tokens"),
        prefix_hit_fraction=fraction(words.prefix_hit_fraction, "--prefix-hit-fraction", 0.0, closed=True),
        idle_sessions=0 if not words.idle_sessions else count(words.idle_sessions, "--idle-sessions", 0),
        lengths=lengths,
    )


def tokens(value: str | int | None, flag: str) -> int | None:
    """A count of tokens as typed (``128k`` = 131072), or None."""
    return None if value is None else parse_tokens(str(value), what=flag)


def _tokens_or_zero(value: str | int | None, flag: str) -> int:
    return 0 if str(value).strip() == "0" else tokens(value, flag) or 0


def count(value: int | None, flag: str, default: int) -> int:
    """A whole number from 1 to 2^53."""
    number = default if value is None else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1 or number > LARGEST_COUNT:
        bounds = "of at least 1" if not isinstance(number, int) or number < 1 else "up to 2^53"
        raise InputError(f"{flag} must be a whole number {bounds} (it is {shorten(repr(number))})")
    return number


def positive(value: float | None, flag: str, default: float) -> float:
    """A finite number above 0."""
    number = default if value is None else value
    if not math.isfinite(number) or number <= 0 or number > LARGEST_COUNT:
        bounds = "at most 2^53" if LARGEST_COUNT < number < math.inf else "greater than 0"
        raise InputError(f"{flag} must be {bounds} (it is {number!r})")
    return float(number)


def not_negative(value: float, flag: str) -> float:
    """A finite number of at least 0."""
    if not math.isfinite(value) or value < 0 or value > LARGEST_COUNT:
        bounds = "at most 2^53" if LARGEST_COUNT < value < math.inf else "0 or more"
        raise InputError(f"{flag} must be {bounds} (it is {value!r})")
    return float(value)


def fraction(value: float | None, flag: str, default: float, *, closed: bool = False) -> float:
    """A share in [0, 1), or in [0, 1] where ``closed``."""
    number = default if value is None else value
    if not math.isfinite(number) or number < 0 or number > 1 or (number == 1 and not closed):
        bounds = "a fraction below 1" if number == 1 else "a fraction from 0 to 1"
        raise InputError(f"{flag} must be {bounds} (it is {number!r})")
    return float(number)


def _optional_fraction(value: float | None, flag: str) -> float | None:
    return None if value is None else positive(fraction(value, flag, 0.0, closed=True), flag, 0.0)


def _optional_gib(value: float | None, flag: str) -> float | None:
    return None if value is None else gib(not_negative(value, flag))


def _length(words: Words) -> int | None:
    """The longest sequence that the engine is told to take; None where it is left to find one (``auto``, ``-1``)."""
    asked = None if str(words.max_model_len).strip().lower() in AUTO_LENGTHS else words.max_model_len
    return _engine_tokens(asked, "--max-model-len")


def _engine_tokens(value: str | int | None, flag: str) -> int | None:
    return None if value is None else parse_vllm_tokens(str(value), what=flag)
