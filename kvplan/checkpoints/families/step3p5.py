"""Step 3.5 and 3.7 Flash: three sliding layers for each full one, with more query heads than the full ones.

``attention_other_setting`` gives the heads of the sliding layers; a gate for each head follows attention. The lists
of layers go on with the MTP layers, which slide too. The first layers are dense (``moe_layers_enum`` lists the
others).

Sources: transformers 5.24, step3p7; SGLang's step3p5 for the shipped keys.
"""

from __future__ import annotations

from kvplan.checkpoints import families, image_towers, kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims, read_moe
from kvplan.checkpoints.elements import Heads, Parts, attention, gated_mlp, linear, mtp_head, norm
from kvplan.domain.model import KvLayers

MODEL_TYPES = ("step3p5", "step3p7")
_SLIDES = {"sliding_attention": True, "full_attention": False}
_MIXTURE = {"sparse": True, "dense": False}


def read(config: Config) -> Architecture:
    if config.text() is not config:
        text = families.read_text(config, flat_type="step3p5")
        return towers.with_tower(text, config, image_towers.step3_vision)
    text = _read_text(config)
    return towers.with_unknown_tower(text) if config.word("model_type") == "step3p7" else text


def _read_text(config: Config) -> Architecture:
    config = config.with_defaults(moe_num_experts=288, moe_top_k=8, num_attention_groups=8)
    dims = read_dims(config)
    slides, mtp_slides = _slides(config, dims.layers)
    full, sliding = dims.sides, _sliding_sides(config, dims)
    inner, width = config.count("intermediate_size"), config.count("moe_intermediate_size")
    mixed = _mixtures(config, dims.layers)
    shared = config.count("share_expert_dim", "share_expert_dims", default=width)
    moe = read_moe(config, mixed, inner=width, shared_inner=shared)
    each = {False: _attention(config, full), True: _attention(config, sliding)}
    body = each[True].times(sum(slides)) + each[False].times(dims.layers - sum(slides))
    body += norm(dims.hidden, norms=2).times(dims.layers) + gated_mlp(dims.hidden, inner).times(dims.layers - mixed)
    body += moe.parts(dims.hidden, correction=True).times(mixed)
    mtp = Parts()
    for slide in mtp_slides:
        mtp += mtp_head(dims.hidden, each[slide] + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2))
    window = kv_layers.window(config, dims.max_context)
    return decoder(
        dims, body, kv=_kv(slides, full, sliding, window), experts=moe.record, mtp=mtp,
        mtp_kv=_kv(mtp_slides, full, sliding, window), intermediate_size=inner if mixed < dims.layers else 0,
        mtp_copies=len(mtp_slides) * dims.vocab * dims.hidden,
    )  # fmt: skip


def _attention(config: Config, sides: Heads) -> Parts:
    """With norms on heads and, where it is on, one gate for each head."""
    gate = linear(sides.hidden, sides.heads) if config.flag("use_head_wise_attn_gate", default=True) else Parts()
    return attention(sides) + norm(sides.key, norms=2) + gate


def _slides(config: Config, layers: int) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Which layers slide: those of the model, and those of its MTP heads."""
    heads = config.whole("num_nextn_predict_layers")
    value = config.get("layer_types")
    if value is None:
        raise config.missing("layer_types")
    longer = isinstance(value, list) and len(value) == layers + heads
    words = config.words_by_layer("layer_types", layers + heads if longer else layers) or ()
    known = kv_layers.by_words(config, "layer_types", words, _SLIDES)
    return known[:layers], known[layers:] if longer else (True,) * heads


def _sliding_sides(config: Config, dims: Dims) -> Heads:
    other = config.section("attention_other_setting") or config
    heads = other.count("num_attention_heads", default=dims.heads)
    if other is config:
        heads = config.count("num_sliding_attention_heads", default=dims.heads)
    kv_heads = other.count("num_attention_groups", default=dims.kv_heads)
    kv_layers.check_heads(heads, kv_heads, config.where)
    width = other.count("head_dim", default=dims.head)
    return Heads(dims.hidden, heads, kv_heads, width, width)


def _mixtures(config: Config, layers: int) -> int:
    """Layers that are mixtures: by ``mlp_layer_types``, by ``moe_layers_enum``, or all from a first one on (3)."""
    heads = config.whole("num_nextn_predict_layers")
    listed = config.get("mlp_layer_types")
    if listed is not None:
        longer = isinstance(listed, list) and len(listed) == layers + heads
        words = config.words_by_layer("mlp_layer_types", layers + heads if longer else layers) or ()
        return sum(kv_layers.by_words(config, "mlp_layer_types", words[:layers], _MIXTURE))
    enum = config.get("moe_layers_enum")
    if isinstance(enum, str):
        parts = [part.strip() for part in enum.split(",")]
        if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
            raise config.wrong("moe_layers_enum", enum, "must be layer numbers with commas between them")
        return sum(int(part) < layers for part in set(parts))
    if enum is not None:
        return sum(layer < layers for layer in set(config.whole_list("moe_layers_enum")))
    return max(0, layers - config.whole("first_k_dense_replace", default=3))


def _kv(slides: tuple[bool, ...], full: Heads, sliding: Heads, window: int | None) -> tuple[KvLayers, ...]:
    kinds = (
        KvLayers("full", slides.count(False), full.kv_heads, full.key, full.value),
        KvLayers("sliding" if window else "full", slides.count(True), sliding.kv_heads, sliding.key, sliding.value,
                 window),
    )  # fmt: skip
    return tuple(kind for kind in kinds if kind.layers)
