"""``quantization_config`` -> the name of a weight scheme, and how many scales the checkpoint stores for a matrix.

Sources: the quantization_config forms of transformers, compressed-tensors and ModelOpt; the scale counts reproduce
published totals: 128 x 128 blocks (DeepSeek-V3), one per output row (Llama-3.3-70B FP8-dynamic), two per matrix
(Devstral 2). What a config alone does not settle is refused, with the advice to give the files as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvplan.checkpoints.config import DTYPE_KEYS, LARGEST_LAYERS, QUANTIZATION_SECTIONS, Config
from kvplan.checkpoints.elements import Matrix
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.errors import CannotJudge
from kvplan.units import shorten

KEPT_LISTS = (
    "modules_to_not_convert", "ignore", "exclude_modules", "ignored_layers", "llm_int8_skip_modules", "skip_modules",
    "exclude",
)  # fmt: skip
"""Keys that list what stays in 16 bits."""
KEPT_TABLES = ("dynamic", "extra_config")
"""Keys under which GPTQModel and AutoRound say the same by module."""
ADVICE = (
    "give the folder with its safetensors files, of which only the headers are read, or say how the weights are"
    " stored with --weights"
)


class Stored(NamedTuple):
    """How a checkpoint stores its weights."""

    scheme: str
    """A name of domain.weight_scheme, or one that domain.derived_scheme takes apart."""
    scales: Callable[[Matrix], int] | None = None
    """Scales of one matrix that count as elements; None where packed formats are counted without them."""
    warnings: tuple[str, ...] = ()
    keeps_mtp: bool = False
    """The multi-token-prediction heads stay in 16 bits."""


_DTYPES = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32",
    "float8_e4m3fn": "fp8", "fp8": "fp8",
}  # fmt: skip
_NO_DTYPE = "the config states no dtype: 16-bit weights (bf16) are assumed"
_SMALL_BLOCK = 4096
"""Elements of a block below which its scale is more than a hundredth of a bit for each."""


def stored(config: Config, *, experts: bool) -> Stored:
    """The scheme of a checkpoint by its quantization_config, else by its dtype; ``experts``: it is a mixture."""
    text = config.text()
    section = text.section(*QUANTIZATION_SECTIONS)
    found = _plain(text) if section is None or _is_empty(section) else _quantized(text, section, experts)
    return _with_expert_dtype(found, text, config) if experts else found


def _quantized(text: Config, section: Config, experts: bool) -> Stored:
    method = (section.word("quant_method", "quant_algo", "quant_type") or "").lower()
    if not method and section.get("config_groups") is not None:
        method = "compressed-tensors"
    if not method and section.get("bits") is not None and section.get("group_size") is not None:
        method = "mlx"
    reader = _METHODS.get(method)
    if reader is None:
        known = ", ".join(sorted(_METHODS))
        raise CannotJudge(
            f"quantization method {shorten(method)!r} is not known to kvplan, so its weight bytes can't be judged",
            where=text.where, help=f"known methods: {known}; or {ADVICE}",
        )  # fmt: skip
    found = reader(section, experts)
    if not any(section.get(key) for key in KEPT_LISTS + KEPT_TABLES):
        return found
    from kvplan.checkpoints.quantization.kept_modules import kept_modules, with_kept

    layers = text.whole("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    kept = kept_modules(section, min(layers, LARGEST_LAYERS))
    scheme, warnings = with_kept(found.scheme, kept, section, experts=experts, layers=layers)
    return found._replace(scheme=scheme, warnings=(*found.warnings, *warnings), keeps_mtp=kept.mtp)


def _with_expert_dtype(found: Stored, text: Config, config: Config) -> Stored:
    """DeepSeek-V4 says outside its quantization_config that the routed experts are stored in MXFP4."""
    dtype = text.word("expert_dtype") or config.word("expert_dtype")
    if dtype is None or dtype.lower() in (found.scheme, "fp8"):
        return found
    if dtype.lower() not in ("fp4", "mxfp4"):
        message = f"expert_dtype {shorten(dtype)!r} is not known to kvplan"
        raise CannotJudge(message, where=config.where, help=ADVICE)
    return found._replace(scheme=f"{found.scheme}+mxfp4-experts")


def _is_empty(section: Config) -> bool:
    keys = ("quant_method", "quant_algo", "quant_type", "config_groups", "load_in_4bit", "load_in_8bit", "bits")
    return section.get(*keys) is None


def _plain(config: Config) -> Stored:
    dtype = config.word(*DTYPE_KEYS)
    if dtype is None:
        return Stored("bf16", warnings=(_NO_DTYPE,))
    name = dtype.removeprefix("torch.").lower()
    if name not in _DTYPES:
        raise CannotJudge(f"dtype {shorten(dtype)!r} is not known to kvplan", where=config.where)
    return Stored(_DTYPES[name])


def _fp8(section: Config, experts: bool) -> Stored:
    """One scale per block; without blocks one per matrix, and a second one where activations are static."""
    if section.get("weight_block_size") is not None:
        return fp8_blocks(section, "weight_block_size")
    per_matrix = 2 if section.get("activation_scheme") == "static" else 1
    return Stored("fp8", lambda matrix: per_matrix)


def fp8_blocks(section: Config, key: str) -> Stored:
    """One scale for each block of rows x columns, also for a block that the matrix does not fill.

    Scales are 32-bit numbers, or powers of two in a byte (``ue8m0``).
    """
    sides = section.whole_list(key)
    if len(sides) != 2 or 0 in sides:
        raise section.wrong(key, list(sides), "must be two positive numbers")
    rows, columns = sides
    scheme = "fp8"
    if rows * columns < _SMALL_BLOCK:
        scheme = f"fp8-b{rows * columns}" + ("-ue8m0" if section.get("scale_fmt") == "ue8m0" else "")
    return Stored(scheme, lambda matrix: -(-matrix.outputs // rows) * -(-matrix.inputs // columns))


def _fp8_rows(section: Config, experts: bool) -> Stored:
    """FBGEMM's FP8: one scale per output row."""
    return Stored("fp8", lambda matrix: matrix.outputs)


