"""Bytes of every form of quantization_config, against published bytes and the bits of their layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.checkpoints.model import model_from_config
from kvplan.checkpoints.read import read_model
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.errors import CannotJudge, InputError, KvplanError
from tests.checkpoints.layouts_kit import DEEPSEEK_V3, GPT_OSS_120B, LLAMA_8B, QWEN_7B

TRUTH = Path(__file__).resolve().parents[1] / "truth" / "model_facts.jsonl"
FACTS = {row["hub_id"]: row["config"] for row in map(json.loads, TRUTH.read_text(encoding="utf-8").splitlines())}
QWEN_72B = {
    **QWEN_7B, "hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "num_attention_heads": 64,
    "num_key_value_heads": 8,
}  # fmt: skip
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}


def read(config: dict[str, Any], quantization: dict[str, Any] | None = None, **keys: Any) -> Model:
    config = {**config, **keys} if quantization is None else {**config, **keys, "quantization_config": quantization}
    return model_from_config(config, name="x", where="x/config.json", source="x")


def total_bytes(model: Model) -> float:
    return sum(SCHEMES[model.dtype].bytes_of(model.weights))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (FACTS["openai/gpt-oss-120b"], 65_248_815_744),
        (FACTS["openai/gpt-oss-20b"], 13_761_264_768),
        (FACTS["Qwen/Qwen3-235B-A22B-FP8"], 236_445_455_360),
        (FACTS["MiniMaxAI/MiniMax-M2.5"], 230_024_081_408),
        ({**QWEN_7B, "quantization_config": AWQ}, 5_570_747_392),
        (FACTS["meta-llama/Llama-3.1-405B"], 811_706_777_600),
    ],
    ids=["gpt-oss-120b", "gpt-oss-20b", "qwen3-235b-fp8", "minimax-m2.5", "qwen2.5-7b-awq", "llama-405b"],
)
def test_bytes_of_whole_checkpoints(config: dict[str, Any], expected: int) -> None:
    """Bytes of their tensors, to the last one."""
    assert total_bytes(read(config)) == expected


@pytest.mark.parametrize("hub_id", ["deepseek-ai/DeepSeek-V3", "moonshotai/Kimi-K2-Instruct"])
def test_blocks_that_a_matrix_does_not_fill(hub_id: str) -> None:
    """688,574,809,152 and 1,029,173,203,808: the last blocks of rows make 7,000 bytes."""
    expected = {"deepseek-ai/DeepSeek-V3": 688_574_809_152, "moonshotai/Kimi-K2-Instruct": 1_029_173_203_808}
    assert total_bytes(read(FACTS[hub_id])) == pytest.approx(expected[hub_id], rel=2e-8)


def test_a_quantized_repository_that_pads_its_layers() -> None:
    """Qwen2.5-72B AWQ: intermediate_size 29568 -> 29696, 72,957,861,888 elements."""
    assert read(QWEN_72B).weights.total == 72_706_203_648
    assert read(QWEN_72B, AWQ, intermediate_size=29696).weights.total == 72_957_861_888


GROUP_OF = {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True}}


def packed(weights: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """compressed-tensors with one group."""
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"], **keys}


def hqq(bits: int, group: int) -> dict[str, Any]:
    weights = {"nbits": bits, "group_size": group, "axis": 1}
    return {"quant_method": "hqq", "quant_config": {"weight_quant_params": weights}, "skip_modules": ["lm_head"]}


BITS = [
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8.00195),
    ({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, 8.00195),
    ({"quant_method": "fp8", "weight_block_size": None, "activation_scheme": "static"}, 8.0),
    ({"quant_method": "fp8", "weight_block_size": [1, 32], "scale_fmt": "ue8m0"}, 8.25),
    ({"quant_method": "fp8", "weight_block_size": [1, 128]}, 8.25),
    ({"quant_method": "fbgemm_fp8"}, 8.0),
    (AWQ, 4.15625),
    ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": False}, 4.125),
    ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4.3125),
    ({"quant_method": "awq", "w_bit": 4, "q_group_size": 128}, 4.15625),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True, "desc_act": True}, 4.125),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": False}, 4.15625),
    ({"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": True}, 4.5),
    ({"quant_method": "gptq", "bits": 4, "group_size": -1, "sym": True}, 4.0),
    ({"quant_method": "gptq", "bits": 8, "group_size": 32, "sym": True}, 8.5),
    ({"quant_method": "gptq", "bits": 3, "group_size": 128, "sym": True}, 3.125),
    ({"quant_method": "gptq", "bits": 2, "group_size": 64, "sym": True}, 2.25),
    ({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}, 4.125),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, 4.127),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": False}, 4.5),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8.01),
    (hqq(4, 64), 4.5),
    (hqq(8, 64), 8.5),
    (hqq(3, 64), 3.7),
    (packed(GROUP_OF["weights"], format="pack-quantized"), 4.5),
    (packed({**GROUP_OF["weights"], "group_size": 128}), 4.125),
    (packed({**GROUP_OF["weights"], "group_size": 128, "symmetric": False}), 4.15625),
    (packed({**GROUP_OF["weights"], "group_size": 128}, format="naive-quantized"), 8.125),
    (packed({"num_bits": 4, "type": "int", "strategy": "channel", "group_size": None}), 4.0),
    (packed({"num_bits": 8, "type": "int", "strategy": "channel"}), 8.01),
    (packed({"num_bits": 8, "type": "float", "strategy": "channel", "dynamic": False}), 8.0),
    (packed({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}), 8.00195),
    (packed({"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32}), 8.25),
    (packed({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}), 4.5),
    (packed({"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}), 4.25),
    ({"config_groups": {"group_0": GROUP_OF}, "format": "pack-quantized"}, 4.5),
    ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, 8.0),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]}, 4.5),
    ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, 4.125),
    ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, 8.25),
]


@pytest.mark.parametrize(("quantization", "bits"), BITS, ids=range(len(BITS)))
def test_bits_of_the_matrices(quantization: dict[str, Any], bits: float) -> None:
    """Everything but the matrices stays in 16 bits. Scales per row or matrix depend on the rows: up to 0.005."""
    model = read(LLAMA_8B, quantization)
    kept = 2 * (model.weights.embedding + model.weights.lm_head + model.weights.other)
    assert 8 * (total_bytes(model) - kept) / model.weights.linear == pytest.approx(bits, abs=0.005)
    assert model.warnings == ()


def test_the_older_key_of_compressed_tensors() -> None:
    config = {**LLAMA_8B, "compression_config": packed(GROUP_OF["weights"])}
    assert SCHEMES[read(config).dtype].linear_bits == 4.5


@pytest.mark.parametrize(
    ("section", "scheme"),
    [
        ({"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16}, "nvfp4"),
        ({"quant_algo": "FP8", "exclude_modules": ["lm_head"]}, "fp8"),
        ({"quant_algo": None, "kv_cache_quant_algo": "FP8"}, "bf16"),
    ],
)
def test_the_file_of_modelopt(tmp_path: Path, section: dict[str, Any], scheme: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"producer": {}, "quantization": section}))
    assert read_model(tmp_path).dtype == scheme


# Mixtures: what the routed experts have, and what the rest.

KIMI_IGNORES = ["re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "lm_head"]


def layers_of(*algorithms: tuple[str, str]) -> dict[str, Any]:
    """ModelOpt's MIXED_PRECISION: (module, algorithm) in every layer."""
    table = {f"model.layers.{layer}.{name}": {"quant_algo": algo} for layer in range(61) for name, algo in algorithms}
    return {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": table}


FP8_DENSE = {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}
FP4_EXPERTS = {"targets": ["re:.*mlp.experts.*"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}}


@pytest.mark.parametrize(
    ("keys", "dense_bits", "expert_bits"),
    [
        ({"quantization_config": packed(GROUP_OF["weights"], ignore=KIMI_IGNORES)}, 16, 4.5),
        ({"expert_dtype": "fp4"}, 8.002, 4.25),
        ({"quantization_config": {"quant_method": "mxfp4"}}, 16, 4.25),
        ({"quantization_config": {**layers_of(("mlp.experts", "NVFP4"), ("self_attn.o_proj", "FP8"))}}, 8.002, 4.5),
        ({"quantization_config": {**layers_of(("mlp.experts", "NVFP4"))}}, 16, 4.5),
        (
            {"quantization_config": {"quant_method": "compressed-tensors",
                                     "config_groups": {"a": FP8_DENSE, "b": FP4_EXPERTS}}}, 8.002, 4.5,
        ),
        ({"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"b": FP4_EXPERTS}}}, 16, 4.5),
        (
            {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4",
                                     "ignore": [f"model.layers.{layer}.self_attn*" for layer in range(61)]}}, 16, 4.5,
        ),
    ],
)  # fmt: skip
def test_experts_and_the_rest(keys: dict[str, Any], dense_bits: float, expert_bits: float) -> None:
    model = read(DEEPSEEK_V3, **keys)
    scheme = SCHEMES[model.dtype]
    assert scheme.dense_bits == pytest.approx(dense_bits, abs=1e-3) and scheme.routed_bits == expert_bits


def test_the_expert_type_at_the_text_level() -> None:
    nested = {"model_type": "kimi_k25", "text_config": {**DEEPSEEK_V3, "expert_dtype": "fp4"}}
    flat = read(DEEPSEEK_V3, expert_dtype="fp4")
    try:
        assert read(nested).dtype == flat.dtype
    except KvplanError:
        assert read({"model_type": "mistral3", **nested}).dtype == flat.dtype
    assert read(DEEPSEEK_V3, expert_dtype="fp8").dtype == "fp8"
    with pytest.raises(CannotJudge, match="expert_dtype"):
        read(DEEPSEEK_V3, expert_dtype="fp3")


def test_kimi_k2_5_weighs_what_its_layout_makes() -> None:
    """595,147,593,696 bytes, its tower of 471,143,920 elements included: int4 experts, all else in 16 bits."""
    kimi = read(FACTS["moonshotai/Kimi-K2-Instruct"], packed(GROUP_OF["weights"], ignore=KIMI_IGNORES))
    assert total_bytes(kimi) + 2 * 471_143_920 == 595_147_593_696


def test_mtp_heads_that_stay_in_16_bits() -> None:
    fp4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    quantized = read(DEEPSEEK_V3, fp4)
    for ignored in (["mtp*"], ["re:.*mtp.*"], ["model.layers.61.*"]):
        whole = read(DEEPSEEK_V3, {**fp4, "ignore": ["lm_head", *ignored]})
        assert sum(SCHEMES["nvfp4"].mtp_bytes(whole.weights)) == 2 * whole.weights.mtp
        assert sum(SCHEMES["nvfp4"].mtp_bytes(quantized.weights)) < 1.2 * quantized.weights.mtp


USUAL = ["lm_head", "model.embed_tokens", "re:.*norm.*", "re:.*mlp.gate$", "model.layers.3.mlp.gate", "re:.*router.*",
         "visual.blocks.0.attn.qkv", "re:vision_tower.*", "re:.*multi_modal_projector.*", "gate",
         "e_score_correction_bias", "model.layers.0.mlp.shared_expert_gate", "model.layers.0.linear_attn.conv1d",
         ]  # fmt: skip


@pytest.mark.parametrize("key", ["ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"])
def test_what_always_stays_changes_nothing(key: str) -> None:
    fp8 = {"quant_method": "fp8", key: USUAL}
    assert read(LLAMA_8B, fp8).dtype == "fp8" and read(LLAMA_8B, fp8).warnings == ()


def test_few_modules_that_stay_are_said() -> None:
    model = read(LLAMA_8B, {"quant_method": "fp8", "ignore": ["model.layers.0.mlp.down_proj", "lm_head"]})
    assert model.dtype == "fp8" and "1 modules" in model.warnings[0] and "down_proj" in model.warnings[0]


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "fp8", "ignore": ["re:.*self_attn.*"]},
        {"quant_method": "fp8", "ignore": ["re:.*mlp.*"]},
        {"quant_method": "fp8", "ignore": [f"model.layers.{layer}.self_attn.q_proj" for layer in range(32)]},
        {"quant_method": "fp8", "ignore": [f"model.layers.{layer}.mlp.up_proj" for layer in range(20)]},
        {"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*down_proj": {"bits": 8}}},
        {"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*self_attn.*": {}}},
        layers_of(("mlp.up_proj", "NVFP4"), ("self_attn.q_proj", "FP8")),
        {**layers_of(), "quantized_layers": {}},
        {**packed(GROUP_OF["weights"]), "sparsity_config": {"format": "sparse-24-bitmask"}},
        packed(GROUP_OF["weights"], format="marlin-24"),
        {"quant_method": "compressed-tensors", "config_groups": {"a": FP8_DENSE, "b": {**GROUP_OF, "targets": ["x"]}}},
        {"quant_method": "compressed-tensors", "config_groups": {}},
        {"quant_method": "compressed-tensors"},
        {"quant_method": "modelopt", "quant_algo": "NVFP2"},
        {"quant_method": "modelopt"},
        {"quant_method": "hqq"},
        {"quant_method": "gptq", "bits": 1},
        {"quant_method": "quark"},
        packed({"num_bits": 6, "type": "float"}),
    ],
    ids=range(19),
)
def test_what_the_config_does_not_settle_is_refused_with_advice(quantization: dict[str, Any]) -> None:
    with pytest.raises(CannotJudge) as caught:
        read(LLAMA_8B, quantization)
    assert caught.value.exit_code == 3 and caught.value.help is not None
    assert "safetensors" in caught.value.help and "--weights" in caught.value.help


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "gptq", "bits": 4, "group_size": 0},
        {"quant_method": "gptq", "bits": 4, "group_size": "many"},
        {"quant_method": "gptq", "bits": 4, "group_size": 10**30},
        {"quant_method": "gptq", "bits": 4, "group_size": True},
        {"quant_method": "gptq"},
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "fp8", "weight_block_size": [0, 128]},
        {"quant_method": "fp8", "weight_block_size": 128},
        {"quant_method": "fp8", "ignore": "lm_head"},
        {"quant_method": "fp8", "ignore": ["a"] * 300_000},
        {"quant_method": ["fp8"]},
        packed({"num_bits": "four"}),
        hqq(64, 64),
    ],
    ids=range(13),
)
def test_values_that_can_not_be_are_named(quantization: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read(LLAMA_8B, quantization)


def test_composed_names_are_not_offered_but_understood() -> None:
    assert "int4-g64-zp" not in SCHEMES and SCHEMES["int4-g64-zp"].linear_bits == 4.3125
    for name in ("", "int9-g64", "int4-g0", "x-experts", "-experts", "fp8+", "int4-g64-zp32"):
        with pytest.raises(KeyError):
            SCHEMES[name]


def test_gpt_oss_experts_alone() -> None:
    model = read(GPT_OSS_120B)
    assert model.dtype == "mxfp4" and model.weights.total == 116_829_156_672


@pytest.mark.parametrize("key", ["quantization", "quantization_config"])
def test_mlx_names_no_method(key: str) -> None:
    """``mlx_lm.convert -q`` writes its bits and groups under both keys: 4 + 32/64 bits a weight."""
    found = model_from_config(
        {**LLAMA_8B, key: {"group_size": 64, "bits": 4}}, name="x", where="x/config.json", source="x"
    )
    assert found.dtype == "mlx-4bit"
    assert sum(SCHEMES[found.dtype].bytes_of(found.weights)) == pytest.approx(8.03e9 * 4.5 / 8, rel=1e-3)
