"""More vision and audio towers, of the families since 2024; the letters are those of ``towers.py``.

Each reproduces what a published total has beyond the text body (tests/checkpoints/test_sparse.py).
"""

from __future__ import annotations

from kvplan.checkpoints.config import Config
from kvplan.checkpoints.elements import gated_mlp, linear, norm, plain_mlp
from kvplan.checkpoints.towers import biased_attention, described, frame_patches, qwen2_5_vision


def exaone4_5_vision(vision: Config, text_hidden: int) -> int | None:
    """EXAONE 4.5: the tower of Qwen2.5-VL with fewer heads for keys and values."""
    elements = qwen2_5_vision(vision, text_hidden)
    if elements is None or not described(vision, "num_heads", "num_key_value_heads"):
        return None
    width, heads = vision.count("hidden_size"), vision.count("num_heads")
    less = 2 * (heads - vision.count("num_key_value_heads")) * (width // heads)
    return elements - vision.count("depth") * less * (width + 1)


def gemma4_vision(vision: Config, text_hidden: int) -> int | None:
    """Gemma 4: gated MLP, norms on heads, four norms a block, two tables of positions; one matrix E·D into the text.

    ``standardize`` adds a scale and a bias of E. The bounds of clipped linear layers are single numbers, which
    published totals leave out.
    """
    keys = ("hidden_size", "intermediate_size", "num_hidden_layers", "patch_size", "num_attention_heads", "head_dim")
    if not described(vision, *keys):
        return None
    width, heads, head = vision.count("hidden_size"), vision.count("num_attention_heads"), vision.count("head_dim")
    kv_heads = vision.count("num_key_value_heads", default=heads)
    block = 2 * width * (heads + kv_heads) * head + gated_mlp(width, vision.count("intermediate_size")).total
    block += norm(width, norms=4).total + norm(head, norms=2).total
    patches = 3 * vision.count("patch_size") ** 2 * width
    positions = 2 * vision.count("position_embedding_size", default=10240) * width
    ends = 2 * width if vision.flag("standardize") else 0
    return patches + positions + vision.count("num_hidden_layers") * block + ends + width * text_hidden


def gemma4_audio(audio: Config, text_hidden: int) -> int | None:
    """Gemma 4's conformer: two plain MLPs of four times the width around attention with relative positions and a
    gated convolution; two convolutions before, one biased matrix after, and one into the text.
    """
    if not described(audio, "hidden_size", "num_hidden_layers", "num_attention_heads"):
        return None
    width, heads = audio.count("hidden_size"), audio.count("num_attention_heads")
    channels = audio.whole_list("subsampling_conv_channels") or (128, 32)
    if len(channels) != 2:
        raise audio.wrong("subsampling_conv_channels", list(channels), "must be two numbers")
    first, second = channels
    before = 9 * first + first + 9 * first * second + second + first // 4 * second * width
    heard = 5 * width**2 + width // heads + norm(width, norms=3).total
    mixed = 3 * width**2 + audio.count("conv_kernel_size", default=5) * width + norm(width, norms=2).total
    block = 2 * (plain_mlp(width, 4 * width).total + norm(width, norms=2).total) + heard + mixed
    out = audio.count("output_proj_dims", default=1536)
    after = linear(width, out, bias=True).total + out * text_hidden
    return before + audio.count("num_hidden_layers") * block + after


def llama4_vision(vision: Config, text_hidden: int) -> int | None:
    """Llama 4: a class token, learned positions, an adapter of two matrices after the pixel shuffle, E' x D."""
    keys = ("hidden_size", "intermediate_size", "num_hidden_layers", "image_size", "patch_size", "vision_output_dim")
    if not described(vision, *keys):
        return None
    width, inner, patch = vision.count("hidden_size"), vision.count("intermediate_size"), vision.count("patch_size")
    block = biased_attention(width) + plain_mlp(width, inner, bias=True).total + norm(width, norms=2, bias=True).total
    positions = (vision.count("image_size") // patch) ** 2 + 1
    ends = 3 * patch**2 * width + width + positions * width + norm(width, norms=2, bias=True).total
    middle, out = vision.count("projector_input_dim", default=4096), vision.count("projector_output_dim", default=4096)
    projector = inner * middle + out * out + vision.count("vision_output_dim") * text_hidden
    return ends + vision.count("num_hidden_layers") * block + projector


def mllama_vision(vision: Config, text_hidden: int) -> int | None:
    """Llama 3.2 Vision: positions and tiles as gated tables for each of 8 aspect ratios, 8 global layers with gates."""
    keys = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_global_layers", "image_size", "patch_size")
    if not described(vision, *keys, "vision_output_dim"):
        return None
    width, tiles = vision.count("hidden_size"), vision.count("max_num_tiles", default=4)
    listed = vision.get("supported_aspect_ratios")
    ratios = 1 + (len(listed) if isinstance(listed, list) else 8)
    patches = (vision.count("image_size") // vision.count("patch_size")) ** 2 + 1
    block = 4 * width**2 + plain_mlp(width, vision.count("intermediate_size"), bias=True).total
    block += norm(width, norms=2, bias=True).total
    layers = vision.count("num_hidden_layers") * block + vision.count("num_global_layers") * (block + 2)
    ends = 3 * vision.count("patch_size") ** 2 * width + width + norm(width, norms=2, bias=True).total
    tables = patches * width + ratios * tiles * patches * width + 1 + 2 * (ratios * tiles * width + 1)
    return ends + layers + tables + linear(vision.count("vision_output_dim"), text_hidden, bias=True).total


def minimax_m3_vision(vision: Config, text_hidden: int, projected: int = 6144) -> int | None:
    """MiniMax M3: a CLIP tower, then E -> P -> D for each patch and m²D -> P -> D for m² merged ones, all biased."""
    if not described(vision, "hidden_size", "intermediate_size", "num_hidden_layers", "patch_size"):
        return None
    width = vision.count("hidden_size")
    block = biased_attention(width) + plain_mlp(width, vision.count("intermediate_size"), bias=True).total
    block += norm(width, norms=2, bias=True).total
    merged = text_hidden * vision.count("spatial_merge_size", default=2) ** 2
    into_text = sum(linear(inputs, projected, bias=True).total for inputs in (width, merged))
    into_text += 2 * linear(projected, text_hidden, bias=True).total
    ends = frame_patches(vision, width) + norm(width, bias=True).total
    return ends + vision.count("num_hidden_layers") * block + into_text


def moonvit(vision: Config, text_hidden: int) -> int | None:
    """MoonViT of Kimi K2.5: positions of 64 x 64 patches, biased blocks, m² patches merged: m²E -> m²E -> D."""
    keys = ("vt_hidden_size", "vt_intermediate_size", "vt_num_hidden_layers", "patch_size")
    if not described(vision, *keys) or vision.get("qkv_hidden_size") is not None:
        return None
    width = vision.count("vt_hidden_size")
    block = biased_attention(width) + plain_mlp(width, vision.count("vt_intermediate_size"), bias=True).total
    block += norm(width, norms=2, bias=True).total
    sides = [vision.count(f"init_pos_emb_{side}", default=64) for side in ("height", "width")]
    before = 3 * vision.count("patch_size") ** 2 * width + width + sides[0] * sides[1] * width
    square = vision.whole_list("merge_kernel_size") or (2, 2)
    merged = square[0] ** 2 * width
    into_text = linear(merged, merged, bias=True).total + linear(merged, text_hidden, bias=True).total
    return before + vision.count("vt_num_hidden_layers") * block + 2 * norm(width, bias=True).total + into_text


def step3_vision(vision: Config, text_hidden: int) -> int | None:
    """Step 3.7: scaled sub-layers, then two convolutions of 3 x 3 that double the width, and a matrix 4E·D."""
    if not described(vision, "width", "layers", "patch_size", "image_size"):
        return None
    width, patch = vision.count("width"), vision.count("patch_size")
    ratio = vision.get("mlp_ratio")
    if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 < ratio < 2**10:
        return None
    block = biased_attention(width) + plain_mlp(width, int(width * ratio), bias=True).total
    block += norm(width, norms=2, bias=True).total + 2 * width
    before = 3 * patch**2 * width + (vision.count("image_size") // patch) ** 2 * width + norm(width, bias=True).total
    after = sum(9 * wide * 2 * wide + 2 * wide for wide in (width, 2 * width))
    return before + vision.count("layers") * block + after + 4 * width * text_hidden
