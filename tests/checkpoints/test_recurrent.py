"""Layers that keep a state: whose map is refused, what the spellings mean, in how many bits a state is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kvplan
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import KvLayers, Model, State
from kvplan.errors import CannotJudge, InputError, UnknownArchitecture

TRUTH = Path(__file__).resolve().parents[1] / "truth" / "model_facts.jsonl"
FACTS = {row["hub_id"]: row for row in map(json.loads, TRUTH.read_text(encoding="utf-8").splitlines())}

NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
GRANITE = "ibm-granite/granite-4.0-h-small"
KIMI = "moonshotai/Kimi-Linear-48B-A3B-Instruct"
ULTRA = "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"
NANO = "nvidia/NVIDIA-Nemotron-Nano-9B-v2"


def config(hub_id: str, **keys: Any) -> dict[str, Any]:
    """The config of a published model with other keys; an ellipsis takes one out."""
    merged = {**FACTS[hub_id]["config"], **keys}
    return {key: value for key, value in merged.items() if value is not ...}


def read(hub_id: str, published: int | None = None, **keys: Any) -> Model:
    return model_from_config(
        config(hub_id, **keys), name="x", where="x/config.json", source="test", published_parameters=published
    )


def layers(model: Model) -> dict[str, int]:
    return {kind.kind: kind.layers for kind in model.kv}


def kind(model: Model, name: str) -> KvLayers:
    (found,) = [kind for kind in model.kv if kind.kind == name]
    return found


@pytest.mark.parametrize(
    ("hub_id", "key"),
    [
        (GRANITE, "layer_types"),
        (NANO, "hybrid_override_pattern"),
        ("ibm-ai-platform/Bamba-9B-v1", "attn_layer_indices"),
        ("ai21labs/Jamba-v0.1", "attn_layer_period"),
        ("ai21labs/Jamba-v0.1", "attn_layer_offset"),
        ("LiquidAI/LFM2-1.2B", "layer_types"),
        ("LiquidAI/LFM2.5-8B-A1B", "layer_types"),
        (KIMI, "linear_attn_config"),
        ("MiniMaxAI/MiniMax-Text-01", "attn_type_list"),
        ("Zyphra/Zamba2-2.7B", "layers_block_type"),
        ("allenai/Olmo-Hybrid-7B", "layer_types"),
    ],
)
def test_a_hybrid_without_its_map_is_refused(hub_id: str, key: str) -> None:
    with pytest.raises(CannotJudge, match=f"{key} is missing") as caught:
        read(hub_id, **{key: ...})
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("hub_id", "key"),
    [
        (GRANITE, "layer_types"),
        (ULTRA, "layers_block_type"),
        ("LiquidAI/LFM2-1.2B", "layer_types"),
        ("Zyphra/Zamba2-2.7B", "layers_block_type"),
        (NEXT, "layer_types"),
    ],
)
def test_a_word_that_is_not_known_is_refused(hub_id: str, key: str) -> None:
    words = list(config(hub_id).get(key, ["linear_attention"] * 48))
    with pytest.raises(UnknownArchitecture, match=f"{key} has 'retention'"):
        read(hub_id, **{key: [*words[:-1], "retention"]})


@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.parametrize(
    ("hub_id", "key"),
    [(GRANITE, "layer_types"), ("MiniMaxAI/MiniMax-Text-01", "attn_type_list"), ("LiquidAI/LFM2-1.2B", "layer_types")],
)
def test_a_map_of_another_length_is_one_clear_line(hub_id: str, key: str, change: int) -> None:
    listed = config(hub_id)[key]
    with pytest.raises(InputError, match=f"{key} must have one entry per layer"):
        read(hub_id, **{key: listed + listed[:1] if change > 0 else listed[:-1]})


def test_a_pattern_of_letters_must_have_as_many_as_layers() -> None:
    with pytest.raises(InputError, match="57 layers, but num_hidden_layers is 56"):
        read(NANO, hybrid_override_pattern=config(NANO)["hybrid_override_pattern"] + "M")
    with pytest.raises(UnknownArchitecture, match="hybrid_override_pattern has 'X'"):
        read(NANO, hybrid_override_pattern="X" * 56)


def test_qwen_has_a_period_of_four_where_the_file_states_none() -> None:
    assert layers(read(NEXT, full_attention_interval=...)) == {"full": 12, "gdn": 36}
    assert layers(read(NEXT, full_attention_interval=3)) == {"full": 16, "gdn": 32}
    assert layers(read(NEXT, layer_types=["linear_attention"] * 47 + ["full_attention"])) == {"full": 1, "gdn": 47}


def test_newer_spellings_mean_the_same() -> None:
    words = {"mamba": "linear_attention", "attention": "full_attention", "moe": "moe", "mlp": "mlp"}
    for hub_id, key in ((GRANITE, "layer_types"), (ULTRA, "layers_block_type")):
        assert read(hub_id, **{key: [words[word] for word in config(hub_id)[key]]}) == read(hub_id)
    letters = {"mamba": "M", "attention": "*", "moe": "E"}
    pattern = "".join(letters[word] for word in config(ULTRA)["layers_block_type"])
    assert read(ULTRA, layers_block_type=..., hybrid_override_pattern=pattern) == read(ULTRA)


def test_lists_of_layer_numbers_mean_the_same_as_words() -> None:
    words = config("LiquidAI/LFM2-1.2B")["layer_types"]
    indices = [layer for layer, word in enumerate(words) if word == "full_attention"]
    numbered = read("LiquidAI/LFM2-1.2B", layer_types=..., full_attn_idxs=indices)
    assert numbered == read("LiquidAI/LFM2-1.2B")
    with pytest.raises(InputError, match="full_attn_idxs must number layers from 0 to 15"):
        read("LiquidAI/LFM2-1.2B", layer_types=..., full_attn_idxs=[2, 16])


def kimi(**lists: Any) -> Model:
    section = {**config(KIMI)["linear_attn_config"], **lists}
    return read(KIMI, linear_attn_config={key: value for key, value in section.items() if value is not ...})


@pytest.mark.parametrize(
    ("lists", "says"),
    [
        ({"full_attn_layers": [0, 4]}, "must number layers from 1 to 27"),
        ({"full_attn_layers": [4, 28]}, "must number layers from 1 to 27"),
        ({"full_attn_layers": [4, 4]}, "must not name a layer twice"),
        ({"full_attn_layers": [4, 8]}, "must name each of 27 layers once"),
        ({"kda_layers": [1, 4]}, "must name each of 27 layers once"),
    ],
)
def test_the_lists_of_kimi_count_from_one_and_name_every_layer(lists: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        kimi(**lists)


def test_kimi_needs_the_list_of_full_layers_alone() -> None:
    assert layers(kimi(kda_layers=...)) == layers(kimi()) == {"mla": 7, "kda": 20}
    with pytest.raises(CannotJudge, match="linear_attn_config.full_attn_layers is missing"):
        kimi(full_attn_layers=...)


def test_softmax_and_lightning_are_one_and_nothing() -> None:
    with pytest.raises(InputError, match="attn_type_list must be a list of 0"):
        read("MiniMaxAI/MiniMax-Text-01", attn_type_list=[2] * 80)


def test_granite_without_mamba_layers_needs_no_mamba_keys() -> None:
    assert layers(read("ibm-granite/granite-4.0-micro")) == {"full": 40}


def test_falcon_h1_keeps_both_in_every_layer() -> None:
    assert layers(read("tiiuae/Falcon-H1-34B-Base")) == {"full": 72, "mamba2": 72}


def test_a_model_of_states_alone_has_no_kv() -> None:
    model = read("tiiuae/falcon-mamba-7b")
    assert layers(model) == {"mamba1": 64}
    assert model.kv[0].state == State(8192 * 3, 8192 * 16, conv_columns=3)
    assert not model.kv[0].grows and model.max_context_tokens is None


def test_zamba_shares_weights_but_no_kv() -> None:
    model = read("Zyphra/Zamba2-2.7B")
    assert layers(model) == {"full": 9, "mamba2": 54}
    assert kind(model, "full").elements_per_token == 2 * 32 * 160


@pytest.mark.parametrize(
    ("hub_id", "keys", "float32"),
    [
        (NANO, {}, True),
        (NANO, {"mamba_ssm_cache_dtype": "bfloat16"}, False),
        (GRANITE, {}, False),
        (GRANITE, {"mamba_ssm_dtype": "float32"}, True),
        (NEXT, {}, False),
        (NEXT, {"mamba_ssm_dtype": "float32"}, True),
        (KIMI, {"mamba_ssm_dtype": "bfloat16"}, True),
        ("MiniMaxAI/MiniMax-Text-01", {}, True),
    ],
)
def test_states_in_32_bits(hub_id: str, keys: dict[str, Any], float32: bool) -> None:
    """Nemotron's class asks for it, KDA and lightning attention always keep them so, others where the file says."""
    (state,) = [kind.state for kind in read(hub_id, **keys).kv if kind.state is not None]
    assert state.recurrent_float32 is float32


