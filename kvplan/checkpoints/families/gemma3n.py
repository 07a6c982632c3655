"""Gemma 3n: the last layers keep no KV of their own, every layer has an embedding table of its own and four streams.

Four sliding layers for each full one. The last ``num_kv_shared_layers`` read the KV of the last layer of their kind
that has some; their key and value matrices are in the checkpoint all the same.

Source: transformers 5.24, Gemma3nTextConfig and its model; held by the published totals.
"""

from __future__ import annotations

from kvplan.checkpoints import kv_layers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims
from kvplan.checkpoints.elements import Parts, attention, gated_mlp, linear, norm

MODEL_TYPES = ("gemma3n", "gemma3n_text")
_VISION, _TEXT_WIDTH, _TOWERS = "mobilenetv5_300m_enc", 2048, 983_281_504
"""The vision network that both released models have, and its elements with those of the audio encoder and of the
projections into the text: published totals less text bodies, the same for E2B and E4B.
"""


def read(config: Config) -> Architecture:
    text = _read_text(config.text())
    if config.word("model_type") == "gemma3n_text":
        return text
    vision, audio = config.section("vision_config"), config.section("audio_config")
    shipped = vision is not None and vision.get("architecture") == _VISION and text.hidden_size == _TEXT_WIDTH
    if shipped and audio is not None and audio.get("conf_num_hidden_layers") in (None, 12):
        return text._replace(towers=_TOWERS)
    return towers.with_unknown_tower(text)


def _read_text(config: Config) -> Architecture:
    config = config.with_defaults(
        num_attention_heads=8, num_key_value_heads=2, head_dim=256, vocab_size=262400, num_hidden_layers=35,
        hidden_size=2048, intermediate_size=16384, max_position_embeddings=32768, sliding_window=512,
        num_kv_shared_layers=15, laurel_rank=64, altup_num_inputs=4, hidden_size_per_layer_input=256,
        vocab_size_per_layer_input=262144,
    )  # fmt: skip
    dims = read_dims(config, tied=True)
    inner = config.each_layer("intermediate_size", layers=dims.layers)
    table = config.count("vocab_size_per_layer_input") * dims.layers * config.count("hidden_size_per_layer_input")
    body = _layer(config, dims).times(dims.layers) + _ends(config, dims) + Parts(other=table)
    for width in inner:
        body += gated_mlp(dims.hidden, width)
    slides = kv_layers.slides_by_pattern(config, dims.layers, period=5)
    window = kv_layers.window(config, dims.max_context)
    kv = kv_layers.with_shared(config, slides, window, dims.full_kv[0], dims.full_kv[0])
    return decoder(dims, body, kv=kv, intermediate_size=max(inner), lookup=table)


def _layer(config: Config, dims: Dims) -> Parts:
    """One layer but its feed-forward part: attention, the low-rank bypass (laurel), the streams (altup), the gate of
    its own embedding.
    """
    hidden, rank = dims.hidden, config.count("laurel_rank")
    streams, width = config.count("altup_num_inputs"), config.count("hidden_size_per_layer_input")
    layer = attention(dims.sides) + norm(dims.head, norms=2) + norm(hidden, norms=5)
    layer += linear(hidden, rank) + linear(rank, hidden) + norm(hidden)
    mixing = streams * streams + streams * streams**2 + hidden * streams + hidden
    layer += Parts(other=mixing) + norm(hidden)
    return layer + linear(hidden, width) + linear(width, hidden)


def _ends(config: Config, dims: Dims) -> Parts:
    """What stands before and after the layers: projections into the streams and out of them, and of the tables."""
    streams, width = config.count("altup_num_inputs"), config.count("hidden_size_per_layer_input")
    square = linear(dims.hidden, dims.hidden)
    return square.times(2 * (streams - 1)) + linear(dims.hidden, dims.layers * width) + norm(width)