def _mxfp4(section: Config, experts: bool) -> Stored:
    """Routed experts alone, as engines read this method (gpt-oss)."""
    return Stored("mxfp4")


def _awq(section: Config, experts: bool) -> Stored:
    return _integers(section, zeros=section.flag("zero_point", default=True))


def _gptq(section: Config, experts: bool) -> Stored:
    """GPTQ and AutoRound; ``desc_act`` adds an index per input, a hundredth of a bit."""
    found = _integers(section, zeros=not section.flag("sym", default=True))
    if section.get("lm_head") is True:
        return found._replace(warnings=("the output head is quantized too, and is counted in 16 bits",))
    return found


def _integers(section: Config, *, zeros: bool) -> Stored:
    """Integers of 2 to 8 bits with a 16-bit scale per group, and a zero point where they are asymmetric."""
    bits = section.count("bits", "w_bit", "wbits")
    group = section.get("group_size", "q_group_size")
    if not 2 <= bits <= 8:
        message = f"kvplan knows integer weights of 2 to 8 bits, not {bits}-bit ones"
        raise CannotJudge(message, where=section.where, help=ADVICE)
    if group not in (None, -1) and (isinstance(group, bool) or not isinstance(group, int) or not 0 < group <= 2**16):
        raise section.wrong("group_size", group, "must be a positive number, or -1 for whole rows")
    return Stored(integer_scheme(bits, 128 if group is None else group, zeros=zeros))


def integer_scheme(bits: int, group: int, *, zeros: bool) -> str:
    """The name of integers in groups; a group of -1 is a whole row."""
    if (bits, group) == (4, 128):
        return "awq-int4" if zeros else "gptq-int4"
    return f"int{bits}-" + ("row" if group < 0 else f"g{group}") + ("-zp" if zeros and group > 0 else "")


def _bitsandbytes(section: Config, experts: bool) -> Stored:
    """NF4 or FP4 with a 32-bit scale per 64 weights, or with those scales quantized in turn; or 8-bit integers."""
    if section.flag("load_in_4bit") or section.flag("_load_in_4bit"):
        return Stored("bnb-nf4" if section.flag("bnb_4bit_use_double_quant") else "bnb-nf4-single")
    return Stored("int8")


def _hqq(section: Config, experts: bool) -> Stored:
    """HQQ: a 16-bit scale and a 16-bit zero point per group."""
    inner = section.section("quant_config") or section
    weights = inner.section("weight_quant_params")
    if weights is None:
        raise CannotJudge("HQQ's quant_config states no weight_quant_params", where=section.where, help=ADVICE)
    bits, group = weights.count("nbits", largest=8), weights.optional_count("group_size") or 64
    if bits == 1:
        raise CannotJudge("kvplan does not know 1-bit weights", where=section.where, help=ADVICE)
    return Stored(f"int{bits}-g{min(group, 2**16)}-zp16")


def _modelopt(section: Config, experts: bool) -> Stored:
    from kvplan.checkpoints.quantization.modelopt import modelopt

    return modelopt(section, experts)


def _compressed_tensors(section: Config, experts: bool) -> Stored:
    from kvplan.checkpoints.quantization.compressed_tensors import compressed_tensors

    return compressed_tensors(section, experts)


def _mlx(section: Config, experts: bool) -> Stored:
    """``mlx_lm.convert`` names no method: bits and a group, with 16-bit scale and bias, for the embedding as well."""
    bits, group = section.count("bits"), section.count("group_size")
    scheme = f"mlx-{bits}bit"
    if scheme not in SCHEMES:
        raise CannotJudge(f"kvplan does not know MLX weights of {bits} bits", where=section.where, help=ADVICE)
    return Stored(scheme, warnings=() if group == 64 else (f"groups of {group} weights are counted as 64",))


_METHODS: dict[str, Callable[[Config, bool], Stored]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8_rows,
    "ptpc_fp8": _fp8_rows,
    "mxfp4": _mxfp4,
    "awq": _awq,
    "awq_marlin": _awq,
    "gptq": _gptq,
    "gptq_marlin": _gptq,
    "auto-round": _gptq,
    "bitsandbytes": _bitsandbytes,
    "hqq": _hqq,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "nvfp4": _modelopt,
    "compressed-tensors": _compressed_tensors,
    "mlx": _mlx,
}
