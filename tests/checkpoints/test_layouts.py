"""Windows, latents, heads and lengths: the spellings that real files use, and the traps in them."""

from __future__ import annotations

from typing import Any

import pytest

from kvplan.catalog.models import load_model, model_table
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.errors import CannotJudge, InputError, UnknownArchitecture

DENSE: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}  # fmt: skip
MIXTURE = {**DENSE, "num_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 1408, "n_shared_experts": 1}
LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}


def read(base: dict[str, Any] | None = None, **keys: Any) -> Model:
    return model_from_config({**(base or DENSE), **keys}, name="x", where="x/config.json", source="test")


def layers(model: Model) -> dict[str, tuple[int, int | None]]:
    return {kind.kind: (kind.layers, kind.window_tokens) for kind in model.kv}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, {"sliding": (32, 4096)}),
        ({"model_type": "mistral", "sliding_window": None}, {"full": (32, None)}),
        ({"model_type": "mistral"}, {"full": (32, None)}),
        ({"model_type": "phi3", "sliding_window": 2048}, {"sliding": (32, 2048)}),
        ({"model_type": "phi3", "sliding_window": 262144}, {"full": (32, None)}),
        ({"model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 28}, {"full": (32, None)}),
        (
            {"model_type": "qwen3", "use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 28},
            {"full": (28, None), "sliding": (4, 4096)},
        ),
        ({"model_type": "gemma2"}, {"full": (16, None), "sliding": (16, 4096)}),
        ({"model_type": "gemma3_text", "sliding_window": 512}, {"full": (5, None), "sliding": (27, 512)}),
        (
            {"model_type": "gemma3_text", "sliding_window": 512, "_sliding_window_pattern": 4},
            {"full": (8, None), "sliding": (24, 512)},
        ),
        ({"model_type": "cohere2"}, {"full": (8, None), "sliding": (24, 4096)}),
        (
            {"model_type": "exaone4", "sliding_window": 4096, "sliding_window_pattern": "LLLG"},
            {"full": (8, None), "sliding": (24, 4096)},
        ),
        ({"model_type": "exaone4", "sliding_window": None}, {"full": (32, None)}),
        (
            {"model_type": "olmo3", "sliding_window": 4096, "layer_types": ["full_attention"] * 32},
            {"full": (32, None)},
        ),
        (
            {
                "model_type": "olmo3", "sliding_window": 4096,
                "layer_types": ["sliding_attention"] * 31 + ["full_attention"],
            },
            {"full": (1, None), "sliding": (31, 4096)},
        ),
    ],
)  # fmt: skip
def test_windows(keys: dict[str, Any], expected: dict[str, tuple[int, int | None]]) -> None:
    assert layers(read(**keys)) == expected


def test_gpt_oss_alternates_from_a_sliding_layer_by_default() -> None:
    model = read(model_type="gpt_oss", num_local_experts=32, num_experts_per_tok=4)
    assert layers(model) == {"full": (16, None), "sliding": (16, 128)}


def test_exaone_without_a_window_and_a_map_is_refused() -> None:
    with pytest.raises(InputError, match="sliding_window is missing"):
        read(model_type="exaone4")


def test_a_layer_type_that_is_not_known_is_refused() -> None:
    kinds = ["linear_attention"] * 24 + ["full_attention"] * 8
    with pytest.raises(UnknownArchitecture, match="linear_attention"):
        read(model_type="olmo3", layer_types=kinds)


@pytest.mark.parametrize("key", ["block_configs", "per_layer_config"])
def test_layers_of_different_shapes_are_refused(key: str) -> None:
    with pytest.raises(UnknownArchitecture, match=key):
        read(**{key: [{"attention": {"no_op": True}}]})


def test_mla_keeps_one_latent_whatever_the_kv_heads_say() -> None:
    model = read(MIXTURE, model_type="deepseek_v3", **LATENT, num_key_value_heads=32, head_dim=64)
    (latent,) = model.kv
    assert (latent.kv_heads, latent.key_elements, latent.value_elements) == (1, 576, 0)
    assert latent.replicated
    assert model.head_elements == 192


def test_an_index_beside_mla_is_refused() -> None:
    with pytest.raises(UnknownArchitecture, match="index_topk"):
        read(MIXTURE, model_type="deepseek_v3", **LATENT, index_topk=2048)


def test_two_geometries() -> None:
    """MiMo V2: sliding layers have KV heads of their own, and keys are wider than values."""
    model = read(
        MIXTURE, model_type="mimo_v2_flash", head_dim=192, v_head_dim=128, num_key_value_heads=4,
        swa_num_key_value_heads=8, sliding_window=128, hybrid_layer_pattern=[0] + [1] * 31, attention_chunk_size=128,
    )  # fmt: skip
    full, sliding = model.kv
    assert (full.layers, full.elements_per_token, full.window_tokens) == (1, 4 * 320, None)
    assert (sliding.layers, sliding.elements_per_token, sliding.window_tokens) == (31, 8 * 320, 128)


@pytest.mark.parametrize(("use_cla", "layers_with_kv"), [(True, 16), (False, 32)])
def test_hunyuan_shares_kv_only_where_it_is_switched_on(use_cla: bool, layers_with_kv: int) -> None:
    (kind,) = read(model_type="hunyuan_v1_dense", use_cla=use_cla, cla_share_factor=2).kv
    assert kind.layers == layers_with_kv


@pytest.mark.parametrize("head_dim", [None, 0])
def test_a_head_dim_of_nothing_means_hidden_over_heads(head_dim: int | None) -> None:
    assert read(head_dim=head_dim).kv[0].key_elements == 128


def test_a_stated_head_dim_goes_before_the_division() -> None:
    assert read(head_dim=256).kv[0].key_elements == 256


@pytest.mark.parametrize(
    ("keys", "kv_heads"),
    [
        ({"num_key_value_heads": None}, 32),
        ({"num_kv_heads": 4}, 4),
        ({"n_head_kv": 2, "num_kv_heads": 4}, 2),
    ],
)
def test_kv_heads_by_the_order_of_their_names(keys: dict[str, Any], kv_heads: int) -> None:
    assert read(**keys).kv[0].kv_heads == kv_heads


def test_old_falcons_have_one_kv_head() -> None:
    assert read(model_type="falcon", num_kv_heads=8).kv[0].kv_heads == 1
    assert read(model_type="falcon", multi_query=False).kv[0].kv_heads == 32
    assert read(model_type="falcon", num_kv_heads=8, new_decoder_architecture=True).kv[0].kv_heads == 8


@pytest.mark.parametrize(
    ("keys", "tokens"),
    [
        ({"max_position_embeddings": 4096, "seq_length": 2048}, 2048),
        ({"max_position_embeddings": None}, None),
        ({"model_type": "cohere", "max_position_embeddings": 8192, "model_max_length": 131072}, 131072),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 4.0}}, 16384),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 131072),
        (
            {
                "max_position_embeddings": 32768,
                "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
            },
            131072,
        ),
        ({"rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}}, 163840),
        (
            {
                "model_type": "gemma3_text", "sliding_window": 512,
                "rope_scaling": {"rope_type": "linear", "factor": 8.0},
            },
            131072,
        ),
    ],
)  # fmt: skip
def test_the_longest_sequence(keys: dict[str, Any], tokens: int | None) -> None:
    assert read(**keys).max_context_tokens == tokens


