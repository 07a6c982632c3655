"""Tensor lists of published checkpoints, name by name, as their repositories have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Entry = tuple[str, tuple[str, tuple[int, ...]]]
Linear = Callable[[str, int, int], Iterator[Entry]]
"""(name, outputs, inputs) -> the tensors that store this matrix."""

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
QWEN_7B: dict[str, Any] = {
    "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768,
    "tie_word_embeddings": False, "torch_dtype": "float16", "use_sliding_window": False,
}  # fmt: skip
GPT_OSS_120B: dict[str, Any] = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 128,
    "num_experts_per_tok": 4, "vocab_size": 201088, "max_position_embeddings": 131072, "sliding_window": 128,
    "tie_word_embeddings": False, "quantization_config": {"quant_method": "mxfp4"},
}  # fmt: skip
DEEPSEEK_V3: dict[str, Any] = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 129280, "max_position_embeddings": 163840,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
}  # fmt: skip


def plain(dtype: str) -> Linear:
    def matrix(name: str, outputs: int, inputs: int) -> Iterator[Entry]:
        yield f"{name}.weight", (dtype, (outputs, inputs))

    return matrix


def awq(name: str, outputs: int, inputs: int) -> Iterator[Entry]:
    yield f"{name}.qweight", ("I32", (inputs, outputs // 8))
    yield f"{name}.qzeros", ("I32", (inputs // 128, outputs // 8))
    yield f"{name}.scales", ("F16", (inputs // 128, outputs))


def gptq(name: str, outputs: int, inputs: int) -> Iterator[Entry]:
    yield f"{name}.qweight", ("I32", (inputs // 8, outputs))
    yield f"{name}.qzeros", ("I32", (inputs // 128, outputs // 8))
    yield f"{name}.scales", ("F16", (inputs // 128, outputs))
    yield f"{name}.g_idx", ("I32", (inputs,))


def nvfp4(name: str, outputs: int, inputs: int) -> Iterator[Entry]:
    yield f"{name}.weight", ("U8", (outputs, inputs // 2))
    yield f"{name}.weight_scale", ("F8_E4M3", (outputs, inputs // 16))
    yield f"{name}.weight_scale_2", ("F32", ())
    yield f"{name}.input_scale", ("F32", ())


def fp8_rows(name: str, outputs: int, inputs: int) -> Iterator[Entry]:
    yield f"{name}.weight", ("F8_E4M3", (outputs, inputs))
    yield f"{name}.weight_scale", ("BF16", (outputs, 1))


def fp8_blocks(name: str, outputs: int, inputs: int) -> Iterator[Entry]:
    yield f"{name}.weight", ("F8_E4M3", (outputs, inputs))
    yield f"{name}.weight_scale_inv", ("F32", (-(-outputs // 128), -(-inputs // 128)))


def dense(config: dict[str, Any], linear: Linear, *, dtype: str = "BF16", prefix: str = "model.") -> dict[str, Any]:
    """A Llama or, with biases, a Qwen2."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    width = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    found: dict[str, Any] = {f"{prefix}embed_tokens.weight": (dtype, (config["vocab_size"], hidden))}
    for layer in range(config["num_hidden_layers"]):
        at = f"{prefix}layers.{layer}."
        found[at + "input_layernorm.weight"] = found[at + "post_attention_layernorm.weight"] = (dtype, (hidden,))
        for name, outputs, inputs in (
            ("self_attn.q_proj", hidden, hidden), ("self_attn.k_proj", width, hidden),
            ("self_attn.v_proj", width, hidden), ("self_attn.o_proj", hidden, hidden), ("mlp.gate_proj", inner, hidden),
            ("mlp.up_proj", inner, hidden), ("mlp.down_proj", hidden, inner),
        ):  # fmt: skip
            found.update(linear(at + name, outputs, inputs))
            if config["model_type"] == "qwen2" and name[-6:] in ("q_proj", "k_proj", "v_proj"):
                found[f"{at}{name}.bias"] = (dtype, (outputs,))
    found[f"{prefix}norm.weight"] = (dtype, (hidden,))
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (dtype, (config["vocab_size"], hidden))
    return found


