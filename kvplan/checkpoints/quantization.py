"""``quantization_config`` -> the name of a weight scheme, and how many scales the checkpoint stores for a matrix.

Sources: the quantization_config forms of transformers, compressed-tensors and ModelOpt; the scale counts reproduce
published totals: 128 x 128 blocks (DeepSeek-V3), one per output row (Llama-3.3-70B FP8-dynamic), two per matrix
(Devstral 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvplan.checkpoints.config import Config
from kvplan.checkpoints.elements import Matrix
from kvplan.errors import CannotJudge
from kvplan.units import shorten


class Stored(NamedTuple):
    """How a checkpoint stores its weights."""

    scheme: str
    """A name of domain.weight_scheme."""
    scales: Callable[[Matrix], int] | None = None
    """Scales of one matrix that count as elements; None where packed formats are counted without them."""
    warnings: tuple[str, ...] = ()


_DTYPES = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32",
    "float8_e4m3fn": "fp8", "fp8": "fp8",
}  # fmt: skip
_NO_DTYPE = "the config states no dtype: 16-bit weights (bf16) are assumed"


def stored(config: Config, *, experts: bool) -> Stored:
    """The scheme of a checkpoint by its quantization_config, else by its dtype; ``experts``: it is a mixture."""
    config = config.text()
    section = config.section("quantization_config", "compression_config")
    if section is None:
        return _plain(config)
    if section.get("quant_method") is None and section.get("quant_algo") is None and _is_empty(section):
        return _plain(config)
    method = (section.word("quant_method", "quant_algo", "quant_type") or "").lower()
    reader = _METHODS.get(method)
    if reader is None:
        known = ", ".join(sorted(_METHODS))
        raise CannotJudge(
            f"quantization method {shorten(method)!r} is not known to kvplan, so its weight bytes can't be judged",
            where=config.where, help=f"known methods: {known}; or say how the weights are stored with --weights",
        )  # fmt: skip
    return reader(section, experts)


def _is_empty(section: Config) -> bool:
    return section.get("config_groups", "load_in_4bit", "load_in_8bit", "bits") is None


def _plain(config: Config) -> Stored:
    dtype = config.word("torch_dtype", "dtype")
    if dtype is None:
        return Stored("bf16", warnings=(_NO_DTYPE,))
    name = dtype.removeprefix("torch.").lower()
    if name not in _DTYPES:
        raise CannotJudge(f"dtype {shorten(dtype)!r} is not known to kvplan", where=config.where)
    return Stored(_DTYPES[name])


def _fp8(section: Config, experts: bool) -> Stored:
    """One scale per block; without blocks one per matrix, and a second one where activations are static."""
    if section.get("weight_block_size") is not None:
        return _fp8_blocks(section, "weight_block_size")
    per_matrix = 2 if section.get("activation_scheme") == "static" else 1
    return Stored("fp8", lambda matrix: per_matrix)


def _fp8_blocks(section: Config, key: str) -> Stored:
    """One scale for each block of rows x columns, also for a block that the matrix does not fill."""
    sides = section.whole_list(key)
    if len(sides) != 2 or 0 in sides:
        raise section.wrong(key, list(sides), "must be two positive numbers")
    rows, columns = sides
    return Stored("fp8", lambda matrix: -(-matrix.outputs // rows) * -(-matrix.inputs // columns))


def _fp8_rows(section: Config, experts: bool) -> Stored:
    """FBGEMM's FP8: one scale per output row."""
    return Stored("fp8", lambda matrix: matrix.outputs)


def _mxfp4(section: Config, experts: bool) -> Stored:
    return Stored("mxfp4")


def _awq(section: Config, experts: bool) -> Stored:
    return _integers(section, "awq-int4")


def _gptq(section: Config, experts: bool) -> Stored:
    return _integers(section, "gptq-int4")


