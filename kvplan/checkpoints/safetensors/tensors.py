"""What the tensors of a checkpoint are for, told by their names, and what each part takes.

Names are those of Hugging Face checkpoints: a dotted path whose words say where a tensor belongs. What no rule knows
is dense, so every byte is counted once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kvplan.checkpoints.safetensors.header import Tensor
from kvplan.checkpoints.safetensors.packing import Packing

TOWER, EMBEDDING, HEAD, MTP, EXPERTS, LOOKUP, DENSE = PARTS = (
    "tower", "embedding", "head", "mtp", "experts", "lookup", "dense"
)  # fmt: skip

_TOWER = re.compile(
    r"(?:^|\.)(?:vision|visual|vit(?=[_.])|vpm|audio|apm|speech|image_|img_|mm_|multi_?modal|embed_vision|embed_audio"
    r"|embed_tokens_extend|resampler|perceiver|connector|aligner|projector|patch_merger|pre_mm|talker|token2wav|code2wav"
    r"|sam_model|view_seperator|tile_indicators)"
    r"|^model\.encoder\."  # Whisper
)
_INTERN_PROJECTOR = re.compile(r"^mlp\d\.")
_MTP = re.compile(r"(?:^|\.)(?:mtp|nextn)(?=[._])")
_EXPERTS = re.compile(
    r"(?:^|\.)experts\."  # shared experts are called shared_experts or shared_expert, and are dense
    r"|(?:^|\.)block_sparse_moe\.(?:input|output)_linear\."  # Granite: all experts in one tensor
    r"|(?:^|\.)moe\.(?:gate|up|down)_proj\."  # Step: the same
)
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block)\.(\d{1,6})\.")
_EMBEDDINGS = frozenset(
    ("embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embed_in", "embeddings", "embedding", "embed")
)
_LOOKUPS = frozenset(("embed_tokens_per_layer", "embed_positions", "wpe", "position_embeddings"))
_ROUTES = ".tid2eid"
"""Hash layers of DeepSeek-V4 look a token's experts up."""
_HEADS = frozenset(("lm_head", "output", "embed_out", "head", "output_layer"))

_ASIDE = re.compile(
    r"(?:^|[._])(?:scales?(?:_inv|_2|_and_zeros?)?|global_scale|qzeros|zeros?|zero_points?|g_idx|absmax|quant_map|SCB"
    r"|(?<=\.)biases"  # MLX
    r"|weight_format|weight_shape|inv_freq|quant_state\..*|meta|perm)$"
)
"""Scales, zero points and buffers: bytes beside the weights."""

_SCALES_LEFT_OUT = frozenset(("gptq", "awq", "auto-round", "mxfp4", "int-pack"))
_COUNTED_PACKED = frozenset(("modelopt", "nvfp4"))
"""Methods whose scales the Hub does not count as elements, and methods whose packed bytes it does."""

_PACKED_NAMES = {
    "I32": ("qweight", "weight_packed", "W_q"), "U32": ("qweight", "weight_packed", "W_q", "weight"),
}  # fmt: skip
"""Last words of packed tensors; MLX calls its packed weights like any other."""
_WIDE_INTEGERS = frozenset(("I16", "U16", "I32", "U32", "I64", "U64"))
_WITHOUT_LAYER = frozenset((TOWER, MTP))
_DIGITS = re.compile(r"\d+")
_MOST_KINDS: Final = 10_000

MOST_MTP_LAYERS: Final = 8


class Amount(NamedTuple):
    """What some tensors take together."""

    total_bytes: int = 0
    weights: int = 0
    """Weights, packed ones unpacked, without scales and buffers."""
    elements: int = 0
    """Elements as the Hugging Face Hub counts them."""

    def plus(self, other: Amount) -> Amount:
        return Amount(
            self.total_bytes + other.total_bytes, self.weights + other.weights, self.elements + other.elements
        )


