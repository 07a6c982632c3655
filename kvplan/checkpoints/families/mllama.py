"""Llama 3.2 Vision: every fifth layer attends to the image and keeps only its KV, however long the text is.

An image is up to ``max_num_tiles`` tiles of (side / patch)^2 + 1 tokens: 4 x 1,601. The embedding has 8 rows more
than the vocabulary, for the image tokens.

Source: transformers 5.24, modeling_mllama; the vision tower reproduces the published totals.
"""

from __future__ import annotations

from kvplan.checkpoints import image_towers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, norm

MODEL_TYPES = ("mllama",)
_IMAGE_ROWS = 8
"""Rows of the embedding beyond the vocabulary."""


def read(config: Config) -> Architecture:
    vision = config.section("vision_config")
    if vision is None:
        raise config.missing("vision_config")
    text = config.text().with_defaults(num_key_value_heads=8)
    dims = read_dims(text)
    crossing = set(text.whole_list("cross_attention_layers"))
    if not crossing:
        raise text.missing("cross_attention_layers")
    if max(crossing) >= dims.layers or len(crossing) == dims.layers:
        raise text.wrong("cross_attention_layers", sorted(crossing), f"must be some of the {dims.layers} layers")
    inner = text.count("intermediate_size")
    layer = attention(dims.sides) + gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)
    body = layer.times(dims.layers) + (norm(dims.head, norms=2) + Parts(other=2)).times(len(crossing))
    side = vision.count("image_size") // vision.count("patch_size", default=14)
    tokens = vision.count("max_num_tiles", default=4) * (side**2 + 1)
    (one,) = dims.full_kv
    kv = (
        one._replace(layers=dims.layers - len(crossing)),
        one._replace(kind="cross", layers=len(crossing), sequence_tokens=tokens),
    )
    table = (dims.vocab + _IMAGE_ROWS) * dims.hidden
    model = decoder(dims, body, kv=kv, intermediate_size=inner, embedding=table)
    return towers.with_tower(model, config, image_towers.mllama_vision)