def _integers(section: Config, four_bits: str) -> Stored:
    """AWQ, GPTQ and AutoRound: 4 bits in groups of 128, or 8 bits; other groups are near these, and it is said so."""
    bits = section.count("bits", "w_bit")
    group = section.get("group_size", "q_group_size")
    if bits == 4:
        scheme = "int4-g32" if group == 32 else four_bits
        usual = group in (None, 32, 128)
        return Stored(scheme, warnings=() if usual else (f"groups of {_group(group)} weights are counted as 128",))
    if bits == 8:
        return Stored("int8", warnings=("8-bit integers are counted with one scale per row",))
    raise CannotJudge(f"kvplan knows 4-bit and 8-bit integer weights, not {bits}-bit ones", where=section.where)


def _group(group: object) -> str:
    return shorten(str(group)) if isinstance(group, (int, str)) else "an unknown number of"


def _bitsandbytes(section: Config, experts: bool) -> Stored:
    if section.flag("load_in_4bit") or section.flag("_load_in_4bit"):
        return Stored("bnb-nf4")
    return Stored("int8")


def _modelopt(section: Config, experts: bool) -> Stored:
    algorithm = (section.word("quant_algo") or "").upper()
    if algorithm == "FP8":
        return Stored("fp8", lambda matrix: 2)
    if algorithm == "NVFP4":
        return Stored("nvfp4")
    raise CannotJudge(
        f"ModelOpt's quant_algo {shorten(algorithm)!r} is not known to kvplan: give FP8 or NVFP4 weights, or --weights",
        where=section.where,
    )


def _compressed_tensors(section: Config, experts: bool) -> Stored:
    """All groups of ``config_groups`` must store their weights alike: kvplan does not know what share each has."""
    groups = section.section("config_groups")
    names = groups.names() if groups is not None else []
    each = [_group_weights(groups.section(name), section, experts) for name in names] if groups is not None else []
    if not each:
        raise CannotJudge("config_groups of compressed-tensors names no weights", where=section.where)
    if len({stored.scheme for stored in each}) > 1:
        raise CannotJudge(
            "config_groups stores its groups in different formats, and kvplan does not know how large each is",
            where=section.where,
        )
    return each[0]


def _group_weights(group: Config | None, section: Config, experts: bool) -> Stored:
    weights = group.section("weights") if group is not None else None
    if weights is None:
        raise CannotJudge("config_groups of compressed-tensors names no weights", where=section.where)
    bits, kind = weights.count("num_bits"), weights.word("type") or "int"
    group_size = weights.optional_count("group_size")
    if (kind, bits) == ("float", 8):
        return _float8(weights, weights.word("strategy") or "")
    if (kind, bits) == ("float", 4):
        return Stored("mxfp4" if group_size == 32 else "nvfp4")
    if (kind, bits) == ("int", 8):
        return Stored("int8")
    if (kind, bits) == ("int", 4) and group_size == 32:
        return Stored("int4-g32-experts" if experts and _leaves_attention(section) else "int4-g32")
    if (kind, bits) == ("int", 4):
        return Stored("gptq-int4" if weights.flag("symmetric", default=True) else "awq-int4")
    raise CannotJudge(f"kvplan does not know {bits}-bit {shorten(kind)} weights", where=section.where)


def _float8(weights: Config, strategy: str) -> Stored:
    if strategy == "channel":
        return Stored("fp8", lambda matrix: matrix.outputs)
    if strategy == "block":
        return _fp8_blocks(weights.with_defaults(block_structure=[128, 128]), "block_structure")
    return Stored("fp8", lambda matrix: 1)


def _leaves_attention(section: Config) -> bool:
    """Whether the attention matrices are on the list of what stays in 16 bits (Kimi K2 Thinking, K2.5)."""
    ignored = section.get("ignore")
    return isinstance(ignored, list) and any(isinstance(item, str) and "self_attn" in item for item in ignored)


_METHODS: dict[str, Callable[[Config, bool], Stored]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8_rows,
    "mxfp4": _mxfp4,
    "awq": _awq,
    "gptq": _gptq,
    "auto-round": _gptq,
    "bitsandbytes": _bitsandbytes,
    "modelopt": _modelopt,
    "nvfp4": _modelopt,
    "compressed-tensors": _compressed_tensors,
}
