"""Attention that is neither full, sliding nor plain MLA: chunks, images, shared KV, indexes, compressed entries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan.checkpoints import image_towers, towers
from kvplan.checkpoints.config import Config
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import KvLayers, Model
from kvplan.errors import CannotJudge, InputError, KvplanError, UnknownArchitecture
from tests.checkpoints.test_bad_input import GOOD, JSON, one_line
from tests.checkpoints.test_layouts import DENSE, LATENT, MIXTURE, read
from tests.checkpoints.test_model_facts import FACTS, hub_id
from tests.checkpoints.test_model_facts import read as read_row

BY_ID = {hub_id(row): row for row in FACTS}
GEMMA4 = {**DENSE, "model_type": "gemma4_text", "num_hidden_layers": 12, "hidden_size_per_layer_input": 0}
INDEXED = {**MIXTURE, "model_type": "glm_moe_dsa", **LATENT, "q_lora_rank": 1536}
V4: dict[str, Any] = {
    **MIXTURE, "model_type": "deepseek_v4", "num_hidden_layers": 4, "compress_ratios": [0, 4, 128, 4],
    "q_lora_rank": 1024, "o_groups": 8, "o_lora_rank": 1024,
}  # fmt: skip


def kinds(model: Model) -> list[tuple[str, int, int | None]]:
    return [(kind.kind, kind.layers, kind.window_tokens) for kind in model.kv]


def row_model(name: str) -> Model:
    return read_row(BY_ID[name])


@pytest.mark.parametrize(
    ("keys", "owners"),
    [
        ({}, 32),
        ({"indexer_types": ["full"] * 4 + ["shared"] * 28}, 4),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 3}, 10),
        ({"index_topk_freq": 4}, 9),
        ({"index_topk_pattern": "FSSS" * 8}, 8),
    ],
)
def test_which_layers_own_an_index(keys: dict[str, Any], owners: int) -> None:
    latent, index = read(INDEXED, **keys).kv
    assert (latent.layers, latent.read_tokens) == (32, 2048)
    assert (index.layers, index.index_bytes, index.index_heads, index.replicated) == (owners, 132, 32, True)


@pytest.mark.parametrize(
    "keys",
    [
        {"indexer_types": ["full"] * 31 + ["half"]},
        {"indexer_types": ["shared"] * 32},
        {"index_topk_pattern": "FFF"},
        {"mlp_layer_types": ["dense"] * 31 + ["other"]},
    ],
)
def test_an_index_map_that_makes_no_sense_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises((InputError, UnknownArchitecture), match=next(iter(keys))):
        read(INDEXED, **keys)


def test_index_keys_and_latents_are_whole_on_every_rank() -> None:
    """DeepSeek V3.2 with 8-way tensor parallelism, as vLLM has it: 78,324 bytes a token on each GPU."""
    from kvplan.assess import build_frame, numbers
    from kvplan.deployments.resolve import resolve_on
    from kvplan.deployments.words import Words
    from kvplan.domain.kv_format import NATIVE_16_BIT
    from kvplan.results.kv_layouts import NOWHERE

    words = Words(engine="generic", tp=8, context="8k")
    frame = build_frame(resolve_on(words, row_model("deepseek-ai/DeepSeek-V3.2"), NOWHERE))
    policy, layout = frame.situation.policy._replace(copies_kv_heads=True), frame.deployment.layout
    each = [numbers.layer_bytes_per_token(kind, NATIVE_16_BIT, layout, policy) for kind in frame.deployment.model.kv]
    assert sum(each) == 78_324


def test_the_heads_that_predict_more_tokens_have_kv_of_their_own() -> None:
    latent, index = row_model("deepseek-ai/DeepSeek-V3.2").mtp_kv
    assert (latent.layers, latent.elements_per_token, index.layers, index.index_bytes) == (1, 576, 1, 132)
    (sliding,) = row_model("deepseek-ai/DeepSeek-V4-Pro").mtp_kv
    assert (sliding.kind, sliding.layers, sliding.window_tokens) == ("sliding", 1, 128)
    (own,) = read({**MIXTURE, "n_routed_experts": 64}, model_type="glm4_moe", num_nextn_predict_layers=2).mtp_kv
    assert (own.kind, own.layers, own.kv_heads) == ("full", 2, 8)
    assert not row_model("moonshotai/Kimi-K2-Instruct").mtp_kv


def test_compressed_entries() -> None:
    window, entries, index, coarse, waiting, waiting_coarse = read(V4).kv
    assert (window.kind, window.layers, window.window_tokens, window.elements_per_token) == ("sliding", 4, 128, 512)
    assert (entries.layers, entries.tokens_per_entry, entries.read_tokens) == (2, 4, 4 * 512)
    assert (index.layers, index.tokens_per_entry, index.index_bytes, index.index_heads) == (2, 4, 132, 64)
    assert (coarse.layers, coarse.tokens_per_entry, coarse.read_tokens) == (1, 128, None)
    assert waiting.state is not None and waiting.state.recurrent_elements * 4 == 81_920
    assert waiting_coarse.state is not None and waiting_coarse.state.recurrent_elements * 4 == 524_288
    assert all(kind.replicated for kind in read(V4).kv)


def test_compressed_layers_by_the_words_of_transformers_5() -> None:
    words = ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"]
    model = read({**V4, "num_hidden_layers": 3}, compress_ratios=None, layer_types=words)
    entries = [kind for kind in model.kv if kind.kind == "compressed"]
    assert [(kind.layers, kind.tokens_per_entry) for kind in entries] == [(1, 4), (1, 128)]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"compress_ratios": None}, "compress_ratios is missing"),
        ({"compress_ratios": [0, 4]}, "one entry for each of the 4 layers"),
        ({"compress_ratios": [0, 4, 64, 4]}, "64"),
        ({"compress_ratios": None, "layer_types": ["full_attention"] * 4}, "full_attention"),
        ({"o_groups": 7}, "o_groups"),
    ],
)
def test_compressed_layers_that_are_not_known_are_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(KvplanError, match=words):
        read(V4, **keys)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, [("full", 8, None), ("chunked", 24, 8192)]),
        ({"no_rope_layers": [1, 0] * 16}, [("full", 16, None), ("chunked", 16, 8192)]),
        ({"layer_types": ["full_attention"] * 32}, [("full", 32, None)]),
        ({"attention_chunk_size": None}, [("full", 32, None)]),
    ],
)
def test_chunks(keys: dict[str, Any], expected: list[tuple[str, int, int | None]]) -> None:
    assert kinds(read({**DENSE, "num_local_experts": 16}, model_type="llama4_text", **keys)) == expected


OLDER = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 50257, "n_positions": 99}


@pytest.mark.parametrize(
    ("keys", "kind", "kv_heads"),
    [
        ({"model_type": "gpt_bigcode"}, "full", 1),
        ({"model_type": "gpt_bigcode", "multi_query": False}, "full", 12),
        ({"model_type": "starcoder2", "intermediate_size": 9, "sliding_window": 64}, "sliding", 2),
        ({"model_type": "mpt"}, "full", 12),
    ],
)
def test_older_decoders(keys: dict[str, Any], kind: str, kv_heads: int) -> None:
    (only,) = read({**OLDER, **keys, "n_heads": 12}).kv
    assert (only.kind, only.layers, only.kv_heads, only.key_elements) == (kind, 12, kv_heads, 64)


def test_every_second_layer_of_maverick_is_a_mixture() -> None:
    experts = row_model("meta-llama/Llama-4-Maverick-17B-128E-Instruct").experts
    assert experts is not None and (experts.experts, experts.moe_layers, experts.experts_per_token) == (128, 24, 1)


@pytest.mark.parametrize(
    ("shared", "expected"),
    [
        (0, [("full", 2, None), ("sliding", 10, 512)]),
        (6, [("full", 1, None), ("sliding", 5, 512), ("shared", 1, None), ("shared", 5, 512)]),
    ],
)
def test_the_last_layers_share_kv(shared: int, expected: list[tuple[str, int, int | None]]) -> None:
    assert kinds(read(GEMMA4, num_kv_shared_layers=shared)) == expected


def test_layers_that_share_kv_of_nobody_are_refused() -> None:
    with pytest.raises(InputError, match="num_kv_shared_layers"):
        read(GEMMA4, num_kv_shared_layers=7)


@pytest.mark.parametrize(
    ("keys", "full"),
    [
        ({"attention_k_eq_v": True, "num_global_key_value_heads": 2}, (2, 512, 512)),
        ({"attention_k_eq_v": False, "num_global_key_value_heads": 2}, (8, 512, 512)),
        ({"global_head_dim": 256}, (8, 256, 256)),
        ({"per_layer_config": {"5": {"head_dim": 384}, "11": {"head_dim": 384}}}, (8, 384, 384)),
    ],
)
def test_full_layers_with_heads_of_their_own(keys: dict[str, Any], full: tuple[int, int, int]) -> None:
    """Keys and values are both cached, also where values are the keys."""
    wide, narrow = read(GEMMA4, head_dim=256, **keys).kv
    assert (wide.kv_heads, wide.key_elements, wide.value_elements) == full
    assert (narrow.kv_heads, narrow.key_elements, narrow.value_elements) == (8, 256, 256)


@pytest.mark.parametrize(
    "layers", [{"5": {"head_dim": 384}}, {"5": {"head_dim": 1}, "11": {"head_dim": 2}}, {"5": {"x": 1}}, {"a": 3}]
)
def test_overrides_by_layer_that_are_not_known_are_refused(layers: dict[str, Any]) -> None:
    with pytest.raises(KvplanError, match="per_layer_config"):
        read(GEMMA4, per_layer_config=layers)


def test_tables_of_which_a_token_reads_one_row_are_not_active() -> None:
    """Gemma 3n E4B: 6.9 billion text elements, of which a token reads 4.5 ("E4B")."""
    model = row_model("google/gemma-3n-E4B-it")
    assert model.weights.lookup == 262_144 * 35 * 256
    assert 4.0e9 < model.active_elements < 4.7e9


def test_images_and_audio_take_the_same_whatever_the_length() -> None:
    """8 layers x 4,096 bytes for each of 6,404 image tokens; 32 layers x 5,120 bytes for 1,500 frames."""
    full, cross = row_model("meta-llama/Llama-3.2-11B-Vision-Instruct").kv
    assert (full.layers, cross.layers, cross.sequence_tokens) == (32, 8, 4 * 1601)
    assert 2 * cross.layers * cross.elements_per_token == 32_768
    full, cross = row_model("openai/whisper-large-v2").kv
    assert (full.layers, cross.layers, cross.sequence_tokens, cross.elements_per_token) == (32, 32, 1500, 2560)
    assert not cross.grows


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "mllama", "text_config": DENSE}, "vision_config is missing"),
        (
            {"model_type": "mllama", "text_config": DENSE, "vision_config": {"image_size": 560}},
            "cross_attention_layers is missing",
        ),
        ({**DENSE, "model_type": "nemotron-nas"}, "block_configs is missing"),
        ({**DENSE, "model_type": "step3p5", "moe_intermediate_size": 64}, "layer_types is missing"),
        ({**MIXTURE, "model_type": "minimax_m3"}, "sparse_attention_config is missing"),
    ],
)
def test_a_missing_layer_map_is_named(config: dict[str, Any], words: str) -> None:
    with pytest.raises(KvplanError, match=words):
        read(config)


BLOCKS: list[dict[str, Any]] = [
    {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 2.625}},
    {"attention": {"n_heads_in_group": 16}, "ffn": {"no_op": True}},
    {"attention": {"no_op": True}, "ffn": {"replace_with_linear": True}},
    {"attention": {"replace_with_linear": True}, "ffn": {"ffn_mult": 1.0}},
]


def test_blocks_with_shapes_of_their_own() -> None:
    model = read({**DENSE, "num_hidden_layers": 4}, model_type="nemotron-nas", block_configs=BLOCKS)
    assert model.kv == (KvLayers("full", 1, 2, 128, 128), KvLayers("full", 1, 4, 128, 128))
    assert model.intermediate_size == 7168


@pytest.mark.parametrize("part", [{"n_heads_in_group": 8, "window_length": 64}, {"n_heads_in_group": 7}, {}])
def test_blocks_that_are_not_known_are_refused(part: dict[str, Any]) -> None:
    blocks = [{"attention": part, "ffn": {"no_op": True}}] * 4
    with pytest.raises(KvplanError):
        read({**DENSE, "num_hidden_layers": 4}, model_type="nemotron-nas", block_configs=blocks)


def test_blocks_in_another_family_are_refused() -> None:
    with pytest.raises(UnknownArchitecture, match="block_configs"):
        read({"model_type": "llava", "text_config": {**DENSE, "block_configs": BLOCKS}})


KIMI_TOWER = {"vt_hidden_size": 1152, "vt_intermediate_size": 4304, "vt_num_hidden_layers": 27, "patch_size": 14}
M3_TOWER = {"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "patch_size": 14}
GEMMA4_TOWER = {
    "hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "patch_size": 16, "standardize": True,
    "num_attention_heads": 16, "head_dim": 72,
}  # fmt: skip


@pytest.mark.parametrize(
    ("tower", "vision", "text_hidden", "elements"),
    [
        (image_towers.moonvit, KIMI_TOWER, 7168, 471_143_920),
        (image_towers.minimax_m3_vision, M3_TOWER, 6144, 865_567_232),
        (image_towers.gemma4_vision, GEMMA4_TOWER, 5376, 575_743_536),
        (image_towers.gemma4_vision, GEMMA4_TOWER, 2816, 572_794_416),
    ],
)
def test_towers(tower: towers.Tower, vision: dict[str, Any], text_hidden: int, elements: int) -> None:
    """What the published totals of Kimi K2.5, MiniMax M3, Gemma 4 31B and 26B have beyond their text bodies."""
    assert tower(Config(vision, "x"), text_hidden) == elements


def test_the_two_towers_of_gemma_4_e4b() -> None:
    sees = {**GEMMA4_TOWER, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 16}
    row = BY_ID["google/gemma-4-E4B-it"]
    config = {
        **row["config"],
        "vision_config": {**sees, "num_attention_heads": 12, "head_dim": 64, "standardize": False},
        "audio_config": {"hidden_size": 1024, "num_hidden_layers": 12, "num_attention_heads": 8},
    }
    assert read(config).weights.total == row["elements"]
    assert read(row["config"]).tower_elements_unknown


def test_the_towers_of_gemma_3n() -> None:
    row = BY_ID["google/gemma-3n-E2B-it"]
    config = {**row["config"], "vision_config": {"architecture": "mobilenetv5_300m_enc"}, "audio_config": {}}
    assert read(config).weights.total == row["elements"]


KEYS = [
    *GOOD, "head_dim", "sliding_window", "layer_types", "text_config", "vision_config", "audio_config", "num_experts",
    "num_experts_per_tok", "kv_lora_rank", "moe_intermediate_size", "index_topk", "index_topk_pattern", "indexer_types",
    "index_topk_freq", "mlp_layer_types", "compress_ratios", "num_hash_layers", "hc_mult", "o_groups", "q_lora_rank",
    "o_lora_rank", "attention_chunk_size", "no_rope_layers", "moe_layers", "interleave_moe_layer_step", "block_configs",
    "per_layer_config", "num_kv_shared_layers", "global_head_dim", "attention_k_eq_v", "enable_moe_block",
    "cross_attention_layers", "sparse_attention_config", "moe_layer_freq", "attention_other_setting", "d_model",
    "moe_layers_enum", "num_nextn_predict_layers", "decoder_layers", "decoder_attention_heads", "encoder_layers",
]  # fmt: skip
TYPES = ["deepseek_v32", "glm_moe_dsa", "deepseek_v4", "gemma3n", "gemma4", "gemma4_text", "llama4", "llama4_text",
         "nemotron-nas", "minimax_m3", "mllama", "whisper", "step3p5", "step3p7", "kimi_k25"]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6), st.booleans())
def test_any_json_is_a_model_or_one_clear_line(model_type: str, keys: dict[str, Any], whole: bool) -> None:
    real = [row["config"] for row in FACTS if row["config"]["model_type"] == model_type]
    config = {**(real[0] if whole and real else GOOD), **keys, "model_type": model_type}
    try:
        model = model_from_config(config, name="x", where="x/config.json", source="x")
    except KvplanError as error:
        one_line(error)
    else:
        assert model.weights.total > 0 and model.layers > 0
        assert all(kind.layers > 0 for kind in model.kv)


def test_a_flat_file_of_a_wrapper_is_refused() -> None:
    with pytest.raises(CannotJudge, match="text_config"):
        read(MIXTURE, model_type="kimi_k25")