GROUPS = {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}}}
KIMI = {"quant_method": "compressed-tensors", "config_groups": GROUPS, "ignore": ["lm_head", "re:.*self_attn.*"]}


@pytest.mark.parametrize(
    ("quantization", "scheme"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "awq-int4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, "gptq-int4"),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "int8-g128"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bnb-nf4-single"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "compressed-tensors", "config_groups": GROUPS}, "int4-g32"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}},
            },
            "gptq-int4",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
            },
            "nvfp4",
        ),
    ],
)
def test_quantization(quantization: dict[str, Any], scheme: str) -> None:
    assert read(quantization_config=quantization).dtype == scheme
    assert SCHEMES[scheme].linear_bits


def test_int4_experts_alone_where_attention_is_left_out() -> None:
    assert read(MIXTURE, model_type="deepseek_v3", **LATENT, quantization_config=KIMI).dtype == "int4-g32-experts"


@pytest.mark.parametrize("level", ["top", "text"])
def test_quantization_and_dtype_at_either_level(level: str) -> None:
    extra = {"quantization_config": {"quant_method": "fp8"}}
    text = {**DENSE, "model_type": "mistral", **(extra if level == "text" else {})}
    top = {"model_type": "mistral3", "text_config": text, **(extra if level == "top" else {})}
    assert read(top).dtype == "fp8"


