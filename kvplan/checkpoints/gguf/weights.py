"""The tensors of a GGUF file by the part they play: elements, and the bytes that they really take.

Names are those of the ``gguf`` package: ``token_embd``, ``output``, ``blk.N.ffn_down_exps`` (routed experts of a
layer in one tensor; files of early 2024 have one for each expert), ``blk.N.nextn.*``, ``v.*`` and ``mm.*`` (towers).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from kvplan.checkpoints.gguf.header import Tensor
from kvplan.checkpoints.gguf.types import FILE_TYPES, MIX_OF_TYPE
from kvplan.domain.model import StoredWeights, WeightElements

_BLOCK = re.compile(r"^blk\.(\d{1,6})\.(.+)$", re.DOTALL)
_ROUTED = re.compile(r"^ffn_(gate|up|down|gate_up)(_exps|_chexps|\.\d+)\.")
_DENSE = re.compile(r"^ffn_(gate|up|down)\.weight$")
_STATEFUL = ("ssm_", "shortconv.")
_LOOKUPS = ("per_layer_token_embd.weight", "position_embd.weight", "token_types.weight")
_TOWERS = ("v.", "a.", "mm.", "resampler.")
_SMALL = ("ffn_gate_inp", "ssm_conv1d", "ssm_a", "ssm_d", "shortconv.conv")
"""Routers, convolutions and scalars: counted with norms though they have two dimensions."""


class GgufTensors(NamedTuple):
    """What the table of tensors says about a model."""

    weights: WeightElements
    stored: StoredWeights
    scheme: str
    blocks: frozenset[int]
    """Blocks that have any tensor."""
    stateful: frozenset[int]
    """Blocks with tensors of a recurrent layer."""
    indexed: frozenset[int]
    """Blocks with tensors of a sparse-attention index."""
    moe_layers: int
    dense_layers: int
    expert_width: int | None
    """Inner width of one routed expert."""


def sort_tensors(tensors: Iterable[Tensor], layers: int, file_type: object) -> GgufTensors:
    """Every tensor to its part; ``layers`` are those of the text body, blocks behind them predict further tokens."""
    elements: Counter[str] = Counter()
    stored: Counter[str] = Counter()
    types: Counter[str] = Counter()
    seen: dict[str, set[int]] = {name: set() for name in ("any", "stateful", "indexed", "routed", "dense")}
    width = None
    for tensor in tensors:
        block, rest = _split(tensor.name)
        part = _part(tensor, block, rest, layers)
        elements[part] += tensor.elements
        if part == "mtp":
            elements[f"mtp {_part(tensor, None, rest, layers)}"] += tensor.elements
        stored["experts" if _ROUTED.match(rest) and part != "mtp" else part] += tensor.stored_bytes
        types[tensor.type.name] += tensor.stored_bytes
        if block is not None:
            for name in _traits(rest, block < layers):
                seen[name].add(block)
            if rest.startswith("ffn_down_exps.w"):
                width = tensor.dimensions[0]
    named = FILE_TYPES.get(file_type) if isinstance(file_type, int) else None
    return GgufTensors(
        weights=_elements(elements),
        stored=_bytes(stored, _elements(elements).total),
        scheme=named or MIX_OF_TYPE.get(max(types, key=types.__getitem__, default="F16"), "fp16"),
        blocks=frozenset(seen["any"]),
        stateful=frozenset(seen["stateful"]),
        indexed=frozenset(seen["indexed"]),
        moe_layers=len(seen["routed"]),
        dense_layers=len(seen["dense"]),
        expert_width=width,
    )


def _split(name: str) -> tuple[int | None, str]:
    match = _BLOCK.match(name)
    return (int(match[1]), match[2]) if match else (None, name)


def _traits(rest: str, in_body: bool) -> Iterable[str]:
    yield "any"
    if rest.startswith(_STATEFUL):
        yield "stateful"
    if rest.startswith("indexer."):
        yield "indexed"
    if in_body and _ROUTED.match(rest):
        yield "routed"
    if in_body and _DENSE.match(rest):
        yield "dense"


def _part(tensor: Tensor, block: int | None, rest: str, layers: int) -> str:
    """The part of one tensor, inside an MTP block where ``block`` is None.

    Vectors, and biases of any shape, are what quantization leaves alone; of MTP blocks also what joins their inputs.
    """
    if block is not None and (block >= layers or rest.startswith("nextn.")):
        return "mtp"
    if rest.startswith("nextn."):
        return "other"
    if block is None and rest.startswith(_TOWERS):
        return "towers"
    if rest in ("token_embd.weight", "output.weight"):
        return "embedding" if rest == "token_embd.weight" else "lm_head"
    if rest in _LOOKUPS:
        return "lookup"
    matrix = len(tensor.dimensions) > 1 and rest.endswith(".weight") and not rest.startswith(_SMALL)
    if not matrix:
        return "other"
    return "experts" if _ROUTED.match(rest) else "linear"


def _elements(parts: Counter[str]) -> WeightElements:
    return WeightElements(
        embedding=parts["embedding"],
        lm_head=parts["lm_head"],
        linear=parts["linear"],
        routed_experts=parts["experts"],
        other=parts["other"] + parts["lookup"],
        mtp=parts["mtp"],
        towers=parts["towers"],
        lookup=parts["lookup"],
        mtp_kept=parts["mtp other"],
        mtp_experts=parts["mtp experts"],
    )


def _bytes(parts: Counter[str], elements: int) -> StoredWeights:
    dense = parts["linear"] + parts["other"] + parts["lookup"] + parts["lm_head"]
    return StoredWeights(
        dense_bytes=float(dense),
        routed_expert_bytes=float(parts["experts"]),
        embedding_bytes=float(parts["embedding"]),
        mtp_bytes=float(parts["mtp"]),
        tower_bytes=float(parts["towers"]),
        lookup_bytes=float(parts["lookup"]),
        elements=elements,
    )