@pytest.mark.parametrize(
    ("hub_id", "name", "heads"),
    [(NEXT, "gdn", 32), (GRANITE, "mamba2", 128), (KIMI, "kda", 32), ("MiniMaxAI/MiniMax-Text-01", "lightning", 64)],
)
def test_tensor_parallel_ranks_share_the_heads_of_a_state(hub_id: str, name: str, heads: int, tmp_path: Path) -> None:
    """As public models state them: 8 ranks keep an eighth of the state each, and one has the published bytes."""
    assert kind(read(hub_id), name).kv_heads == heads
    (tmp_path / "config.json").write_text(json.dumps(config(hub_id)), encoding="utf-8")
    one, eighth = (kvplan.kv(model=str(tmp_path), tp=ranks).kv_bytes_fixed_per_sequence for ranks in (1, 8))
    assert one == 8 * eighth == FACTS[hub_id]["state_bytes"]


def test_mtp_heads_have_kv_of_their_attention() -> None:
    (ultra,) = read(ULTRA).mtp_kv
    assert (ultra.kind, ultra.layers, ultra.elements_per_token) == ("full", 1, 2 * 2 * 128)
    assert read(ULTRA, mtp_layers_block_type=["mamba", "moe"]).mtp_kv == ()
    assert read(ULTRA, num_nextn_predict_layers=0).mtp_kv == ()
    (qwen,) = read("Qwen/Qwen3.5-27B").mtp_kv
    assert (qwen.kind, qwen.layers, qwen.elements_per_token) == ("full", 1, 2 * 4 * 256)