def test_groups_in_different_formats_are_refused() -> None:
    eight = {"weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}}
    mixed = {"quant_method": "compressed-tensors", "config_groups": {**GROUPS, "group_1": eight}}
    with pytest.raises(CannotJudge, match="different formats"):
        read(quantization_config=mixed)


@pytest.mark.parametrize("method", ["aqlm", "vptq", "quanto"])
def test_a_quantization_that_is_not_known_is_named(method: str) -> None:
    with pytest.raises(CannotJudge, match=method):
        read(quantization_config={"quant_method": method})


def test_a_config_without_a_dtype_says_what_is_assumed() -> None:
    model = read(torch_dtype=None)
    assert model.dtype == "bf16"
    assert "dtype" in model.warnings[0]


def test_gpt_oss_120b_takes_the_bytes_of_its_tensors() -> None:
    """65,248,815,744 bytes of tensors in the repository."""
    model = read(
        model_type="gpt_oss", hidden_size=2880, intermediate_size=2880, num_hidden_layers=36, num_attention_heads=64,
        num_key_value_heads=8, head_dim=64, num_local_experts=128, num_experts_per_tok=4, vocab_size=201088,
        quantization_config={"quant_method": "mxfp4"},
    )  # fmt: skip
    assert sum(SCHEMES[model.dtype].bytes_of(model.weights)) == 65_248_815_744


def test_a_tower_that_is_not_described_is_said() -> None:
    model = read({"model_type": "mistral3", "text_config": {**DENSE, "model_type": "mistral"}})
    assert model.tower_elements_unknown
    assert "tower" in model.warnings[0]


def test_a_flat_mistral3_with_as_many_kv_heads_as_heads_may_be_mla() -> None:
    with pytest.raises(CannotJudge, match="text_config"):
        read(model_type="mistral3", num_key_value_heads=32)


@pytest.mark.parametrize(("name", "elements"), [("qwen3-next-80b-a3b", 1_650_471_424), ("glm-4.6", 1_551_892_480)])
def test_what_a_config_leaves_open_about_mtp_heads_is_said(name: str, elements: int) -> None:
    """The published total of the catalog row settles it; the config alone does not."""
    settled = load_model(name)
    row, _ = model_table().row(name)
    bare = model_from_config(row["config"], name=name, where=name, source=name)
    assert abs(bare.weights.total - settled.weights.total) == elements
    assert sum(f"{elements:,} elements" in text for text in bare.warnings) == 1
    assert not any("does not tell" in text for text in settled.warnings)


def test_the_published_total_decides_about_copies_of_the_embedding() -> None:
    """GLM-4.5 stores the embedding and the head again with its MTP layer, GLM-4.6 does not; no key says so."""
    keys = {**MIXTURE, "model_type": "glm4_moe", "first_k_dense_replace": 1, "num_nextn_predict_layers": 1}
    keys["n_routed_experts"] = keys.pop("num_experts")
    copies = 2 * keys["vocab_size"] * keys["hidden_size"]
    counted = read(keys).weights.total
    published = model_from_config(
        keys, name="x", where="x", source="x", published_parameters=counted - copies
    ).weights.total
    assert published == counted - copies
