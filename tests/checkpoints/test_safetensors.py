"""Folders with safetensors files: true bytes by part, held by published totals, and one clear line for broken files.

Files are written with true headers and holes where their tensors would be.
"""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvplan
from kvplan.catalog.models import load_model
from kvplan.checkpoints.model import MTP_UNTOLD
from kvplan.checkpoints.read import read_model
from kvplan.checkpoints.safetensors.header import DTYPE_BITS, Tensor, read_header
from kvplan.checkpoints.safetensors.packing import packing_of
from kvplan.checkpoints.safetensors.shards import read_checkpoint
from kvplan.checkpoints.safetensors.stored import with_checkpoint
from kvplan.checkpoints.safetensors.tensors import part_of
from kvplan.domain.model import Model
from kvplan.errors import InputError, KvplanError
from tests.checkpoints import layouts_kit as layouts
from tests.checkpoints.kit import header_of, write_config, write_raw, write_safetensors, write_shards

SMALL: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "max_position_embeddings": 2048,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
SMALL_TENSORS = layouts.dense(SMALL, layouts.plain("BF16"))
SMALL_WEIGHTS = 139_584
"""2 x 512 x 64 (ends) + 64 + 2 x (2 x 64 x 64 + 2 x 32 x 64 + 3 x 64 x 128 + 2 x 64)"""


