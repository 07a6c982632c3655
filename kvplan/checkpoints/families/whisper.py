"""Whisper: a decoder whose layers keep KV of the text and of the 1,500 audio frames of 30 seconds.

The encoder runs once for a recording and keeps nothing, so its weights count as a tower: a decode step does not read
them. Keys have no bias.

Source: transformers 5.24, modeling_whisper; held by the published total of whisper-large-v2.
"""

from __future__ import annotations

from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder
from kvplan.checkpoints.elements import Parts, linear, norm, plain_mlp
from kvplan.errors import InputError

MODEL_TYPES = ("whisper",)


def read(config: Config) -> Architecture:
    hidden, heads = config.count("d_model"), config.count("decoder_attention_heads")
    if hidden % heads:
        raise InputError(f"{heads} decoder heads don't divide a d_model of {hidden}", where=config.where)
    layers, inner = config.count("decoder_layers"), config.count("decoder_ffn_dim")
    length = config.count("max_target_positions", default=448)
    frames = config.count("max_source_positions", default=1500)
    tied = config.flag("tie_word_embeddings", default=True)
    dims = Dims(layers, hidden, heads, heads, hidden // heads, config.count("vocab_size"), tied, length)
    layer = _attention(hidden).times(2) + plain_mlp(hidden, inner, bias=True) + norm(hidden, norms=3, bias=True)
    (one,) = dims.full_kv
    kv = (one, one._replace(kind="cross", sequence_tokens=frames))
    ends = norm(hidden, bias=True)
    positions = Parts(other=length * hidden)
    return decoder(
        dims, layer.times(layers) + positions, kv=kv, final_norm=ends, intermediate_size=inner,
        lookup=length * hidden, towers=_encoder(config, hidden, frames),
    )  # fmt: skip


def _attention(hidden: int) -> Parts:
    return linear(hidden, hidden, bias=True).times(3) + linear(hidden, hidden)


def _encoder(config: Config, hidden: int, frames: int) -> int:
    """Two convolutions over three frames, positions, layers, a norm."""
    inner = config.count("encoder_ffn_dim")
    layer = _attention(hidden) + plain_mlp(hidden, inner, bias=True) + norm(hidden, norms=2, bias=True)
    bands = config.count("num_mel_bins", default=80)
    before = 3 * bands * hidden + hidden + 3 * hidden**2 + hidden + frames * hidden
    return before + layer.times(config.count("encoder_layers")).total + norm(hidden, bias=True).total
