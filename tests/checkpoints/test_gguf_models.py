"""GGUF files -> models: KV bytes against the published architectures, weight bytes against llama.cpp's own table.

The expected KV and state bytes are those of tests/truth/model_facts.jsonl and of the models' own config.json files,
not results of this reader.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvplan.checkpoints.gguf import read_gguf
from kvplan.domain.model import KvLayers, Model
from kvplan.domain.weight_scheme import SCHEMES
from tests.checkpoints import gguf_kit as kit

DIMS = {"embedding_length": 4096, "feed_forward_length": 8192, "vocab_size": 1000, "context_length": 131072}


def model(folder: Path, architecture: str, own: dict[str, Any], *tensors: str, **general: Any) -> Model:
    blocks = own.get("block_count", 1)
    keys = kit.keys(architecture, {**DIMS, **own}, **general)
    return read_gguf(kit.write(folder / "model.gguf", keys, kit.small(blocks, *tensors)))


def heads(query: int, kv: Any, key: int | None = None, value: int | None = None) -> dict[str, Any]:
    found = {"attention.head_count": query, "attention.head_count_kv": kv}
    if key is not None:
        found |= {"attention.key_length": key, "attention.value_length": key if value is None else value}
    return found


def one_bytes(kind: KvLayers) -> int:
    return kind.layers * (kind.index_bytes or 2 * kind.elements_per_token)


def kv_bytes(found: Model) -> tuple[int, int]:
    """(bytes a token once windows are full, bytes a token before that), 16 bits."""
    growing = sum(one_bytes(kind) for kind in found.kv if kind.grows)
    return growing, sum(one_bytes(kind) for kind in found.kv if kind.state is None)


def state_bytes(found: Model, recurrent: int = 2) -> int:
    states = [kind for kind in found.kv if kind.state is not None]
    return sum(
        kind.layers * (2 * kind.state.conv_elements + recurrent * kind.state.recurrent_elements)
        for kind in states
        if kind.state is not None
    )


MLA = {"attention.kv_lora_rank": 512, "rope.dimension_count": 64, "attention.key_length_mla": 192,
       "attention.value_length_mla": 128}  # fmt: skip
GRANITE = [8 if layer in (5, 15, 25, 35) else 0 for layer in range(40)]
NEMOTRON = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
LFM2 = [8 if layer in (2, 5, 8, 10, 12, 14) else 0 for layer in range(16)]
MIMO = [layer not in (0, 5, 11, 17, 23, 29, 35, 41, 47) for layer in range(48)]
GEMMA4 = [layer % 6 != 5 for layer in range(60)]
KIMI = [1 if layer in (3, 7, 11, 15, 19, 23, 26) else 0 for layer in range(27)]
GROWING = [
    ("llama", {"block_count": 32, **heads(32, 8)}, 131_072, 131_072),
    ("qwen3", {"block_count": 64, **heads(64, 8, 128)}, 262_144, 262_144),
    ("gemma2", {"block_count": 46, **heads(32, 16, 128), "embedding_length": 4608}, 188_416, 376_832),
    ("gemma3", {"block_count": 62, **heads(32, 16, 128), "attention.sliding_window": 1024}, 81_920, 507_904),
    ("gemma3n", {"block_count": 35, **heads(8, 2, 256), "attention.sliding_window": 512}, 8_192, 40_960),
    ("gemma3n", {"block_count": 35, **heads(8, 2, 256), "attention.sliding_window": 512,
                 "attention.shared_kv_layers": 15, "attention.sliding_window_pattern": [i % 5 < 4 for i in range(35)]},
     8_192, 40_960),
    ("gemma4", {"block_count": 60, **heads(32, [16 if slides else 4 for slides in GEMMA4], 512),
                "attention.sliding_window": 1024, "attention.sliding_window_pattern": GEMMA4,
                "attention.key_length_swa": 256, "attention.value_length_swa": 256, "attention.shared_kv_layers": 0},
     81_920, 901_120),
    ("gpt-oss", {"block_count": 36, **heads(64, 8, 64), "attention.sliding_window": 128}, 36_864, 73_728),
    ("llama4", {"block_count": 48, **heads(40, 8, 128)}, 49_152, 196_608),
    ("cohere2", {"block_count": 64, **heads(96, 8, 128), "attention.sliding_window": 4096}, 65_536, 262_144),
    ("exaone4", {"block_count": 64, **heads(40, 8, 128)}, 65_536, 262_144),
    ("olmo2", {"block_count": 64, **heads(40, 8, 128), "attention.sliding_window": 4096}, 65_536, 262_144),
    ("mimo2", {"block_count": 48, **heads(64, [8 if slides else 4 for slides in MIMO], 192, 128),
               "attention.sliding_window": 128, "attention.sliding_window_pattern": MIMO}, 23_040, 222_720),
    ("deepseek2", {"block_count": 61, **heads(128, 1, 576, 512), **MLA}, 70_272, 70_272),
    ("glm4moe", {"block_count": 47, **heads(96, 8, 128), "nextn_predict_layers": 1}, 188_416, 188_416),
    ("falcon", {"block_count": 32, **heads(71, 1), "embedding_length": 4544}, 8_192, 8_192),
    ("phi3", {"block_count": 32, **heads(32, 32), "embedding_length": 3072, "attention.sliding_window": 2047},
     393_216, 393_216),
]  # fmt: skip


@pytest.mark.parametrize(("architecture", "own", "growing", "before"), GROWING, ids=[row[0] for row in GROWING])
def test_kv_bytes_of_known_models(
    tmp_path: Path, architecture: str, own: dict[str, Any], growing: int, before: int
) -> None:
    assert kv_bytes(model(tmp_path, architecture, own)) == (growing, before)


SSM = {"ssm.conv_kernel": 4}
HYBRIDS = [
    ("granitehybrid", {"block_count": 40, **heads(32, GRANITE, 128), **SSM, "ssm.inner_size": 8192,
                       "ssm.state_size": 128, "ssm.group_count": 1, "ssm.time_step_rank": 128}, 16_384, 77_322_240, 2),
    ("nemotron_h_moe", {"block_count": 52, **heads(32, [2 * (mixer == "*") for mixer in NEMOTRON], 128), **SSM,
                        "feed_forward_length": [1856 * (mixer == "E") for mixer in NEMOTRON], "ssm.inner_size": 4096,
                        "ssm.state_size": 128, "ssm.group_count": 8, "ssm.time_step_rank": 64}, 6_144, 49_082_368, 4),
    ("jamba", {"block_count": 72, **heads(64, [8 if layer % 8 == 4 else 0 for layer in range(72)], 128), **SSM,
               "ssm.inner_size": 16384, "ssm.state_size": 16, "ssm.time_step_rank": 512}, 36_864, 39_223_296, 2),
    ("falcon-h1", {"block_count": 72, **heads(20, 4, 128), **SSM, "ssm.inner_size": 4096, "ssm.state_size": 256,
                   "ssm.group_count": 2, "ssm.time_step_rank": 32}, 147_456, 153_206_784, 2),
    ("qwen3next", {"block_count": 48, **heads(16, 2, 256), **SSM, "ssm.inner_size": 4096, "ssm.state_size": 128,
                   "ssm.group_count": 16, "ssm.time_step_rank": 32, "full_attention_interval": 4},
     24_576, 39_518_208, 2),
    ("qwen35", {"block_count": 64, **heads(24, 4, 256), **SSM, "ssm.inner_size": 6144, "ssm.state_size": 128,
                "ssm.group_count": 16, "ssm.time_step_rank": 48, "full_attention_interval": 4},
     65_536, 153_944_064, 4),
    ("kimi-linear", {"block_count": 27, **heads(32, KIMI, 576, 512), **MLA, **SSM, "kda.head_dim": 128},
     8_064, 43_417_600, 4),
    ("lfm2", {"block_count": 16, **heads(32, LFM2, 64), "embedding_length": 2048, "shortconv.l_cache": 3},
     12_288, 81_920, 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("architecture", "own", "growing", "state", "recurrent"), HYBRIDS, ids=[row[0] for row in HYBRIDS]
)
def test_states_of_known_hybrids(
    tmp_path: Path, architecture: str, own: dict[str, Any], growing: int, state: int, recurrent: int
) -> None:
    found = model(tmp_path, architecture, own)
    assert kv_bytes(found) == (growing, growing)
    assert state_bytes(found, recurrent) == state


def test_the_tensors_say_which_layers_are_recurrent(tmp_path: Path) -> None:
    """A file with layers added in the middle (RYS) does not keep the interval that its keys state."""
    own = next(own for name, own, *_ in HYBRIDS if name == "qwen35")
    names = [f"blk.{layer}.ssm_conv1d.weight" for layer in range(60)]
    found = model(tmp_path, "qwen35", own, *names)
    assert [(kind.kind, kind.layers) for kind in found.kv] == [("full", 4), ("gdn", 60)]


def test_mamba_has_states_and_no_kv(tmp_path: Path) -> None:
    own = {"block_count": 64, "attention.head_count": 0, **SSM, "ssm.inner_size": 5120, "ssm.state_size": 16,
           "ssm.time_step_rank": 160}  # fmt: skip
    found = model(tmp_path, "mamba", own)
    assert kv_bytes(found) == (0, 0)
    assert state_bytes(found) == 64 * 2 * (5120 * 3 + 5120 * 16)


def test_an_old_deepseek_file_is_cached_expanded(tmp_path: Path) -> None:
    """DeepSeek-V3 before the latent keys: 128 heads of 192 + 128 elements, 71 times the latent."""
    own = {"block_count": 61, **heads(128, 128, 192, 128), "attention.kv_lora_rank": 512, "rope.dimension_count": 64}
    found = model(tmp_path, "deepseek2", own)
    assert [kind.kind for kind in found.kv] == ["full"]
    assert kv_bytes(found)[0] == 61 * 128 * (192 + 128) * 2
    assert "converted again" in found.warnings[0]


def test_glm_5_2_indexes_only_some_layers(tmp_path: Path) -> None:
    own = {"block_count": 79, "nextn_predict_layers": 1, **heads(64, 1, 576, 512), **MLA,
           "attention.indexer.head_count": 32, "attention.indexer.key_length": 128,
           "attention.indexer.top_k": 2048}  # fmt: skip
    owners = [0, 1, 2, *range(6, 78, 4)]
    found = model(tmp_path, "glm-dsa", own, *(f"blk.{layer}.indexer.attn_k.weight" for layer in owners))
    assert kv_bytes(found)[0] == 92_628
    assert found.kv[0].read_tokens == 2048


def test_mtp_blocks_have_no_kv_of_their_own(tmp_path: Path) -> None:
    own = {"block_count": 47, **heads(96, 8, 128), "nextn_predict_layers": 1}
    parts = ("ffn_up_exps.weight", "nextn.eh_proj.weight", "attn_q.weight")
    found = model(tmp_path, "glm4moe", own, *(f"blk.46.{part}" for part in parts))
    assert found.layers == 46
    assert [(kind.kind, kind.layers) for kind in found.mtp_kv] == [("full", 1)]
    assert (found.weights.mtp, found.weights.mtp_kept, found.weights.mtp_experts) == (64 + 3 * 2048, 64 + 2048, 2048)
    assert found.stored is not None and found.stored.mtp_bytes == 4 * 64 + 2 * 3 * 2048
    assert found.stored.elements == found.weights.total


def test_windows_are_chunks_in_llama_4(tmp_path: Path) -> None:
    found = model(tmp_path, "llama4", {"block_count": 48, **heads(40, 8, 128)})
    assert [(kind.kind, kind.layers, kind.window_tokens) for kind in found.kv] == [
        ("full", 12, None), ("chunked", 36, 8192),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("architecture", "own", "slides"),
    [
        ("gemma3", {"attention.sliding_window": 0}, 0),
        ("gemma3", {}, 0),
        ("gemma3", {"attention.sliding_window": 131072}, 0),
        ("gemma3", {"attention.sliding_window": 1024, "attention.sliding_window_pattern": 4}, 9),
        ("gemma3", {"attention.sliding_window": 1024, "attention.sliding_window_pattern": [True] * 5 + [False] * 7}, 5),
        ("gemma3", {"attention.sliding_window": 1024, "attention.sliding_window_pattern": 0}, 12),
        ("llama4", {"attention.sliding_window": 0}, 0),
        ("exaone4", {}, 0),
        ("exaone-moe", {}, 9),
        ("smallthinker", {"attention.sliding_window": 4096}, 9),
        ("lfm2", {"shortconv.l_cache": 3, "attention.sliding_window": 4096, "attention.head_count_kv": [8] * 12}, 12),
    ],
    ids=range(11),
)
def test_which_layers_slide(tmp_path: Path, architecture: str, own: dict[str, Any], slides: int) -> None:
    found = model(tmp_path, architecture, {"block_count": 12, **heads(32, 8, 128), **own})
    assert sum(kind.layers for kind in found.kv if kind.window_tokens) == slides
    assert sum(kind.layers for kind in found.kv) == 12


def test_the_first_layer_of_a_period_is_full_in_smallthinker(tmp_path: Path) -> None:
    """Thirteen layers with every fourth full: 0, 4, 8 and 12 there, 3, 7 and 11 elsewhere."""
    own = {"block_count": 13, **heads(32, 8, 128), "attention.sliding_window": 4096}
    assert [kind.layers for kind in model(tmp_path, "smallthinker", own).kv] == [4, 9]
    assert [kind.layers for kind in model(tmp_path, "olmo2", own).kv] == [3, 10]


def test_a_window_that_llama_cpp_ignores_is_said(tmp_path: Path) -> None:
    found = model(tmp_path, "phi3", {"block_count": 32, **heads(32, 32), "attention.sliding_window": 2047})
    assert "2,047" in found.warnings[0]


def test_yarn_lengthens_and_linear_scaling_does_not(tmp_path: Path) -> None:
    own = {"block_count": 2, **heads(32, 8), "context_length": 32768, "rope.scaling.factor": 4.0,
           "rope.scaling.original_context_length": 32768}  # fmt: skip
    assert model(tmp_path, "qwen2", {**own, "rope.scaling.type": "yarn"}).max_context_tokens == 131072
    assert model(tmp_path, "qwen2", {**own, "rope.scaling.type": "linear"}).max_context_tokens == 32768


def test_weights_of_llama_8b_take_what_llama_cpp_says(tmp_path: Path) -> None:
    """4.8944 bits a weight: the quantize table of llama.cpp."""
    path = kit.write(tmp_path / "m.gguf", kit.keys("llama", kit.LLAMA_8B, file_type=15, name="Llama"), kit.llama_8b())
    found = read_gguf(path)
    assert found.stored is not None
    assert found.weights.total == found.stored.elements == 8_030_261_248 + 64
    assert found.stored.total_bytes * 8 / found.weights.total == pytest.approx(4.8944, abs=5e-5)
    assert found.stored.total_bytes == sum(kit.stored_bytes(line) for line in kit.llama_8b())
    assert path.stat().st_size - found.stored.total_bytes < 20_000
    assert (found.weights.embedding, found.weights.lm_head) == (525_336_576, 525_336_576)
    assert found.weights.linear == 32 * (4096 * 4096 * 2 + 4096 * 1024 * 2 + 3 * 4096 * 14336)
    assert (found.dtype, found.name, found.hub_id) == ("q4_k_m", "Llama", None)
    assert (found.vocab_size, found.max_context_tokens, found.intermediate_size) == (128256, 131072, 14336)
    assert kv_bytes(found)[0] == 131_072


def test_experts_and_their_bytes(tmp_path: Path) -> None:
    own = {**DIMS, "block_count": 3, **heads(64, 8, 64), "attention.sliding_window": 128, "expert_count": 32,
           "expert_used_count": 4, "leading_dense_block_count": 1, "expert_feed_forward_length": 64}  # fmt: skip
    lines: list[kit.Line] = [*kit.small(3), ("output.weight", (64, 128), "Q8_0"),
                             ("blk.0.ffn_up.weight", (64, 8192), "Q8_0")]  # fmt: skip
    for block in (1, 2):
        lines += [(f"blk.{block}.ffn_{name}_exps.weight", (64, 64, 32), "MXFP4") for name in ("gate", "up", "down")]
        lines += [(f"blk.{block}.ffn_up_exps.bias", (64, 32), "F32")]
        lines += [(f"blk.{block}.ffn_gate_inp.weight", (64, 32), "F32")]
        lines += [(f"blk.{block}.ffn_up_shexp.weight", (64, 64), "Q8_0")]
    found = read_gguf(kit.write(tmp_path / "m.gguf", kit.keys("gpt-oss", own, file_type=38), lines))
    assert found.experts == (32, 4, 2, 64)
    assert found.weights.routed_experts == 2 * 3 * 64 * 64 * 32
    assert found.weights.linear == 64 * 8192 + 2 * 64 * 64
    assert found.intermediate_size == 8192
    assert found.stored is not None
    assert found.stored.routed_expert_bytes == 2 * (3 * 64 * 64 * 32 * 17 / 32 + 64 * 32 * 4)
    assert found.dtype == "mxfp4_moe"


def test_experts_in_a_tensor_each(tmp_path: Path) -> None:
    """Mixtral files of early 2024."""
    names = [f"blk.{block}.ffn_{name}.{expert}.weight" for block in (0, 1) for name in ("gate", "up", "down")
             for expert in range(8)]  # fmt: skip
    own = {"block_count": 2, **heads(32, 8), "expert_count": 8, "expert_used_count": 2}
    found = model(tmp_path, "llama", own, *names)
    assert found.experts == (8, 2, 2, 8192)
    assert (found.model_type, found.weights.routed_experts) == ("mixtral", 48 * 64 * 32)


def test_per_layer_tables_are_looked_up_not_read(tmp_path: Path) -> None:
    own = {"block_count": 35, **heads(8, 2, 256), "attention.sliding_window": 512}
    found = model(tmp_path, "gemma3n", own, "per_layer_token_embd.weight")
    assert found.stored is not None
    assert (found.weights.lookup, found.stored.lookup_bytes) == (64 * 32, 2 * 64 * 32)
    assert found.weights.lm_head == 0


@pytest.mark.parametrize(
    ("file_type", "scheme"), [(7, "q8_0"), (32, "bf16"), (30, "iq4_xs"), (1024, "fp16"), (999, "fp16")]
)
def test_the_mix_of_a_file(tmp_path: Path, file_type: int, scheme: str) -> None:
    found = model(tmp_path, "llama", {"block_count": 1, **heads(32, 8)}, file_type=file_type)
    assert found.dtype == scheme and scheme in SCHEMES


def test_every_mix_is_a_scheme() -> None:
    from kvplan.checkpoints.gguf.types import FILE_TYPES, MIX_OF_TYPE

    assert set(FILE_TYPES.values()) | set(MIX_OF_TYPE.values()) <= set(SCHEMES)


@pytest.mark.parametrize(
    ("file", "general", "name"),
    [("Qwen3-8B-Q4_K_M.gguf", {}, "Qwen3-8B-Q4_K_M"), ("a.gguf", {"name": "Meta Llama 3"}, "Meta Llama 3"),
     ("a.gguf", {"name": "/home/x/model"}, "a"), ("b.gguf", {"name": "."}, "b"), ("c.gguf", {"name": "Models"}, "c")],
)  # fmt: skip
def test_the_name_of_a_model(tmp_path: Path, file: str, general: dict[str, Any], name: str) -> None:
    keys = kit.keys("llama", {**DIMS, "block_count": 1, **heads(32, 8)}, **general)
    assert read_gguf(kit.write(tmp_path / file, keys, kit.small(1))).name == name
