"""NVIDIA ModelOpt: one algorithm for all matrices, or a table of them by module.

Source: the quantization sections that ModelOpt exports (``hf_quant_config.json`` and ``quantization_config``).
"""

from __future__ import annotations

from kvplan.checkpoints.config import Config
from kvplan.checkpoints.quantization import ADVICE, Stored
from kvplan.checkpoints.quantization.kept_modules import experts_only, names_experts
from kvplan.errors import CannotJudge
from kvplan.units import shorten

_MIXED = "MIXED_PRECISION"
_ALGORITHMS = {
    "FP8": "fp8", "FP8_PER_CHANNEL_PER_TOKEN": "fp8", "FP8_PB_WO": "fp8", "FP8_PB": "fp8", "MXFP8": "mxfp8",
    "NVFP4": "nvfp4", "NVFP4_AWQ": "nvfp4", "W4A8_NVFP4_FP8": "nvfp4", "W4A16_NVFP4": "nvfp4", "MXFP4": "mxfp4-linear",
    "W4A16_MXFP4": "mxfp4-linear", "W4A8_MXFP4_FP8": "mxfp4-linear", "INT4_AWQ": "gptq-int4", "W4A16_AWQ": "gptq-int4",
    "W4A8_AWQ": "gptq-int4", "W8A8_SQ_PER_CHANNEL": "int8", "INT8": "int8", "INT8_SQ": "int8",
}  # fmt: skip


def modelopt(section: Config, experts: bool) -> Stored:
    algorithm = (section.word("quant_algo") or "").upper()
    if not algorithm and section.get("config_groups") is not None:
        from kvplan.checkpoints.quantization.compressed_tensors import compressed_tensors

        return compressed_tensors(section, experts)
    if not algorithm and (section.word("quant_method") or "").lower() in ("nvfp4", "modelopt_fp4"):
        algorithm = "NVFP4"
    if algorithm == _MIXED:
        return _mixed(section, experts)
    scheme = _scheme(algorithm, section)
    return Stored(scheme, (lambda matrix: 2) if algorithm == "FP8" else None)


def _scheme(algorithm: str, section: Config) -> str:
    if algorithm not in _ALGORITHMS:
        raise CannotJudge(
            f"ModelOpt's quant_algo {shorten(algorithm)!r} is not known to kvplan", where=section.where,
            help=f"known: {', '.join(_ALGORITHMS)}; or {ADVICE}",
        )  # fmt: skip
    return _ALGORITHMS[algorithm]


def _mixed(section: Config, experts: bool) -> Stored:
    """``quantized_layers`` names each module's algorithm; what it leaves out stays in 16 bits."""
    layers = section.section("quantized_layers")
    names = layers.names() if layers is not None else []
    routed: set[str] = set()
    dense: set[str] = set()
    attention = False
    for name in names:
        entry = layers.section(name) if layers is not None else None
        scheme = _scheme((entry.word("quant_algo") or "").upper() if entry is not None else "", section)
        if names_experts(name):
            routed.add(scheme)
        else:
            dense.add(scheme)
            attention = attention or "attn" in name or "mixer" in name
    if experts and len(routed) == 1 and (not dense or (len(dense) == 1 and attention)):
        expert = routed.pop()
        return Stored(f"{dense.pop()}+{expert}-experts" if dense else experts_only(expert))
    if not experts and len(dense) == 1 and attention:
        return Stored(dense.pop())
    raise CannotJudge(
        "mixes several precisions, and the share of each is not known from the config alone",
        where=section.where, help=ADVICE,
    )  # fmt: skip