def split(tensors: dict[str, Any], shards: int) -> list[dict[str, Any]]:
    items = list(tensors.items())
    each = -(-len(items) // shards)
    return [dict(items[first : first + each]) for first in range(0, len(items), each)]


def folder_of(folder: Path, config: dict[str, Any], tensors: dict[str, Any], shards: int = 2) -> Model:
    write_config(folder, config)
    write_shards(folder, split(tensors, shards))
    return read_model(folder)


def refuse(folder: Path, *words: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_model(folder)
    text = str(caught.value)
    assert "\n" not in text and len(text) < 600
    assert all(word in text for word in words), text
    return caught.value


PUBLISHED = [
    ("Llama-3.1-8B", layouts.LLAMA_8B, layouts.plain("BF16"), {}, 16_060_522_496, 8_030_261_248),
    (
        "Qwen2.5-7B-AWQ", layouts.QWEN_7B, layouts.awq,
        {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 5_570_747_392, 7_615_616_512,
    ),
    (
        "Llama-3.1-8B-NVFP4", layouts.LLAMA_8B, layouts.nvfp4,
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, None, 4_976_808_384,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "config", "linear", "quantization", "total", "elements"), PUBLISHED)
def test_dense_checkpoints_weigh_what_is_published(
    tmp_path: Path, name: str, config: dict[str, Any], linear: Any, quantization: dict[str, Any],
    total: int | None, elements: int,
) -> None:  # fmt: skip
    if quantization:
        config = {**config, "quantization_config": quantization}
    model = folder_of(tmp_path, config, layouts.dense(config, linear), 4)
    assert model.stored is not None
    assert model.stored.elements == elements
    assert total is None or model.stored.total_bytes == total
    assert model.stored.embedding_bytes == 2 * config["vocab_size"] * config["hidden_size"]
    assert model.warnings == ()


def test_gpt_oss_120b(tmp_path: Path) -> None:
    """Bytes of all tensors as its repository has them: 65,248,815,744."""
    model = folder_of(tmp_path, layouts.GPT_OSS_120B, layouts.gpt_oss(layouts.GPT_OSS_120B), 15)
    stored = model.stored
    assert stored is not None and stored.total_bytes == 65_248_815_744
    assert stored.elements == 116_829_156_672
    assert stored.routed_expert_bytes == 60_993_699_840  # 4.25 bits of 36 x 128 x 3 x 2880^2, and their biases
    assert model.warnings == ()


def test_deepseek_v3_and_its_mtp_layer(tmp_path: Path) -> None:
    """Elements as published; the files of the repository hold 688,586,727,753 bytes with their headers."""
    model = folder_of(tmp_path, layouts.DEEPSEEK_V3, layouts.deepseek_v3(layouts.DEEPSEEK_V3), 4)
    stored = model.stored
    assert stored is not None and stored.elements == 684_531_386_000
    assert stored.total_bytes == pytest.approx(688_586_727_753, rel=2e-5)
    assert stored.mtp_bytes == pytest.approx(15.42e9, rel=1e-3)  # layer 61, with copies of embedding and head
    assert model.weights == read_model(tmp_path / "config.json").weights
    assert model.warnings == ()


def test_reading_ninety_thousand_tensors_takes_no_second(tmp_path: Path) -> None:
    """Generous here, because machines differ: 0.75 s where this was written."""
    write_config(tmp_path, layouts.DEEPSEEK_V3)
    write_shards(tmp_path, split(layouts.deepseek_v3(layouts.DEEPSEEK_V3), 163))
    start = time.perf_counter()
    read_model(tmp_path)
    assert time.perf_counter() - start < 6


@pytest.mark.parametrize(("gpus", "share"), [(1, 1), (2, 2)])
def test_the_fit_uses_true_bytes(tmp_path: Path, gpus: int, share: int) -> None:
    """Llama-3.1-8B as NVFP4: what the files hold is what one GPU, or each of two, has to take."""
    config = {**layouts.LLAMA_8B, "quantization_config": PUBLISHED[2][3]}
    total = folder_of(tmp_path, config, layouts.dense(config, layouts.nvfp4)).stored
    found: Any = kvplan.fit(model=str(tmp_path), host="h100-server", gpus=gpus, context=8192, engine="generic")
    assert total is not None
    assert found.to_json()["gpu_memory"]["weight_bytes"] == round(total.total_bytes / share)


def test_a_body_that_is_not_that_of_the_config_is_said(tmp_path: Path) -> None:
    """An embedding with eight rows more than the config says: the files are right about bytes."""
    tensors = {**SMALL_TENSORS, "model.embed_tokens.weight": ("BF16", (520, 64))}
    model = folder_of(tmp_path, SMALL, tensors)
    assert model.stored is not None and model.stored.total_bytes == 2 * (SMALL_WEIGHTS + 8 * 64)
    assert any("140,096" in text and "139,584" in text for text in model.warnings)


@pytest.mark.parametrize(
    "kept",
    [
        ("model.embed_tokens.weight",),
        tuple(name for name in SMALL_TENSORS if "layers" not in name),
        tuple(name for name in SMALL_TENSORS if "layers.1." not in name),
    ],
)
def test_files_that_cover_a_part_of_the_model_are_refused(tmp_path: Path, kept: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        folder_of(tmp_path, SMALL, {name: SMALL_TENSORS[name] for name in kept}, 1)
    assert "the config describes one of 1" in str(error.value) and "config.json" in str(error.value)
    assert "download the files again" in str(error.value.help)


def test_files_of_a_larger_model_are_refused(tmp_path: Path) -> None:
    larger = {**SMALL, "num_hidden_layers": 5}
    with pytest.raises(InputError, match="139,584"):
        folder_of(tmp_path, SMALL, layouts.dense(larger, layouts.plain("BF16")))


def test_a_fifth_more_or_less_is_a_warning(tmp_path: Path) -> None:
    for factor in (0.65, 1.35):  # of an embedding that is 23 % of the model
        tensors = {**SMALL_TENSORS, "model.embed_tokens.weight": ("BF16", (int(512 * factor), 64))}
        model = folder_of(tmp_path, SMALL, tensors)
        assert any("the bytes are those of the files" in text for text in model.warnings)


def test_integers_packed_in_a_way_that_is_not_told_are_believed(tmp_path: Path) -> None:
    """A method that kvplan does not know, with eight weights in each 32-bit integer."""
    unknown = {**SMALL, "quantization_config": {"quant_method": "own", "bits": "four"}}
    tensors = layouts.dense(SMALL, layouts.awq)
    model = folder_of(tmp_path, unknown, tensors)
    assert model.stored is not None and model.stored.total_bytes < 2 * SMALL_WEIGHTS
    assert any("integers of 16 bits and more" in text for text in model.warnings)


@pytest.mark.parametrize("bits", [2, 8])
def test_modules_with_bits_of_their_own_are_believed(tmp_path: Path, bits: int) -> None:
    """GPTQModel's ``dynamic`` gives any module other bits than the file states for all."""

    def linear(name: str, outputs: int, inputs: int) -> Iterator[Any]:
        yield f"{name}.qweight", ("I32", (inputs * bits // 32, outputs))

    mixed = {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"+:.*": {"bits": bits}}}
    tensors = layouts.dense(SMALL, linear)
    folder_of(tmp_path, {**SMALL, "quantization_config": mixed}, tensors)
    with pytest.raises(InputError, match="a text body of"):
        folder_of(tmp_path, {**SMALL, "quantization_config": {**mixed, "dynamic": {}}}, tensors)


def test_integers_that_nothing_explains_are_said(tmp_path: Path) -> None:
    tensors = {**SMALL_TENSORS, "model.layers.0.mlp.up_proj.weight": ("I32", (128, 64))}
    model = folder_of(tmp_path, SMALL, tensors)
    assert any("8,192 integers" in text for text in model.warnings)


def test_packed_weights_of_mlx(tmp_path: Path) -> None:
    """Eight weights in each 32-bit integer, scales and biases for each group of 64: 4.5 bits."""
    config = {**SMALL, "quantization_config": {"group_size": 64, "bits": 4}}
    tensors: dict[str, Any] = {}
    for name, (_, shape) in SMALL_TENSORS.items():
        if len(shape) == 1:
            tensors[name] = ("BF16", shape)
            continue
        stem = name.removesuffix(".weight")
        tensors[name] = ("U32", (shape[0], shape[1] // 8))
        tensors[f"{stem}.scales"] = tensors[f"{stem}.biases"] = ("BF16", (shape[0], shape[1] // 64))
    model = folder_of(tmp_path, config, tensors)
    assert model.stored is not None and model.stored.total_bytes == 4.5 / 8 * (SMALL_WEIGHTS - 5 * 64) + 2 * 5 * 64
    assert not any("text body" in text or "integers" in text for text in model.warnings)


@pytest.mark.parametrize(("number", "words"), [(2, "no MTP heads"), (40, "layers up to 40")])
def test_layers_that_the_config_does_not_have_are_said(tmp_path: Path, number: int, words: str) -> None:
    tensors = {**SMALL_TENSORS, f"model.layers.{number}.mlp.up_proj.weight": ("BF16", (128, 64))}
    model = folder_of(tmp_path, SMALL, tensors)
    assert any(words in text for text in model.warnings)
    assert model.stored is not None and (model.stored.mtp_bytes > 0) == (number == 2)


def test_files_tell_what_the_config_does_not_about_mtp_heads(tmp_path: Path) -> None:
    model = folder_of(tmp_path, SMALL, SMALL_TENSORS)
    model = model._replace(warnings=(f"{MTP_UNTOLD} an MTP head",))
    checkpoint = read_checkpoint(str(tmp_path), packing_of(SMALL))
    assert checkpoint is not None and with_checkpoint(model, checkpoint).warnings == ()


@pytest.mark.parametrize("total", [1, 1000, 2 * SMALL_WEIGHTS // 3, 5 * SMALL_WEIGHTS, 10**12])
def test_a_stated_total_that_can_not_be_is_refused(tmp_path: Path, total: int) -> None:
    folder_of(tmp_path, SMALL, SMALL_TENSORS)
    for shard in tmp_path.glob("*.safetensors"):
        shard.unlink()
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), "metadata": {"total_size": total}}))
    error = refuse(tmp_path, f"{total:,} bytes", f"{2 * SMALL_WEIGHTS:,} bytes")
    assert "download the files again" in str(error.help)


def test_one_file_without_an_index(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    total = write_safetensors(tmp_path / "model.safetensors", SMALL_TENSORS)
    model = read_model(tmp_path)
    assert model.stored is not None and model.stored.total_bytes == total == 2 * SMALL_WEIGHTS
    assert "headers of 1 safetensors file" in model.source
    assert load_model(str(tmp_path)) == model
    alone = read_model(tmp_path / "config.json")
    assert alone.stored is None and alone.weights == model.weights


def test_shards_without_an_index(tmp_path: Path) -> None:
    folder_of(tmp_path, SMALL, SMALL_TENSORS, 3)
    (tmp_path / "model.safetensors.index.json").unlink()
    model = read_model(tmp_path)
    assert model.stored is not None and model.stored.total_bytes == 2 * SMALL_WEIGHTS
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    refuse(tmp_path, "3 files model-*-of-00003.safetensors", "2 of them are here")


@pytest.mark.parametrize("indexed", [True, False])
def test_weights_that_lie_there_twice_are_counted_once(tmp_path: Path, indexed: bool) -> None:
    folder_of(tmp_path, SMALL, SMALL_TENSORS)
    if not indexed:
        (tmp_path / "model.safetensors.index.json").unlink()
    write_safetensors(tmp_path / "consolidated.safetensors", SMALL_TENSORS)
    model = read_model(tmp_path)
    assert model.stored is not None and model.stored.total_bytes == 2 * SMALL_WEIGHTS
    assert any("consolidated.safetensors" in text and "not counted" in text for text in model.warnings)


def test_only_consolidated_files(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    write_safetensors(tmp_path / "consolidated.safetensors", SMALL_TENSORS)
    model = read_model(tmp_path)
    assert model.stored is not None and model.stored.total_bytes == 2 * SMALL_WEIGHTS and not model.warnings


def test_a_folder_without_weights_is_computed(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    assert read_model(tmp_path).stored is None


def test_an_index_alone_gives_the_total(tmp_path: Path) -> None:
    folder_of(tmp_path, SMALL, SMALL_TENSORS)
    for shard in tmp_path.glob("*.safetensors"):
        shard.unlink()
    model = read_model(tmp_path)
    assert model.stored is not None and model.stored.total_bytes == pytest.approx(2 * SMALL_WEIGHTS)
    assert len(model.warnings) == 1 and "none of the 2 files" in model.warnings[0]
    index = tmp_path / "model.safetensors.index.json"
    keys = json.loads(index.read_text())
    index.write_text(json.dumps({**keys, "metadata": {"total_size": 4.0 * SMALL_WEIGHTS}}))
    model = read_model(tmp_path)
    assert model.stored is not None and model.stored.total_bytes == pytest.approx(4 * SMALL_WEIGHTS)
    assert any("stated total" in text for text in model.warnings)
    index.write_text(json.dumps({"weight_map": keys["weight_map"], "metadata": None}))
    model = read_model(tmp_path)
    assert model.stored is None and "no total is stated" in model.warnings[0]


def pointer(size: object) -> str:
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize {size}\n"


@pytest.mark.parametrize("indexed", [True, False])
def test_git_lfs_pointers_give_the_total(tmp_path: Path, indexed: bool) -> None:
    write_config(tmp_path, SMALL)
    if indexed:
        write_shards(tmp_path, split(SMALL_TENSORS, 2))
    for number in (1, 2):
        (tmp_path / f"model-{number:05}-of-00002.safetensors").write_text(pointer(SMALL_WEIGHTS + 1000))
    model = read_model(tmp_path)
    expected = 2 * SMALL_WEIGHTS + (0 if indexed else 2000)
    assert model.stored is not None and model.stored.total_bytes == pytest.approx(expected)
    assert "2 of 2 files are git-lfs pointers" in model.warnings[0]


def test_a_git_lfs_pointer_without_a_size(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    (tmp_path / "model.safetensors").write_text(pointer("-1"))
    refuse(tmp_path, "model.safetensors", "git-lfs pointer")


def test_a_tower_that_the_config_does_not_describe_is_weighed(tmp_path: Path) -> None:
    text = {**SMALL, "model_type": "mistral"}
    config = {"model_type": "mistral3", "torch_dtype": "bfloat16", "text_config": text}
    tower = {"vision_tower.layers.0.attention.q_proj.weight": ("BF16", (64, 64)),
             "multi_modal_projector.linear_1.weight": ("BF16", (64, 64))}  # fmt: skip
    body = layouts.dense(SMALL, layouts.plain("BF16"), prefix="language_model.model.")
    body["language_model.lm_head.weight"] = body.pop("lm_head.weight")
    write_config(tmp_path, config)
    assert read_model(tmp_path).tower_elements_unknown
    model = folder_of(tmp_path, config, {**tower, **body})
    assert model.stored is not None and model.stored.tower_bytes == 2 * 2 * 64 * 64
    assert not model.tower_elements_unknown and not model.warnings and model.weights.towers == 2 * 64 * 64
    for shard in tmp_path.glob("*.safetensors"):
        shard.unlink()
    total = read_model(tmp_path)
    assert total.stored is not None and total.stored.tower_bytes == 2 * 2 * 64 * 64
    assert not total.tower_elements_unknown


def test_a_tied_head_that_is_stored_again_is_loaded_once(tmp_path: Path) -> None:
    model = folder_of(tmp_path, {**SMALL, "tie_word_embeddings": True}, SMALL_TENSORS)
    assert model.stored is not None
    assert model.stored.total_bytes == 2 * (SMALL_WEIGHTS - 512 * 64) and model.stored.elements == SMALL_WEIGHTS
    assert any("counted once" in text for text in model.warnings)


def test_a_head_that_is_not_stored_is_the_embedding(tmp_path: Path) -> None:
    tensors = {name: entry for name, entry in SMALL_TENSORS.items() if name != "lm_head.weight"}
    model = folder_of(tmp_path, SMALL, tensors)
    assert model.weights.lm_head == 0 and any("no output head" in text for text in model.warnings)


@pytest.mark.parametrize(("dtype", "scheme"), [("BF16", "bf16"), ("F16", "fp16"), ("F32", "fp32"), ("F8_E4M3", "fp8")])
def test_the_dtype_of_the_tensors_where_the_config_has_none(tmp_path: Path, dtype: str, scheme: str) -> None:
    config = {name: value for name, value in SMALL.items() if name != "torch_dtype"}
    model = folder_of(tmp_path, config, layouts.dense(SMALL, layouts.plain(dtype), dtype=dtype))
    assert model.dtype == scheme and not model.warnings
    assert model.stored is not None and model.stored.total_bytes == SMALL_WEIGHTS * DTYPE_BITS[dtype] // 8


def test_32_bit_files_are_loaded_as_the_config_says(tmp_path: Path) -> None:
    model = folder_of(tmp_path, SMALL, layouts.dense(SMALL, layouts.plain("F32"), dtype="F32"))
    assert model.stored is not None and model.stored.total_bytes == 2 * SMALL_WEIGHTS
    assert any("32-bit" in text for text in model.warnings)


def test_files_settle_what_the_config_alone_does_not(tmp_path: Path) -> None:
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
             "quantized_layers": {"model.layers.0.mlp.up_proj": {"quant_algo": "FP8"}}}  # fmt: skip
    tensors = {**SMALL_TENSORS, "model.layers.0.mlp.up_proj.weight": ("F8_E4M3", (128, 64))}
    model = folder_of(tmp_path, {**SMALL, "quantization_config": mixed}, tensors)
    assert model.stored is not None and model.stored.total_bytes == 2 * SMALL_WEIGHTS - 128 * 64
    assert model.dtype == "bf16" and any("bytes are those of the files" in text for text in model.warnings)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("model.layers.3.mlp.experts.17.up_proj.weight", "experts"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "dense"),
        ("model.layers.3.mlp.shared_expert_gate.weight", "dense"),
        ("model.layers.3.block_sparse_moe.experts.0.w1.weight", "experts"),
        ("model.layers.3.mlp.gate.e_score_correction_bias", "dense"),
        ("language_model.model.layers.0.feed_forward.experts.gate_up_proj", "experts"),
        ("transformer.wte.weight", "embedding"),
        ("model.tok_embeddings.weight", "embedding"),
        ("transformer.embedding.word_embeddings.weight", "embedding"),
        ("model.language_model.embed_tokens_per_layer.weight", "lookup"),
        ("model.visual.blocks.0.attn.qkv.weight", "tower"),
        ("vision_tower.vision_model.embeddings.patch_embedding.weight", "tower"),
        ("thinker.audio_tower.layers.0.fc1.weight", "tower"),
        ("mm_projector.proj.0.weight", "tower"),
        ("mtp.layers.0.mlp.experts.3.up_proj.weight", "mtp"),
        ("model.mtp_layers.0.eh_proj.weight", "mtp"),
        ("output.weight", "head"),
        ("model.language_model.lm_head.weight", "head"),
        ("model.layers.0.self_attn.o_proj.weight", "dense"),
        ("weight", "dense"),
        ("", "dense"),
    ],
)
def test_parts_by_name(name: str, part: str) -> None:
    assert part_of(name) == part


def test_links_as_in_a_download_cache(tmp_path: Path) -> None:
    blobs = tmp_path / "blobs"
    snapshot = tmp_path / "snapshot"
    blobs.mkdir(), snapshot.mkdir()
    write_config(snapshot, SMALL)
    write_safetensors(blobs / "abc", SMALL_TENSORS)
    (snapshot / "model.safetensors").symlink_to("../blobs/abc")
    model = read_model(snapshot)
    assert model.stored is not None and model.stored.total_bytes == 2 * SMALL_WEIGHTS


# What is refused, in one line that names the file.


def small_folder(folder: Path) -> Path:
    """A folder whose first shard a test breaks."""
    folder_of(folder, SMALL, SMALL_TENSORS)
    return folder / "model-00001-of-00002.safetensors"


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    shard = small_folder(tmp_path)
    whole = shard.stat().st_size
    os.truncate(shard, whole - 1)
    error = refuse(tmp_path, str(shard), f"promises {whole:,} bytes", f"has {whole - 1:,}")
    assert error.help == "download it again"
    os.truncate(shard, 20)
    refuse(tmp_path, str(shard), "cut off", "has 20")
    os.truncate(shard, 5)
    refuse(tmp_path, str(shard), "cut off", "5 bytes")
    os.truncate(shard, 0)
    refuse(tmp_path, str(shard), "cut off", "0 bytes")


def test_a_file_with_bytes_behind_its_tensors(tmp_path: Path) -> None:
    shard = small_folder(tmp_path)
    whole = shard.stat().st_size
    os.truncate(shard, whole + 7)
    refuse(tmp_path, str(shard), f"{whole + 7:,} bytes", f"{whole:,} of them")


def test_missing_shards(tmp_path: Path) -> None:
    small_folder(tmp_path).unlink()
    refuse(tmp_path, "index.json", "names 2 files", "1 of them", "model-00001-of-00002.safetensors")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weight_map": {"a.weight": "model-00001-of-00002.safetensors"}}, ("does not hold tensor 'a.weight'",)),
        ({"weight_map": {}}, ("weight_map",)),
        ({"weight_map": None}, ("weight_map",)),
        ({"weight_map": ["a"]}, ("weight_map",)),
        ({"weight_map": {"a": "../config.json"}}, ("same folder",)),
        ({"weight_map": {"a": "/dev/zero"}}, ("same folder",)),
        ({"weight_map": {"a": "../x.safetensors"}}, ("same folder",)),
        ({"weight_map": {"a": 7}}, ("same folder", "7")),
        ({"weight_map": {str(number): f"{number}.safetensors" for number in range(5000)}}, ("5,000 files",)),
        ({"metadata": {"total_size": "many"}}, ("total_size", "many")),
        ({"metadata": {"total_size": float("nan")}}, ("total_size",)),
        ({"metadata": {"total_size": -1}}, ("total_size",)),
        ({"metadata": {"total_size": 10**30}}, ("total_size",)),
    ],
)
def test_an_index_that_is_wrong(tmp_path: Path, change: dict[str, Any], words: tuple[str, ...]) -> None:
    small_folder(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({**json.loads(index.read_text()), **change}))
    refuse(tmp_path, *words)


def test_an_index_that_is_no_json(tmp_path: Path) -> None:
    small_folder(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    for text in ("", "[]", "{", "[" * 100_000, '{"weight_map": ' * 5000, "\x00\xff"):
        index.write_bytes(text.encode("latin-1"))
        refuse(tmp_path, "index.json")


def test_a_tensor_in_two_files(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    write_safetensors(tmp_path / "a.safetensors", SMALL_TENSORS)
    write_safetensors(tmp_path / "b.safetensors", {"lm_head.weight": ("BF16", (512, 64))})
    refuse(tmp_path, "b.safetensors", "'lm_head.weight'", "a.safetensors")


def test_files_without_tensors(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    write_raw(tmp_path / "model.safetensors", b"{}", 0)
    refuse(tmp_path, "no tensors")


ONE = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
BROKEN_HEADERS = [
    (b"", 0, ("not valid JSON",)),
    (b"[]", 0, ("no JSON object",)),
    (b"{", 0, ("not valid JSON",)),
    (b"\xff\xfe", 0, ("not a text file",)),
    (b"[" * 200_000, 0, ("nested too deeply",)),
    (b'{"a":' * 50_000, 0, ("nested too deeply",)),
    (b'{"a": ' + b"9" * 10_000 + b"}", 0, ("not valid JSON",)),
    (b'{"a": 1}', 0, ("'a'", "must state")),
    (b'{"a": null}', 0, ("'a'", "must state")),
    (b'{"a": {"dtype": "F32"}}', 0, ("'a'", "must state")),
    (b'{"a": 1, "a": 2}', 0, ("'a' twice",)),
    (json.dumps({"a": {**ONE, "dtype": "F33"}}), 24, ("'a'", "F33")),
    (json.dumps({"a": {**ONE, "dtype": {"a": [1]}}}), 24, ("'a'", "dtype")),
    (json.dumps({"a": {**ONE, "shape": [2, -3]}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": [2, 3.0]}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": [True, 6]}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": [10**30]}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": [float("nan")]}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": "2,3"}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": [1] * 100}}), 24, ("shape",)),
    (json.dumps({"a": {**ONE, "shape": [2**52] * 64}}), 24, ("24 bytes",)),
    (json.dumps({"a": {**ONE, "shape": [2, 4]}}), 24, ("24 bytes", "2 x 4 elements of F32")),
    (json.dumps({"a": {**ONE, "data_offsets": [24, 0]}}), 24, ("data_offsets",)),
    (json.dumps({"a": {**ONE, "data_offsets": [0, 24, 48]}}), 24, ("data_offsets",)),
    (json.dumps({"a": {**ONE, "data_offsets": [-24, 0]}}), 24, ("data_offsets",)),
    (json.dumps({"a": {**ONE, "data_offsets": {"0": 24}}}), 24, ("data_offsets",)),
    (json.dumps({"a": ONE, "b": {**ONE, "data_offsets": [12, 36]}}), 36, ("'b'", "overlaps")),
    (json.dumps({"a": ONE, "b": ONE}), 24, ("overlaps",)),
    (json.dumps({"a": ONE, "b": {**ONE, "data_offsets": [32, 56]}}), 56, ("'b'", "gap")),
    (json.dumps({"a": {**ONE, "data_offsets": [8, 32]}}), 32, ("gap",)),
    (json.dumps({"a" * 5000: ONE}), 24, ("5,000 characters",)),
    (json.dumps({"a": {**ONE, "shape": [2**50], "data_offsets": [0, 2**52]}}), 24, ("cut off",)),
    (json.dumps({"\ud800\x1b[31m": {}}), 0, ("must state",)),
]


@pytest.mark.parametrize(("header", "data_bytes", "words"), BROKEN_HEADERS, ids=range(len(BROKEN_HEADERS)))
def test_a_header_that_is_wrong(tmp_path: Path, header: bytes | str, data_bytes: int, words: tuple[str, ...]) -> None:
    write_config(tmp_path, SMALL)
    text = header if isinstance(header, bytes) else header.encode()
    write_raw(tmp_path / "model.safetensors", text, data_bytes)
    error = refuse(tmp_path, str(tmp_path / "model.safetensors"), *words)
    assert "\x1b" not in str(error)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 100_000_001])
def test_a_header_beyond_the_limit_of_the_format(tmp_path: Path, length: int) -> None:
    write_config(tmp_path, SMALL)
    write_raw(tmp_path / "model.safetensors", b"{}", 2**34, length=length)
    refuse(tmp_path, f"{length:,}", "100 MB")


def test_a_header_longer_than_the_file(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    write_raw(tmp_path / "model.safetensors", b"{}", 0, length=1000)
    refuse(tmp_path, "cut off", "at least 1,008", "has 10")


def test_a_header_of_zeros_takes_bounded_memory(tmp_path: Path) -> None:
    """100 MB of a hole, and 100 MB of empty lists: refused before they are parsed."""
    write_config(tmp_path, SMALL)
    write_raw(tmp_path / "model.safetensors", b"", 10**8, length=10**8)
    refuse(tmp_path, "model.safetensors")
    write_raw(tmp_path / "model.safetensors", b'{"a":[' + b"[]," * 6_000_000 + b"1]}", 0)
    tracemalloc.start()
    start = time.perf_counter()
    refuse(tmp_path, "too many for a safetensors header")
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()
    assert time.perf_counter() - start < 5


def test_things_that_are_no_files(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    weights = tmp_path / "model.safetensors"
    weights.mkdir()
    refuse(tmp_path, str(weights), "is a folder")
    weights.rmdir()
    os.mkfifo(weights)
    refuse(tmp_path, str(weights), "not a regular file")
    weights.unlink()
    weights.symlink_to("model.safetensors")
    refuse(tmp_path, str(weights), "can't be read")
    weights.unlink()
    weights.symlink_to("/dev/zero")
    refuse(tmp_path, str(weights), "not a regular file")
    weights.unlink()
    weights.symlink_to("absent")
    error = refuse(tmp_path, str(weights), "broken link", "no such file absent")
    assert "config.json" not in str(error.help)


def test_an_index_that_is_a_pipe(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    os.mkfifo(tmp_path / "model.safetensors.index.json")
    refuse(tmp_path, "not a regular file")


def test_too_many_files(tmp_path: Path) -> None:
    write_config(tmp_path, SMALL)
    for number in range(4100):
        (tmp_path / f"{number}.safetensors").touch()
    refuse(tmp_path, "4,100 safetensors files")


def test_zero_dimensions_and_every_dtype(tmp_path: Path) -> None:
    """Scalars have one element, an empty side none; sub-byte types are packed."""
    tensors: dict[str, Any] = {name: (name, (8, 2)) for name in DTYPE_BITS}
    tensors.update(scalar=("F32", ()), empty=("F32", (0, 7)))
    write_safetensors(tmp_path / "x.safetensors", tensors)
    found = {tensor.name: tensor for tensor in headers(tmp_path / "x.safetensors")}
    assert all(found[name].span_bytes == 2 * bits for name, bits in DTYPE_BITS.items())
    assert found["scalar"].elements == 1 and found["empty"].span_bytes == 0


def headers(path: Path) -> Iterator[Tensor]:
    found = read_header(str(path), str(path))
    assert isinstance(found, list)
    yield from found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
ENTRY = st.fixed_dictionaries({
    "dtype": st.sampled_from([*DTYPE_BITS, "X"]) | VALUES,
    "shape": st.lists(st.integers(-1, 9), max_size=3) | VALUES,
    "data_offsets": st.lists(st.integers(-1, 60), max_size=3) | VALUES,
})  # fmt: skip


@settings(max_examples=150)
@given(st.dictionaries(st.text(max_size=6), ENTRY | VALUES, max_size=4), st.integers(0, 80))
def test_any_header_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, Any], data_bytes: int
) -> None:
    path = write_raw(tmp_path_factory.getbasetemp() / "fuzz.safetensors", json.dumps(header).encode(), data_bytes)
    check(path)


@settings(max_examples=100)
@given(st.binary(max_size=80))
def test_any_bytes_are_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.safetensors"
    path.write_bytes(data)
    check(path)


@settings(max_examples=60)
@given(st.integers(0, 400), st.integers(0, 255))
def test_one_changed_byte(tmp_path_factory: pytest.TempPathFactory, place: int, value: int) -> None:
    header, data_bytes = header_of({"a": ("F32", (2, 3)), "b": ("U8", (16,))})
    text = bytearray(json.dumps(header).encode())
    text[place % len(text)] = value
    path = write_raw(tmp_path_factory.getbasetemp() / "changed.safetensors", bytes(text), data_bytes)
    check(path)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(["quantization_config", "text_config", "expert_dtype"]), st.recursive(
    VALUES, lambda inner: st.dictionaries(st.sampled_from(
        ["quantization_config", "quant_method", "quant_algo", "config_groups", "weights", "num_bits", "type", "bits",
         "quant_config", "weight_quant_params", "nbits", "a"]), inner, max_size=4), max_leaves=8)))  # fmt: skip
def test_any_config_tells_how_to_count(keys: dict[str, Any]) -> None:
    bits = packing_of(keys).bits
    assert bits is None or 1 <= bits <= 32


def check(path: Path) -> None:
    try:
        found = read_header(str(path), str(path))
    except KvplanError as error:
        assert "\n" not in str(error) and len(str(error)) < 600
    else:
        assert not isinstance(found, list) or sum(item.span_bytes for item in found) <= path.stat().st_size