def test_the_published_total_decides_about_heads_that_no_key_tells() -> None:
    """Qwen3-Next stores an MTP head, Qwen3-Coder-Next with the same keys none; in FP8 its scales come with it."""
    with_head, without = FACTS[NEXT]["elements"], FACTS["Qwen/Qwen3-Coder-Next"]["elements"]
    assert read(NEXT, with_head).weights.total == with_head
    assert read(NEXT, with_head).weights.mtp == with_head - without
    assert read(NEXT, without).weights.total == read(NEXT).weights.total == without
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    assert read(NEXT, 81_329_784_384, quantization_config=fp8).weights.total == 81_329_784_384
    assert read(NEXT, quantization_config=fp8).weights.total == FACTS["Qwen/Qwen3-Coder-Next-FP8"]["elements"]


def test_mixtures_and_dense_layers_of_qwen_next() -> None:
    model = read(NEXT, decoder_sparse_step=2, mlp_only_layers=[1])
    assert model.experts is not None and model.experts.moe_layers == 23
    assert model.intermediate_size == 5120


def test_ranks_that_are_automatic() -> None:
    assert read("ai21labs/Jamba-v0.1", mamba_dt_rank="auto") == read("ai21labs/Jamba-v0.1")
    assert read(GRANITE, mamba_d_head="auto") == read(GRANITE)


@pytest.mark.parametrize(
    ("hub_id", "keys", "says"),
    [
        ("ai21labs/Jamba-v0.1", {"attn_layer_offset": 8}, "attn_layer_offset must be less than attn_layer_period"),
        (GRANITE, {"mamba_d_head": 48}, "128 state heads don't share an inner width of 8192"),
        ("Zyphra/Zamba2-2.7B", {"n_mamba_heads": 7}, "7 state heads don't share"),
        ("LiquidAI/LFM2-1.2B", {"block_ffn_dim_multiplier": "wide"}, "block_ffn_dim_multiplier must be"),
        (ULTRA, {"layers_block_type": []}, "layers_block_type must name from 1"),
    ],
)
def test_sides_that_do_not_fit(hub_id: str, keys: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(hub_id, **keys)


def test_the_width_of_lfm2_is_two_thirds_up_to_a_multiple() -> None:
    assert read("LiquidAI/LFM2-1.2B").intermediate_size == 8192
    assert read("LiquidAI/LFM2-1.2B", block_ff_dim=6656).intermediate_size == 4608
    assert read("LiquidAI/LFM2-1.2B", block_auto_adjust_ff_dim=False).intermediate_size == 12288


def test_towers_beside_hybrids() -> None:
    described, bare = read("Qwen/Qwen3.5-9B"), read("Qwen/Qwen3.5-9B", vision_config=...)
    assert described.weights.towers == 456_010_480 and not described.tower_elements_unknown
    assert bare.tower_elements_unknown
    k3 = read("moonshotai/Kimi-K3")
    assert k3.weights.towers == 447_358_976
    assert read("moonshotai/Kimi-K3", vision_config={"patch_size": 14}).tower_elements_unknown