class Tally:
    """The tensors of all files of a checkpoint, added up by part and layer."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        self._kinds: dict[str, tuple[str, bool]] = {}
        self.by_part: dict[tuple[str, int], Amount] = {}
        self.bytes_by_dtype: dict[str, int] = {}
        self.plain_integers = 0
        """Integers of 16 bits and more that are no packed weights, as far as the config tells, and no table."""
        self.tensors = 0

    def add(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            part, aside = self._kind(tensor.name)
            place = (part, -1 if part in _WITHOUT_LAYER else layer_of(tensor.name))
            amount = amount_of(tensor, self.packing, aside=aside)
            found = self.by_part.get(place)
            self.by_part[place] = amount if found is None else found.plus(amount)
            self.bytes_by_dtype[tensor.dtype] = self.bytes_by_dtype.get(tensor.dtype, 0) + tensor.span_bytes
            if tensor.dtype in _WIDE_INTEGERS and part != LOOKUP and amount.weights == tensor.elements:
                self.plain_integers += tensor.elements
            self.tensors += 1

    def _kind(self, name: str) -> tuple[str, bool]:
        """Part of a tensor, and whether it lies beside the weights: the same for all layers and experts."""
        pattern = _DIGITS.sub("#", name)
        known = self._kinds.get(pattern)
        if known is None:
            known = (part_of(name), _ASIDE.search(name) is not None)
            if len(self._kinds) < _MOST_KINDS:
                self._kinds[pattern] = known
        return known

    @property
    def main_dtype(self) -> str | None:
        """The type that most bytes have."""
        return max(self.bytes_by_dtype, key=self.bytes_by_dtype.__getitem__, default=None)

    def layers_beyond(self, layers: int) -> list[int]:
        """Layers with tensors whose numbers a model of so many layers does not have, ascending."""
        return sorted({layer for _, layer in self.by_part if layer >= layers})

    def parts(self, layers: int) -> dict[str, Amount]:
        """What each part takes in a model of ``layers`` layers; the next few beyond them are MTP heads.

        DeepSeek and GLM store their MTP heads as layers with the next indices, embedding and head copies included.
        """
        found_beyond = self.layers_beyond(layers)
        beyond = set(found_beyond) if are_mtp(found_beyond, layers) else set()
        found = dict.fromkeys(PARTS, Amount())
        for (part, layer), amount in self.by_part.items():
            if layer in beyond:
                part = MTP
            elif layer >= 0 and part in (EMBEDDING, HEAD):
                part = DENSE
            found[part] = found[part].plus(amount)
        return found


def are_mtp(beyond: list[int], layers: int) -> bool:
    """Whether layers beyond those of the config are MTP heads: the next few, without a gap."""
    return len(beyond) <= MOST_MTP_LAYERS and beyond == list(range(layers, layers + len(beyond)))


def layer_of(name: str) -> int:
    """The layer that a tensor belongs to, counted from 0; -1 where it belongs to none."""
    found = _LAYER.search(name)
    return int(found[1]) if found else -1


def part_of(name: str) -> str:
    """What a tensor is for, by its name."""
    if _TOWER.search(name) or _INTERN_PROJECTOR.match(name):
        return TOWER
    if _MTP.search(name):
        return MTP
    if _EXPERTS.search(name):
        return EXPERTS
    owner = name.rsplit(".", 2)[-2] if "." in name else name
    if owner in _LOOKUPS or name.endswith(_ROUTES):
        return LOOKUP
    if owner in _EMBEDDINGS:
        return EMBEDDING
    return HEAD if owner in _HEADS else DENSE


def amount_of(tensor: Tensor, packing: Packing, *, aside: bool) -> Amount:
    """What one tensor takes, and how many weights it holds.

    The Hub counts the weights of GPTQ, AWQ, MXFP4 and compressed-tensors integers, whose scales it leaves out; of FP8
    it counts the scales as well, and of NVFP4 the packed bytes.
    """
    if aside:
        counted = packing.method not in _SCALES_LEFT_OUT or tensor.name.endswith("inv_freq")
        return Amount(tensor.span_bytes, 0, tensor.elements if counted else 0)
    weights = tensor.elements * _packed(tensor, packing)
    as_stored = tensor.dtype == "U8" and packing.method in _COUNTED_PACKED
    return Amount(tensor.span_bytes, weights, tensor.elements if as_stored else weights)


def _packed(tensor: Tensor, packing: Packing) -> int:
    """Weights in one element of a tensor."""
    last = tensor.name.rpartition(".")[2]
    if last in _PACKED_NAMES.get(tensor.dtype, ()):
        return 32 // packing.bits if packing.bits else 1
    if tensor.dtype not in ("U8", "I8"):
        return 1
    if last.endswith(("_blocks", "weight_packed", "_packed")):
        return 2
    if last == "W_q" or packing.method == "hqq":
        return 8 // packing.bits if packing.bits else 1
    return 2 if packing.four_bit_bytes else 1
