"""Vision towers that a ``vision_config`` describes: patch embedding, blocks, and the projector into the text width.

E is the tower's width, I its feed-forward width, p the patch side, m the patches merged along a side, D the width of
the language model. Held by the published totals of the models that carry them (tests/truth/model_facts.jsonl).
"""

from __future__ import annotations

from collections.abc import Callable

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.elements import gated_mlp, linear, norm, plain_mlp

Tower = Callable[[Config, int], "int | None"]

UNKNOWN = "the config does not describe its vision or audio tower: its weights are an interval"


def with_tower(text: Architecture, config: Config, tower: Tower) -> Architecture:
    """The language model with its tower's elements, or marked where the config does not describe one."""
    vision = config.section("vision_config")
    elements = tower(vision, text.hidden_size) if vision is not None else None
    if elements is None:
        return with_unknown_tower(text)
    return text._replace(towers=elements)


def with_unknown_tower(text: Architecture) -> Architecture:
    """The language model with a tower of a size that the config does not tell."""
    return text._replace(towers_unknown=True)


def qwen2_vision(vision: Config, text_hidden: int) -> int | None:
    """Qwen2-VL: LayerNorm, biased attention and plain MLP; patches 3·2·p²·E; merger m²E -> m²E -> D."""
    if not described(vision, "embed_dim", "depth", "patch_size"):
        return None
    width = vision.count("embed_dim")
    inner = width * vision.count("mlp_ratio", default=4)
    block = biased_attention(width) + plain_mlp(width, inner, bias=True).total + norm(width, norms=2, bias=True).total
    return frame_patches(vision, width) + vision.count("depth") * block + _merger(vision, width, text_hidden, bias=True)


def qwen2_5_vision(vision: Config, text_hidden: int) -> int | None:
    """Qwen2.5-VL: RMSNorm, biased attention and a gated MLP with biases; the merger as in Qwen2-VL."""
    if not described(vision, "hidden_size", "depth", "intermediate_size", "patch_size"):
        return None
    width = vision.count("hidden_size")
    inner = vision.count("intermediate_size")
    block = biased_attention(width) + gated_mlp(width, inner, bias=True).total + norm(width, norms=2).total
    merged = _merger(vision, width, text_hidden, bias=False)
    return frame_patches(vision, width) + vision.count("depth") * block + merged


def qwen3_vision(vision: Config, text_hidden: int) -> int | None:
    """Qwen3-VL: learned positions, and a merger after each of the deep-stack layers beside the last one.

    The deep-stack mergers normalise the merged width m²E, the last one E.
    """
    if not described(vision, "hidden_size", "depth", "intermediate_size", "patch_size", "num_position_embeddings"):
        return None
    merged = vision.count("hidden_size") * vision.count("spatial_merge_size", default=2) ** 2
    taps = len(vision.whole_list("deepstack_visual_indexes")) if vision.stated("deepstack_visual_indexes") else 3
    head = _merger(vision, vision.count("hidden_size"), text_hidden, bias=True)
    deep = head + norm(merged, bias=True).total - norm(vision.count("hidden_size"), bias=True).total
    return _qwen3_blocks(vision, text_hidden) + taps * deep


def qwen3_5_vision(vision: Config, text_hidden: int) -> int | None:
    """Qwen 3.5: the tower of Qwen3-VL without deep-stack mergers."""
    if not described(vision, "hidden_size", "depth", "intermediate_size", "patch_size", "num_position_embeddings"):
        return None
    return _qwen3_blocks(vision, text_hidden)


def _qwen3_blocks(vision: Config, text_hidden: int) -> int:
    """Patches with a bias, positions, blocks and the last merger."""
    width = vision.count("hidden_size")
    block = biased_attention(width) + plain_mlp(width, vision.count("intermediate_size"), bias=True).total
    block += norm(width, norms=2, bias=True).total
    positions = vision.count("num_position_embeddings") * width
    merger = _merger(vision, width, text_hidden, bias=True)
    return frame_patches(vision, width) + width + positions + vision.count("depth") * block + merger


def siglip_gemma3(vision: Config, text_hidden: int) -> int | None:
    """SigLIP with Gemma 3's projector: one norm and one matrix E·D; a position per patch of the whole image."""
    if not described(vision, "hidden_size", "intermediate_size", "num_hidden_layers", "image_size", "patch_size"):
        return None
    width, patch = vision.count("hidden_size"), vision.count("patch_size")
    block = biased_attention(width) + plain_mlp(width, vision.count("intermediate_size"), bias=True).total
    block += norm(width, norms=2, bias=True).total
    patches = 3 * patch**2 * width + width + (vision.count("image_size") // patch) ** 2 * width
    tower = patches + vision.count("num_hidden_layers") * block + norm(width, bias=True).total
    return tower + width * text_hidden + width


def pixtral_mistral3(vision: Config, text_hidden: int, merge: int = 2) -> int | None:
    """Pixtral with the projector of Mistral 3: no biases; 4 patches merged, then E -> D -> D."""
    if not described(vision, "hidden_size", "intermediate_size", "num_hidden_layers", "patch_size"):
        return None
    width = vision.count("hidden_size")
    block = 4 * width**2 + gated_mlp(width, vision.count("intermediate_size")).total + norm(width, norms=2).total
    patches = 3 * vision.count("patch_size") ** 2 * width + norm(width).total
    projector = norm(width).total + width * merge**2 * width + width * text_hidden + text_hidden**2
    return patches + vision.count("num_hidden_layers") * block + projector


def described(vision: Config, *keys: str) -> bool:
    """Whether a tower's config has all the keys that its formula needs."""
    return all(vision.get(key) is not None for key in keys)


def biased_attention(width: int) -> int:
    """Four biased square projections, fused or not: 4·E² + 4·E."""
    return 4 * linear(width, width, bias=True).total


def frame_patches(vision: Config, width: int) -> int:
    """A 3-D convolution over two frames without a bias: channels·2·p²·E."""
    channels = vision.count("in_chans", "in_channels", default=3)
    return channels * vision.count("temporal_patch_size", default=2) * vision.count("patch_size") ** 2 * width


def _merger(vision: Config, width: int, text_hidden: int, *, bias: bool) -> int:
    """A norm of E, then m²E -> m²E -> D with biases."""
    merged = width * vision.count("spatial_merge_size", default=2) ** 2
    into_text = linear(merged, merged, bias=True).total + linear(merged, text_hidden, bias=True).total
    return norm(width, bias=bias).total + into_text
