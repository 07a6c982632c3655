"""Recurrent layers of a GGUF file: which ones they are, and what one of them keeps for a sequence.

Source: llama.cpp, whose states have ``(kernel - 1) x channels`` of convolution and ``state_size x inner_size`` more,
all of it in 32 bits.
"""

from __future__ import annotations

from collections.abc import Set

from kvplan.checkpoints.gguf.architectures import Rules
from kvplan.checkpoints.gguf.keys import GgufKeys
from kvplan.domain.model import KvLayers, State
from kvplan.errors import UnknownArchitecture

_KDA_KERNEL = 4
"""Kernel of KDA's convolutions where a file does not state it."""


def recurrent_layers(keys: GgufKeys, rules: Rules, stateful: Set[int]) -> tuple[bool, ...]:
    """Which layers are recurrent: those that have its tensors.

    A table that names no such tensor leaves the keys: no KV heads, or an interval of full attention.
    """
    layers = range(keys.layers)
    if rules.state is None:
        return (False,) * keys.layers
    if rules.all_recurrent:
        return (True,) * keys.layers
    if stateful:
        return tuple(layer in stateful for layer in layers)
    if isinstance(keys.get("attention.head_count_kv"), list):
        kv_heads = keys.per_block("attention.head_count_kv", default=0)
        inner = keys.per_block("feed_forward_length", default=0) if rules.mixers else (0,) * keys.blocks
        return tuple(kv_heads[layer] == 0 and inner[layer] == 0 for layer in layers)
    interval = keys.optional_count("full_attention_interval")
    if interval is None:
        raise UnknownArchitecture(
            "neither its keys nor its tensors say which layers are recurrent, so its KV cache can't be judged",
            where=keys.where,
        )
    return tuple((layer + 1) % interval != 0 for layer in layers)


def state_layer(keys: GgufKeys, rules: Rules, heads: int) -> KvLayers:
    """One recurrent layer; its heads are what tensor parallelism divides."""
    if rules.state == "conv":
        hidden, kernel = keys.count("embedding_length"), keys.count("shortconv.l_cache")
        return _layer("conv", hidden, State((kernel - 1) * hidden, conv_columns=kernel - 1))
    if rules.state == "kda":
        width, kernel = keys.count("kda.head_dim"), keys.count("ssm.conv_kernel", default=_KDA_KERNEL)
        channels = heads * width
        state = State(3 * (kernel - 1) * channels, channels * width, recurrent_float32=True, conv_columns=kernel - 1)
        return _layer("kda", heads, state)
    inner, width = keys.count("ssm.inner_size"), keys.count("ssm.state_size")
    kernel, groups = keys.count("ssm.conv_kernel"), keys.whole("ssm.group_count")
    elements = (kernel - 1) * (inner + 2 * groups * width)
    state = State(elements, inner * width, recurrent_float32=True, conv_columns=kernel - 1)
    if rules.state == "mamba1":
        return _layer("mamba1", inner, state)
    return _layer(rules.state or "", keys.count("ssm.time_step_rank"), state)


def _layer(kind: str, heads: int, state: State) -> KvLayers:
    return KvLayers(kind, 0, heads, 0, 0, state=state)