def gpt_oss(config: dict[str, Any]) -> dict[str, Any]:
    hidden, inner, experts = config["hidden_size"], config["intermediate_size"], config["num_local_experts"]
    heads, kv = 64 * config["num_attention_heads"], 64 * config["num_key_value_heads"]
    found: dict[str, Any] = {"model.embed_tokens.weight": ("BF16", (config["vocab_size"], hidden))}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, outputs, inputs in (
            ("q_proj", heads, hidden), ("k_proj", kv, hidden), ("v_proj", kv, hidden), ("o_proj", hidden, heads)
        ):  # fmt: skip
            found[f"{at}self_attn.{name}.weight"] = ("BF16", (outputs, inputs))
            found[f"{at}self_attn.{name}.bias"] = ("BF16", (outputs,))
        found[at + "self_attn.sinks"] = ("BF16", (config["num_attention_heads"],))
        found[at + "mlp.router.weight"] = ("BF16", (experts, hidden))
        found[at + "mlp.router.bias"] = ("BF16", (experts,))
        for name, outputs, inputs in (("gate_up_proj", 2 * inner, hidden), ("down_proj", hidden, inner)):
            found[f"{at}mlp.experts.{name}_blocks"] = ("U8", (experts, outputs, inputs // 32, 16))
            found[f"{at}mlp.experts.{name}_scales"] = ("U8", (experts, outputs, inputs // 32))
            found[f"{at}mlp.experts.{name}_bias"] = ("BF16", (experts, outputs))
        found[at + "input_layernorm.weight"] = found[at + "post_attention_layernorm.weight"] = ("BF16", (hidden,))
    found["model.norm.weight"] = ("BF16", (hidden,))
    found["lm_head.weight"] = ("BF16", (config["vocab_size"], hidden))
    return found


def deepseek_v3(config: dict[str, Any]) -> dict[str, Any]:
    hidden, vocab, layers = config["hidden_size"], config["vocab_size"], config["num_hidden_layers"]
    found: dict[str, Any] = {"model.embed_tokens.weight": ("BF16", (vocab, hidden))}
    for layer in range(layers + 1):
        at = f"model.layers.{layer}."
        for name, outputs, inputs in (
            ("q_a_proj", 1536, hidden), ("q_b_proj", 128 * 192, 1536), ("kv_a_proj_with_mqa", 576, hidden),
            ("kv_b_proj", 128 * 256, 512), ("o_proj", hidden, 128 * 128),
        ):  # fmt: skip
            found.update(fp8_blocks(f"{at}self_attn.{name}", outputs, inputs))
        for name, width in (("self_attn.q_a_layernorm", 1536), ("self_attn.kv_a_layernorm", 512),
                            ("input_layernorm", hidden), ("post_attention_layernorm", hidden)):  # fmt: skip
            found[f"{at}{name}.weight"] = ("BF16", (width,))
        if layer < config["first_k_dense_replace"]:
            found.update(_mlp(at + "mlp.", hidden, config["intermediate_size"]))
            continue
        found[at + "mlp.gate.weight"] = ("BF16", (256, hidden))
        found[at + "mlp.gate.e_score_correction_bias"] = ("F32", (256,))
        for expert in range(256):
            found.update(_mlp(f"{at}mlp.experts.{expert}.", hidden, 2048))
        found.update(_mlp(at + "mlp.shared_experts.", hidden, 2048))
    at = f"model.layers.{layers}."
    for name in ("enorm", "hnorm", "shared_head.norm"):
        found[f"{at}{name}.weight"] = ("BF16", (hidden,))
    found[at + "eh_proj.weight"] = ("BF16", (hidden, 2 * hidden))
    found[at + "embed_tokens.weight"] = found[at + "shared_head.head.weight"] = ("BF16", (vocab, hidden))
    found["model.norm.weight"] = ("BF16", (hidden,))
    found["lm_head.weight"] = ("BF16", (vocab, hidden))
    return found


def _mlp(at: str, hidden: int, inner: int) -> Iterator[Entry]:
    for name, outputs, inputs in (("gate", inner, hidden), ("up", inner, hidden), ("down", hidden, inner)):
        yield from fp8_blocks(f"{at}{name}_proj", outputs, inputs)
