"""Whatever a file holds, the answer is a model or one clear line: never a traceback, a hang or a silly number."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan.checkpoints.files import LARGEST_CONFIG_BYTES
from kvplan.checkpoints.model import model_from_config
from kvplan.checkpoints.read import read_model
from kvplan.errors import InputError, KvplanError

GOOD: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}  # fmt: skip
NEEDED = ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
BAD_NUMBERS = [0, -1, 10**30, 1.5, float("nan"), float("inf"), "32", True, [32], {"a": 1}]


def write(folder: Path, content: str | bytes, name: str = "config.json") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def one_line(error: KvplanError) -> str:
    text = str(error)
    assert "\n" not in text and len(text) < 600
    assert error.exit_code in (2, 3)
    return text


def refuse(path: Path, *words: str) -> None:
    with pytest.raises(KvplanError) as caught:
        read_model(path)
    text = one_line(caught.value)
    assert all(word in text for word in words), text


@pytest.mark.parametrize("key", NEEDED)
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    path = write(tmp_path, json.dumps({name: value for name, value in GOOD.items() if name != key}))
    refuse(path, str(path), key, "missing")


@pytest.mark.parametrize("key", [*NEEDED, "num_key_value_heads", "max_position_embeddings"])
@pytest.mark.parametrize("value", BAD_NUMBERS, ids=repr)
def test_a_bad_number_names_file_and_key(tmp_path: Path, key: str, value: object) -> None:
    path = write(tmp_path, json.dumps({**GOOD, key: value}))
    refuse(path, str(path), key)


def test_a_whole_float_is_a_count(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({**GOOD, "num_hidden_layers": 16.0}))
    assert read_model(path).layers == 16


@pytest.mark.parametrize(
    "content",
    [b"", b"  \n", b"\x00\x01\x02\xff\xfe", b"[1, 2]", b'"text"', b"null", b"{", b"{'a': 1}", b"[" * 100_000,
     b'{"a":' * 50_000, b'{"model_type": "llama", "hidden_size": ' + b"9" * 10_000 + b"}", b'{"model_type": 7}',
     b"{}", b'{"model_type": ""}', b'{"model_type": "llama", "text_config": 3}'],
    ids=range(15),
)  # fmt: skip
def test_files_that_are_no_config(tmp_path: Path, content: bytes) -> None:
    refuse(write(tmp_path, content))


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    refuse(tmp_path, "config.json", "no such file")


def test_a_config_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()
    refuse(tmp_path, "folder")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    refuse(tmp_path / "absent.json", "no such file")


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    refuse(tmp_path / "a.json", "can't be read")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    refuse(tmp_path, "not a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(GOOD))
    path.chmod(0)
    refuse(path, "ermission")


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as stream:
        stream.truncate(2**30)
    start = time.perf_counter()
    refuse(path, "too large")
    assert time.perf_counter() - start < 2
    assert LARGEST_CONFIG_BYTES < 2**30


def test_a_name_with_a_null_byte_or_control_characters() -> None:
    for name in ("a\0b.json", "\x1b[31mred.json", "\udcff.json"):
        with pytest.raises(InputError) as caught:
            read_model(name)
        assert "\x1b" not in one_line(caught.value)


@pytest.mark.parametrize("name", ["model.gguf", "model.GGUF"])
def test_a_gguf_file_that_ends_after_its_magic(tmp_path: Path, name: str) -> None:
    refuse(write(tmp_path, b"GGUF\x03\x00\x00\x00", name), "GGUF")


@pytest.mark.parametrize("name", ["model-Q4_K_M.gguf", "config.json"])
def test_a_git_lfs_pointer(tmp_path: Path, name: str) -> None:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 4920734272\n"
    with pytest.raises(InputError, match="is a git-lfs pointer") as caught:
        read_model(write(tmp_path, text, name))
    assert caught.value.help == "git lfs pull"


def test_a_broken_link_is_named(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.symlink_to("../blobs/abc")
    for place in (path, tmp_path):
        refuse(place, "config.json", "broken link", "../blobs/abc")


def test_a_folder_of_gguf_files(tmp_path: Path) -> None:
    write(tmp_path, b"GGUF", "model-Q4_K_M.gguf")
    with pytest.raises(InputError, match="no config.json") as caught:
        read_model(tmp_path)
    assert "model-Q4_K_M.gguf" in str(caught.value.help)


def test_gguf_under_another_name(tmp_path: Path) -> None:
    refuse(write(tmp_path, b"GGUF\x03\x00\x00\x00", "weights"), "GGUF")


def test_weights_lead_to_the_config_beside_them(tmp_path: Path) -> None:
    refuse(write(tmp_path, b"\x00" * 16, "model-00001-of-00002.safetensors"), "config.json")
    refuse(write(tmp_path, "{}", "model.safetensors.index.json"), "index of weights")


def test_heads_that_do_not_divide(tmp_path: Path) -> None:
    refuse(write(tmp_path, json.dumps({**GOOD, "num_key_value_heads": 7})), "32 attention heads", "7 KV heads")
    refuse(write(tmp_path, json.dumps({**GOOD, "hidden_size": 2049})), "head_dim is missing")


def test_sizes_that_no_model_has(tmp_path: Path) -> None:
    refuse(write(tmp_path, json.dumps({**GOOD, "hidden_size": 2**40, "vocab_size": 2**40})), "2^53")


def test_many_layers_do_not_take_long(tmp_path: Path) -> None:
    refuse(write(tmp_path, json.dumps({**GOOD, "num_hidden_layers": 10**9})), "num_hidden_layers")


def test_a_model_inside_a_model_inside_a_model(tmp_path: Path) -> None:
    config: dict[str, Any] = dict(GOOD)
    for _ in range(300):
        config = {"model_type": "llava", "text_config": config}
    refuse(write(tmp_path, json.dumps(config)))


def test_names(tmp_path: Path) -> None:
    folder = tmp_path / "my-llama"
    folder.mkdir()
    write(folder, json.dumps(GOOD))
    write(folder, json.dumps(GOOD), "other.json")
    assert read_model(folder).name == read_model(folder / "config.json").name == "my-llama"
    assert read_model(str(folder) + "/").name == "my-llama"
    assert read_model(folder / "other.json").name == "other"
    write(folder, json.dumps({**GOOD, "_name_or_path": "org/Model-1B"}))
    assert read_model(folder).name == "org/Model-1B"
    write(folder, json.dumps({**GOOD, "_name_or_path": "/home/someone/checkpoint"}))
    assert read_model(folder).name == "my-llama"


def test_the_quantization_file_of_modelopt(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(GOOD))
    write(tmp_path, json.dumps({"quantization": {"quant_algo": "NVFP4"}}), "hf_quant_config.json")
    assert read_model(tmp_path).dtype == "nvfp4"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    *GOOD, "head_dim", "sliding_window", "layer_types", "sliding_window_pattern", "quantization_config", "rope_scaling",
    "text_config", "vision_config", "tie_word_embeddings", "num_experts", "num_experts_per_tok", "kv_lora_rank",
    "moe_intermediate_size", "mlp_only_layers", "max_window_layers", "use_sliding_window", "attn_config", "ffn_config",
    "hybrid_layer_pattern", "num_nextn_predict_layers", "torch_dtype", "attention_bias", "thinker_config",
    "layers_block_type", "hybrid_override_pattern", "attn_type_list", "full_attn_idxs", "attn_layer_indices",
    "attn_layer_period", "attn_layer_offset", "linear_attn_config", "linear_num_key_heads", "linear_conv_kernel_dim",
    "mamba_n_heads", "mamba_d_head", "mamba_d_ssm", "mamba_d_state", "mamba_dt_rank", "mamba_num_heads", "expand",
    "state_size", "conv_L_cache", "block_ffn_dim_multiplier", "mamba_ssm_dtype", "moe_latent_size", "num_heads",
]  # fmt: skip
TYPES = ["llama", "qwen2", "qwen3_moe", "gemma3", "mistral3", "deepseek_v3", "gpt_oss", "exaone4", "falcon", "dbrx",
         "hunyuan", "mimo_v2_flash", "qwen2_vl", "glm4_moe", "llava", "chatglm", "qwen3_next", "qwen3_5_text",
         "granitemoehybrid", "bamba", "falcon_h1", "jamba", "nemotron_h", "lfm2", "lfm2_moe", "kimi_linear",
         "minimax_m1", "mamba", "mamba2", "zamba2", "olmo_hybrid"]  # fmt: skip


@settings(max_examples=600)
@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6))
def test_any_json_is_a_model_or_one_clear_line(model_type: str, keys: dict[str, Any]) -> None:
    config = {**GOOD, **keys, "model_type": model_type}
    try:
        model = model_from_config(config, name="x", where="x/config.json", source="x")
    except KvplanError as error:
        one_line(error)
    else:
        assert model.weights.total > 0 and model.layers > 0
        assert all(kind.layers > 0 and (kind.elements_per_token > 0 or kind.state is not None) for kind in model.kv)
