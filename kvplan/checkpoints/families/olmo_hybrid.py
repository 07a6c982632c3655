"""OLMo Hybrid: three gated delta nets for each layer of attention, all dense, norms over all query and key heads."""

from __future__ import annotations

from kvplan.checkpoints import kv_layers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.decoder import Dims, decoder, read_dims
from kvplan.checkpoints.elements import attention, gated_mlp, norm
from kvplan.checkpoints.recurrent import DeltaNet, state_in_float32

MODEL_TYPES = ("olmo_hybrid",)


def read(config: Config) -> Architecture:
    dims = read_dims(config)
    listed = kv_layers.attends(config, dims.layers, "layer_types")
    if listed is None:
        raise kv_layers.no_map(config, "layer_types")
    full, inner, bias = sum(listed), config.count("intermediate_size"), config.flag("attention_bias")
    net = _net(config, dims)
    attends = attention(dims.sides, qkv_bias=bias, out_bias=bias) + norm((dims.heads + dims.kv_heads) * dims.head)
    body = (gated_mlp(dims.hidden, inner) + norm(dims.hidden, norms=2)).times(dims.layers)
    body += attends.times(full) + net.parts().times(dims.layers - full)
    states = net.kv(dims.layers - full, float32=state_in_float32(config))
    kv = kv_layers.present(dims.full_kv[0]._replace(layers=full), states)
    return decoder(dims, body, kv=kv, intermediate_size=inner)


def _net(config: Config, dims: Dims) -> DeltaNet:
    """Missing sides: the heads of attention, keys of three quarters of D over them, values twice as wide."""
    key_heads = config.count("linear_num_key_heads", default=dims.heads)
    key = config.count("linear_key_head_dim", default=max(1, 3 * dims.hidden // (4 * key_heads)))
    return DeltaNet(
        dims.hidden, key_heads, config.count("linear_num_value_heads", default=dims.heads), key,
        config.count("linear_value_head_dim", default=2 * key), config.count("linear_conv_kernel_dim", default=4),
    )  # fmt: skip
