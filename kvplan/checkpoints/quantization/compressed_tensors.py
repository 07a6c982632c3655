"""compressed-tensors: groups of modules, each with its own way to store weights.

Source: the QuantizationConfig of vllm-project/compressed-tensors and the checkpoints of RedHatAI, Moonshot and NVIDIA.
"""

from __future__ import annotations

from kvplan.checkpoints.config import Config
from kvplan.checkpoints.quantization import ADVICE, Stored, fp8_blocks, integer_scheme
from kvplan.checkpoints.quantization.kept_modules import experts_only, names_experts
from kvplan.errors import CannotJudge
from kvplan.units import shorten


def compressed_tensors(section: Config, experts: bool) -> Stored:
    """One scheme for all groups, or one for routed experts and one for the other matrices."""
    groups = section.section("config_groups")
    names = groups.names() if groups is not None else []
    if groups is None or not names:
        raise CannotJudge("config_groups of compressed-tensors names no weights", where=section.where, help=ADVICE)
    _refuse_sparse(section)
    routed: dict[str, Stored] = {}
    dense: dict[str, Stored] = {}
    for name in names:
        group = groups.section(name)
        found = _weights(group, section)
        place = routed if experts and group is not None and _targets_experts(group) else dense
        place[found.scheme] = found
    if len(dense) > 1 or len(routed) > 1 or not (dense or routed):
        raise CannotJudge(
            "config_groups stores its groups in different formats, and kvplan does not know how large each is",
            where=section.where, help=ADVICE,
        )  # fmt: skip
    if not routed:
        return next(iter(dense.values()))
    expert = next(iter(routed))
    if not dense:
        return Stored(experts_only(expert))
    other = next(iter(dense))
    return routed[expert] if other == expert else Stored(f"{other}+{expert}-experts")


def _refuse_sparse(section: Config) -> None:
    sparsity = section.section("sparsity_config")
    stored_as = (section.word("format") or "", (sparsity.word("format") or "") if sparsity is not None else "")
    if any("sparse" in word or "24" in word for word in stored_as):
        raise CannotJudge(
            "stores sparse weights, whose bytes are not known from the config alone", where=section.where, help=ADVICE
        )


def _targets_experts(group: Config) -> bool:
    targets = group.get("targets")
    if not isinstance(targets, list) or not targets:
        return False
    return all(isinstance(item, str) and names_experts(item[:400]) for item in targets)


def _weights(group: Config | None, section: Config) -> Stored:
    weights = group.section("weights") if group is not None else None
    if group is None or weights is None:
        raise CannotJudge("config_groups of compressed-tensors names no weights", where=section.where, help=ADVICE)
    bits, kind = weights.count("num_bits"), weights.word("type") or "int"
    strategy = weights.word("strategy") or ""
    group_size = weights.optional_count("group_size") if weights.get("group_size") != -1 else None
    if (kind, bits) == ("float", 8):
        if strategy == "group" and group_size == 32:
            return Stored("mxfp8")
        return _float8(weights, strategy)
    if (kind, bits) == ("float", 4):
        return Stored("mxfp4-linear" if group_size == 32 else "nvfp4")
    if kind != "int" or not 2 <= bits <= 8:
        message = f"kvplan does not know {bits}-bit {shorten(kind)} weights"
        raise CannotJudge(message, where=section.where, help=ADVICE)
    return Stored(_integers(bits, group_size, weights, group.word("format") or section.word("format") or ""))


def _integers(bits: int, group_size: int | None, weights: Config, form: str) -> str:
    """``naive-quantized`` and ``int-quantized`` store a byte for each weight, the packed forms their bits."""
    stored_bits = 8 if form in ("naive-quantized", "int-quantized") else bits
    if stored_bits == 8 and group_size is None:
        return "int8"
    group = min(group_size, 2**16) if group_size is not None else -1
    return integer_scheme(stored_bits, group, zeros=not weights.flag("symmetric", default=True))


def _float8(weights: Config, strategy: str) -> Stored:
    if strategy == "channel":
        return Stored("fp8", lambda matrix: matrix.outputs)
    if strategy == "block":
        return fp8_blocks(weights.with_defaults(block_structure=[128, 128]), "block_structure")
    return Stored("fp8", lambda matrix: 1)
