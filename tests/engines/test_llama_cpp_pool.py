"""llama.cpp's caches against its start-up logs, and cells added 256 at a time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kvplan.catalog.models import load_model
from kvplan.domain.model import KvLayers, State
from kvplan.engines.llama_cpp_caches import Types, log_lines, parts_of
from kvplan.engines.llama_cpp_cells import Cells, Slots, row_bytes, stream_cells, window_cells
from kvplan.engines.llama_cpp_pool import largest_context, total_bytes
from kvplan.errors import CannotJudge
from tests.engines.pool_kit import kernel, layout_of, model_of, observations
from tests.naive_pools import LlamaLayer, llama_bytes, llama_cells

GIB, MIB = 2**30, 2**20
ROWS = observations("llama_cpp_logs")
_LINE = re.compile(r"size\s+= +([\d.]+) MiB(?: \( *(\d+) cells, +(\d+) layers[^)]*\))?, K \(\S+\): +([\d.]+) MiB,"
                   r" V \(\S+\): +([\d.]+) MiB")  # fmt: skip
_STATES = re.compile(r"RS buffer size = +([\d.]+) MiB")


def lines_of(row: dict[str, Any], build: int) -> str:
    slots = Slots(build, row["context"], row["slots"], row["unified"], flash=row["flash"])
    return "\n".join(log_lines(model_of(row), slots, Types(*row["types"])))


@pytest.mark.parametrize("build_row", [(build, row) for row in ROWS for build in row["builds"]],
                         ids=lambda pair: f"{pair[1]['id']}@b{pair[0]}")  # fmt: skip
def test_the_figures_of_start_up_logs(build_row: tuple[int, dict[str, Any]]) -> None:
    build, row = build_row
    text = lines_of(row, build)
    found = _LINE.findall(text)
    assert len(found) == len(row["lines"])
    for (_, cells, layers, key, value), line in zip(found, row["lines"], strict=True):
        if line is None:
            continue
        assert (float(key), float(value)) == pytest.approx((line[2], line[3]), abs=0.0051)
        if cells:  # before b5429 the line has neither
            assert (int(cells), int(layers)) == (line[0], line[1])
    if "rs_mib" in row:
        assert float(_STATES.findall(text)[0]) == pytest.approx(row["rs_mib"], abs=0.0051)


@pytest.mark.parametrize(("build", "line"), [
    (5000, "llama_context: KV self size  =  128.00 MiB, K (f16):   64.00 MiB, V (f16):   64.00 MiB"),
    (5300, "llama_kv_cache_unified: KV self size  =  128.00 MiB, K (f16):   64.00 MiB, V (f16):   64.00 MiB"),
    (5435, "llama_kv_cache_unified: size =  128.00 MiB (  1024 cells,  32 layers), K (f16):   64.00 MiB,"
           " V (f16):   64.00 MiB"),
    (5700, "llama_kv_cache_unified: size =  128.00 MiB (  1024 cells,  32 layers,  1 seqs), K (f16):   64.00 MiB,"
           " V (f16):   64.00 MiB"),
    (6000, "llama_kv_cache_unified: size =  128.00 MiB (  1024 cells,  32 layers,  1/ 1 seqs), K (f16):   64.00 MiB,"
           " V (f16):   64.00 MiB"),
    (9010, "llama_kv_cache: size =  128.00 MiB (  1024 cells,  32 layers,  1/1 seqs), K (f16):   64.00 MiB,"
           " V (f16):   64.00 MiB"),
])  # fmt: skip
def test_the_line_by_build(build: int, line: str) -> None:
    assert log_lines(load_model("llama3-8b", ()), Slots(build, 1024), Types()) == (line,)


@pytest.mark.parametrize(("build", "context", "slots", "unified", "flash", "expected"), [
    (9010, 65535, 1, False, True, (65536, 1)),
    (9010, 10000, 3, False, True, (3584, 3)),  # 10,240 / 3 = 3413, padded: 10,752 cells in all
    (9010, 10000, 4, False, True, (2560, 4)),  # 10,240 cells: four slots take less than three
    (9010, 10000, 4, True, True, (10240, 1)),
    (6500, 1000, 1, False, False, (1024, 1)),
    (6500, 1000, 1, False, True, (1024, 1)),
    (6500, 1100, 1, False, False, (1120, 1)),  # 32 cells without flash attention
    (6500, 10000, 3, False, True, (3584, 3)),
    (6000, 10000, 3, False, True, (10240, 1)),  # streams were not used by default yet
])  # fmt: skip
def test_cells_of_a_stream(
    build: int, context: int, slots: int, unified: bool, flash: bool, expected: tuple[int, int]
) -> None:
    assert stream_cells(Slots(build, context, slots, unified, flash=flash)) == Cells(*expected)


@pytest.mark.parametrize(("build", "window", "slots", "unified", "cells"), [
    (9010, 1024, 4, True, 4608), (9010, 1024, 4, False, 1536), (9010, 128, 1, False, 768), (9010, 8192, 1, False, 8704),
    (6500, 128, 1, False, 768), (5500, 128, 1, False, 2304), (5400, 128, 1, False, 32768), (5600, 128, 4, False, 1024),
])  # fmt: skip
def test_cells_of_windows(build: int, window: int, slots: int, unified: bool, cells: int) -> None:
    # b5429 keeps a batch of 2048 beyond the window, b5554 a micro-batch of 512; before them there is no such cache
    assert window_cells(Slots(build, 32768 * slots, slots, unified), window).cells == cells


def test_a_short_context_has_no_room_to_save() -> None:
    assert window_cells(Slots(9010, 1024), 4096).cells == 1024
    assert window_cells(Slots(9010, 32768, window_full=True), 128).cells == 32768


@pytest.mark.parametrize(("build", "expected"), [(9010, 61 * 576 * 2), (7000, 61 * (576 + 512) * 2),
                                                 (5100, 61 * 128 * (192 + 128) * 2)])  # fmt: skip
def test_a_latent_by_build(build: int, expected: int) -> None:
    assert layout_of("deepseek-v3", f"llama.cpp@b{build}").bytes_per_token == expected


def test_an_index_is_kept_in_the_type_of_k() -> None:
    # llama-kv-cache-dsa.cpp: one head of 128 elements for every layer until #26474
    assert layout_of("glm-5", "llama.cpp").bytes_per_token == 78 * (576 + 128) * 2
    assert layout_of("glm-5.2", "llama.cpp", kv=kernel("q8_0")).bytes_per_token == 78 * (576 + 128) * 34 / 32
    assert layout_of("glm-5", "llama.cpp@b9010").bytes_per_token == 78 * 576 * 2
    with pytest.raises(CannotJudge):
        layout_of("glm-5", "llama.cpp@b9800")


def test_deepseek_v4() -> None:
    # llama-kv-cache-dsv4.cpp: 512 elements a row, K only; rings of 8 and 128 rows of keys and scores in 32 bits
    found = parts_of(load_model("deepseek-v4-flash", ()), Slots(10236, 65536, 2), Types())
    parts = {part.cache: part for part in found}
    assert parts["sliding 1"].cells == Cells(768, 2)
    assert parts["compressed 4"].cells == Cells(8192, 2) and parts["compressed 128"].cells == Cells(256, 2)
    assert parts["indexer 4"].key_row == 256 and parts["compressed 4"].key_row == 1024
    assert parts["state 20480"].key_bytes == 2 * 21 * 4 * 2 * (8 * 1024 + 8 * 256)
    assert parts["state 131072"].key_bytes == 2 * 20 * 4 * 2 * 128 * 512
    with pytest.raises(CannotJudge):
        layout_of("deepseek-v4-flash", "llama.cpp@b9500")


def test_shared_layers_have_no_cells() -> None:
    layout = layout_of("gemma4-e4b", "llama.cpp")
    assert [(row.kind, row.layers) for row in layout.layers] == [("full", 4), ("sliding", 20)]


def test_without_flash_attention_v_is_as_wide_as_the_widest() -> None:
    flat, fused = (parts_of(load_model("gemma4-31b", ()), Slots(9010, 4096, flash=flash), Types())
                   for flash in (False, True))  # fmt: skip
    assert [part.value_row for part in fused] == [4 * 512 * 2, 16 * 256 * 2]
    assert [part.value_row for part in flat] == [16 * 256 * 2, 16 * 256 * 2]


def test_rows_must_be_whole_blocks() -> None:
    assert row_bytes("q8_0", 1024) == 1088 and row_bytes("q4_0", 1024) == 576 and row_bytes("iq4_nl", 32) == 18
    with pytest.raises(CannotJudge, match="blocks of 32"):
        row_bytes("q8_0", 80)
    with pytest.raises(CannotJudge, match="q9_9"):
        row_bytes("q9_9", 64)


def test_a_pool_is_cells_of_all_slots() -> None:
    one = layout_of("llama3-8b", "llama.cpp", 8 * GIB).pool
    three = layout_of("llama3-8b", "ollama", 8 * GIB, users=3).pool
    assert one is not None and (one.tokens, one.blocks, one.max_concurrency) == (65536, 256, None)
    assert three is not None and three.tokens == 65536 // 768 * 768
    assert "21760 cells,  32 layers,  3/3 seqs" in three.log_line


def test_layers_are_split_over_gpus() -> None:
    # Llama 3 8B on three GPUs: 11 of its 32 layers on the fullest; the line counts all of them
    layout = layout_of("llama3-8b", "llama.cpp", GIB, pp=3)
    assert layout.bytes_per_token == 11 * 4096
    assert layout.pool is not None and layout.pool.tokens == GIB // (11 * 4096) // 256 * 256
    assert f"size = {layout.pool.tokens * 131072 / MIB:7.2f} MiB" in layout.pool.log_line


@pytest.mark.parametrize("model", ["minimax-m3", "nemotron-nas", "whisper"])
def test_what_no_rule_covers_is_refused(model: str) -> None:
    base = load_model("llama3-8b", ())
    kinds = {"minimax-m3": load_model("minimax-m3", ()),
             "nemotron-nas": base._replace(kv=(KvLayers("lightning", 8, 8, 0, 0, state=State(0, 64)),)),
             "whisper": base._replace(kv=(KvLayers("cross", 8, 8, 64, 64, sequence_tokens=1500),))}  # fmt: skip
    with pytest.raises(CannotJudge):
        layout_of(kinds[model], "llama.cpp")


def test_a_pool_too_small_is_refused() -> None:
    with pytest.raises(CannotJudge, match="would not start"):
        layout_of("llama3-8b", "llama.cpp", 1000.0)


@settings(max_examples=250, deadline=None)
@given(
    heads=some.sampled_from([1, 2, 4]), width=some.sampled_from([32, 64, 128]), layers=some.integers(1, 4),
    windows=some.integers(0, 4), window=some.sampled_from([128, 1000, 4096]), states=some.integers(0, 3),
    slots=some.integers(1, 4), types=some.sampled_from([("f16", "f16"), ("q8_0", "q4_0"), ("q4_0", "f16")]),
    pool=some.integers(1, 40_000_000),
)  # fmt: skip
def test_a_pool_filled_cell_by_cell(  # noqa: PLR0913
    heads: int, width: int, layers: int, windows: int, window: int, states: int, slots: int, types: tuple[str, str],
    pool: int,
) -> None:  # fmt: skip
    kv = [KvLayers("full", layers, heads, width, width)]
    kv += [KvLayers("sliding", windows, heads, width, width, window)] if windows else []
    kv += [KvLayers("gdn", states, 4, 0, 0, state=State(300, 5000))] if states else []
    model = load_model("gpt-oss-20b", ())._replace(kv=tuple(kv))
    row = heads * width
    slow = [LlamaLayer(row, row)] * layers + [LlamaLayer(row, row, window)] * windows
    slow += [LlamaLayer(0, 0, state=5300)] * states
    blocks = {"f16": 64, "q8_0": 34, "q4_0": 18}
    sizes = blocks[types[0]], blocks[types[1]]
    start = Slots(9010, 0, slots)
    found = largest_context(model, start, Types(*types), 1, pool)
    assert found == llama_cells(slow, slots, 512, sizes, pool)
    context = max(found, 256 * slots)
    expected = llama_bytes(slow, context // slots, slots, 512, sizes)
    assert total_bytes(model, start._replace(context_tokens=context), Types(*types)) == expected
