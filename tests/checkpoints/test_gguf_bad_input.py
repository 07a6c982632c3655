"""Whatever a GGUF file holds, the answer is a model or one clear line: never a traceback, a hang or much memory."""

from __future__ import annotations

import os
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvplan.checkpoints.gguf import read_gguf
from kvplan.checkpoints.gguf.header import read_header
from kvplan.errors import KvplanError
from tests.checkpoints import gguf_kit as kit

OWN: dict[str, Any] = {
    "block_count": 2, "context_length": 8192, "embedding_length": 64, "feed_forward_length": 128, "vocab_size": 128,
    "attention.head_count": 4, "attention.head_count_kv": 2,
}  # fmt: skip
KEYS = kit.keys("llama", OWN, name="tiny", file_type=1)
SMALL = kit.small(2)


def refuse(path: Path, *words: str, code: int = 2) -> None:
    with pytest.raises(KvplanError) as caught:
        read_gguf(path)
    line = str(caught.value)
    assert "\n" not in line and len(line) < 600 and line.startswith(str(path)[:100])
    assert all(word in line for word in words), line
    assert caught.value.exit_code == code


def put(folder: Path, raw: bytes) -> Path:
    path = folder / "m.gguf"
    path.write_bytes(raw)
    return path


def raw_key(name: str | bytes, kind: int, value: bytes) -> bytes:
    return kit.text(name) + struct.pack("<I", kind) + value


def with_key(folder: Path, name: str | bytes, kind: int, value: bytes) -> Path:
    """A whole file with one more key, written as given."""
    raw = kit.header(KEYS, SMALL)
    start = raw.index(kit.text("general.name"))
    changed = raw[:16] + struct.pack("<Q", len(KEYS) + 1) + raw[24:start] + raw_key(name, kind, value) + raw[start:]
    return put(folder, changed + bytes(2**16))


def test_a_good_file_is_read(tmp_path: Path) -> None:
    assert read_gguf(kit.write(tmp_path / "m.gguf", KEYS, SMALL)).name == "tiny"
    assert read_gguf(kit.write(tmp_path / "m2.gguf", KEYS, SMALL, version=2)).layers == 2


@pytest.mark.parametrize("size", [0, 3, 4, 23])
def test_a_file_that_is_too_short(tmp_path: Path, size: int) -> None:
    refuse(put(tmp_path, kit.header(KEYS, SMALL)[:size]), "too short")


@pytest.mark.parametrize(
    ("start", "word"),
    [(b"GGML" + struct.pack("<I", 3), "no GGUF"), (b"GGUF" + struct.pack(">I", 3), "big-endian"),
     (b"GGUF" + struct.pack("<I", 1), "version 1"), (b"GGUF" + struct.pack("<I", 4), "version 4")],
)  # fmt: skip
def test_other_magics_and_versions(tmp_path: Path, start: bytes, word: str) -> None:
    refuse(put(tmp_path, start + kit.header(KEYS, SMALL)[8:]), word)


@pytest.mark.parametrize("what", ["keys", "tensors"])
@pytest.mark.parametrize("count", [2**19, 2**63, 2**64 - 1])
def test_absurd_counts(tmp_path: Path, what: str, count: int) -> None:
    counts = struct.pack("<QQ", count, 5) if what == "tensors" else struct.pack("<QQ", 5, count)
    refuse(put(tmp_path, b"GGUF" + struct.pack("<I", 3) + counts + bytes(64)), f"{count:,} {what}")


@pytest.mark.parametrize(
    ("name", "kind", "value", "words"),
    [
        ("x", 13, b"", ("'x'", "unknown type 13")),
        ("x", 9, struct.pack("<IQ", 77, 3), ("'x'", "unknown type 77")),
        ("x", 9, struct.pack("<IQ", 8, 2**60), ("'x'", "more than the file can hold")),
        ("x", 9, struct.pack("<IQ", 4, 2**60), ("'x'", "more than the file can hold")),
        ("x", 9, struct.pack("<IQ", 9, 2**60), ("'x'",)),
        ("x", 9, struct.pack("<IQ", 9, 1) * 9, ("'x'", "arrays inside arrays")),
        ("x", 8, struct.pack("<Q", 2**63), ("cut off",)),
        ("general.name", 4, struct.pack("<I", 1), ("general.name", "twice")),
        (b"\xff\xfe", 4, struct.pack("<I", 1), ("not UTF-8",)),
        ("general.alignment", 4, struct.pack("<I", 0), ("general.alignment", "power of two")),
        ("general.alignment", 4, struct.pack("<I", 33), ("general.alignment", "33")),
        ("general.alignment", 8, kit.text("32"), ("general.alignment", "'32'")),
        ("split.count", 4, struct.pack("<I", 2**31), ("split.count",)),
        ("split.count", 4, struct.pack("<I", 3), ("one of 3 parts", "named")),
        ("general.type", 8, kit.text("adapter"), ("adapter",)),
        ("general.type", 8, kit.text("mmproj"), ("projector",)),
        ("llama.nextn_predict_layers", 4, struct.pack("<I", 2), ("nextn_predict_layers", "less than block_count")),
        ("llama.rope.scaling.type", 4, struct.pack("<I", 2), ()),
    ],
    ids=range(18),
)
def test_bad_keys(tmp_path: Path, name: str | bytes, kind: int, value: bytes, words: tuple[str, ...]) -> None:
    path = with_key(tmp_path, name, kind, value)
    if words:
        refuse(path, *words)
    else:
        assert read_gguf(path).layers == 2


def test_a_key_of_every_type(tmp_path: Path) -> None:
    values = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    for kind, letter in values.items():
        found = read_header(str(with_key(tmp_path, "some.key", kind, struct.pack(f"<{letter}", 1))), "m")
        assert found.keys["some.key"] == 1
        entries = struct.pack("<IQ", kind, 3) + struct.pack(f"<3{letter}", 1, 0, 1)
        assert read_header(str(with_key(tmp_path, "some.key", 9, entries)), "m").keys["some.key"] == [1, 0, 1]
    nested = struct.pack("<IQ", 9, 2) + struct.pack("<IQ", 8, 1) + kit.text("a") + struct.pack("<IQI", 4, 1, 7)
    found = read_header(str(with_key(tmp_path, "some.key", 9, nested)), "m")
    assert repr(found.keys["some.key"]) == "a list of 2 entries" and found.lengths["some.key"] == 2
    assert found.keys["general.name"] == "tiny"


def tensor(name: str | bytes, dimensions: tuple[int, ...], kind: int, offset: int) -> bytes:
    sides = b"".join(struct.pack("<Q", side) for side in dimensions)
    return kit.text(name) + struct.pack("<I", len(dimensions)) + sides + struct.pack("<IQ", kind, offset)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (tensor("t", (64, 64), 5, 0), ("'t'", "type 5")),
        (tensor("t", (64, 64), 2**31, 0), ("'t'", "type 2147483648")),
        (tensor("t", (1,) * 5, 0, 0), ("'t'", "5 dimensions")),
        (tensor("t", (0, 4), 0, 0), ("'t'", "impossible dimensions")),
        (tensor("t", (2**40, 2**40), 0, 0), ("'t'", "impossible dimensions")),
        (tensor("t", (2**63, 2**63, 2**63), 0, 0), ("'t'", "impossible dimensions")),
        (tensor("t", (100, 4), 12, 0), ("'t'", "100", "Q4_K", "256")),
        (tensor("t", (64,), 0, 32), ("'t'", "starts at byte 32", "0 was expected")),
        (tensor("t", (64,), 0, 7), ("'t'", "starts at byte 7")),
        (tensor("t", (64,), 0, 2**63), ("'t'", "starts at byte")),
        (tensor(b"\xff", (64,), 0, 0), ("tensor", "not UTF-8")),
        (tensor("t", (2**30,), 0, 0), ("cut off", "need", "the file has")),
        (tensor("token_embd.weight", (64,), 0, 0) + tensor("token_embd.weight", (64,), 0, 256), ("twice",)),
        (tensor("a", (64,), 0, 0) + tensor("b", (64,), 0, 288), ("'b'", "starts at byte 288", "256 was expected")),
    ],
    ids=range(14),
)
def test_bad_tensors(tmp_path: Path, line: bytes, words: tuple[str, ...]) -> None:
    keys = kit.header(KEYS, [("end", (1,), "F32")])
    body = keys[24 : keys.index(kit.text("end"))]
    lines = 2 if line.count(b"\0\0\0\0") and words[0] in ("twice", "'b'") else 1
    raw = b"GGUF" + struct.pack("<IQQ", 3, lines, len(KEYS)) + body + line
    refuse(put(tmp_path, raw + bytes(4096)), *words)


def test_a_download_that_stopped(tmp_path: Path) -> None:
    path = kit.write(tmp_path / "m.gguf", kit.keys("llama", kit.LLAMA_8B), kit.llama_8b())
    whole = path.stat().st_size
    os.truncate(path, 2**30)
    refuse(path, "cut off", f"need {whole:,} bytes", f"the file has {2**30:,}")


@pytest.mark.parametrize("key", [name for name in OWN if name not in ("vocab_size", "feed_forward_length",
                                                                      "attention.head_count_kv")])  # fmt: skip
@pytest.mark.parametrize("value", [None, 0, -1, 2**62, "4", 1.5, True, [4, 4, 4]], ids=repr)
def test_a_bad_number_names_its_key(tmp_path: Path, key: str, value: Any) -> None:
    keys = {**KEYS, f"llama.{key}": value}
    if value is None:
        del keys[f"llama.{key}"]
    refuse(kit.write(tmp_path / "m.gguf", keys, SMALL), key)


@pytest.mark.parametrize("value", [0, 3, -1, [2, 2, 2], [2, 0], ["a", "b"], [2] * 2000, "2"],
                         ids=range(8))  # fmt: skip
def test_bad_kv_heads(tmp_path: Path, value: Any) -> None:
    keys = {**KEYS, "llama.attention.head_count_kv": value}
    refuse(kit.write(tmp_path / "m.gguf", keys, SMALL), "" if value == 3 else "head_count_kv")


@pytest.mark.parametrize(
    ("architecture", "code", "word"),
    [("clip", 2, "projector"), ("bert", 3, "encoder"), ("llada", 3, "diffusion"), ("qwen9", 3, "'qwen9'"),
     ("", 2, "general.architecture"), ("\x1b[31m", 3, "not known")],
)  # fmt: skip
def test_architectures_that_can_not_be_judged(tmp_path: Path, architecture: str, code: int, word: str) -> None:
    refuse(kit.write(tmp_path / "m.gguf", kit.keys(architecture, OWN), SMALL), word, code=code)


def test_a_hybrid_without_its_layer_map_is_refused(tmp_path: Path) -> None:
    own = {**OWN, "ssm.inner_size": 128, "ssm.state_size": 16, "ssm.conv_kernel": 4}
    refuse(kit.write(tmp_path / "m.gguf", kit.keys("jamba", own), SMALL), "recurrent", code=3)


@pytest.mark.parametrize(
    ("architecture", "word"),
    [("gemma4", "sliding_window"), ("cohere2", "sliding_window"), ("gpt-oss", "sliding_window"),
     ("gemma3n", "sliding_window")],
)  # fmt: skip
def test_a_window_that_must_be_stated(tmp_path: Path, architecture: str, word: str) -> None:
    refuse(kit.write(tmp_path / "m.gguf", kit.keys(architecture, OWN), SMALL), word, "missing")


def test_a_pattern_that_must_be_stated(tmp_path: Path) -> None:
    keys = kit.keys("gemma4", {**OWN, "attention.sliding_window": 512})
    refuse(kit.write(tmp_path / "m.gguf", keys, SMALL), "sliding_window_pattern", "missing")


def test_parts_of_a_model_are_no_model(tmp_path: Path) -> None:
    refuse(kit.write(tmp_path / "a.gguf", KEYS, []), "tokenizer")
    refuse(kit.write(tmp_path / "old.gguf", kit.keys("llama", OWN), []), "tokenizer")
    refuse(kit.write(tmp_path / "b.gguf", KEYS, SMALL[1:]), "token_embd")
    refuse(kit.write(tmp_path / "c.gguf", KEYS, SMALL[:-1]), "layer 1 of 2")


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    refuse(tmp_path / "absent.gguf", "no such file")
    refuse(tmp_path, "folder")
    os.mkfifo(tmp_path / "pipe.gguf")
    refuse(tmp_path / "pipe.gguf", "not a regular file")


def test_a_large_tokenizer_is_skipped(tmp_path: Path) -> None:
    """Gemma 3's: 262,144 words and scores, 514,906 merges; no list of them is built."""
    words, merges = 262_144, 514_906
    tokens = struct.pack("<IIQ", 9, 8, words) + b"".join(kit.text(f"word{i}") for i in range(words))
    scores = struct.pack("<IIQ", 9, 6, words) + bytes(4 * words)
    joined = struct.pack("<IIQ", 9, 8, merges) + b"".join(kit.text(f"a{i} b{i}") for i in range(merges))
    raw = b"".join(kit.text(f"tokenizer.ggml.{name}") + value for name, value in
                   (("tokens", tokens), ("scores", scores), ("merges", joined)))  # fmt: skip
    plain = {name: value for name, value in KEYS.items() if name != "llama.vocab_size"}
    whole = kit.header(plain, SMALL)
    start = whole.index(kit.text("general.name"))
    path = put(tmp_path, whole[:16] + struct.pack("<Q", len(plain) + 3) + whole[24:start] + raw + whole[start:]
               + bytes(2**16))  # fmt: skip
    begin = time.perf_counter()
    assert read_gguf(path).vocab_size == words
    assert time.perf_counter() - begin < 2
    tracemalloc.start()
    read_gguf(path)
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()


def test_a_hostile_file_takes_neither_time_nor_memory(tmp_path: Path) -> None:
    """A hole of 64 GiB that claims to be strings without end."""
    path = tmp_path / "m.gguf"
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + kit.text("k") + struct.pack("<IIQ", 9, 8, 2**23)
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(2**36)
    begin = time.perf_counter()
    with pytest.raises(KvplanError):
        read_gguf(path)
    assert time.perf_counter() - begin < 8


def split(folder: Path, parts: int = 3) -> list[Path]:
    lines = [SMALL[:1], SMALL[1:2], SMALL[2:]]
    found = []
    for part in range(parts):
        own = {"split.no": part, "split.count": parts, "split.tensors.count": 3}
        path = folder / f"tiny-{part + 1:05}-of-{parts:05}.gguf"
        found.append(kit.write(path, {**(KEYS if part == 0 else {}), **own}, lines[part]))
    return found


def test_any_part_stands_for_the_whole(tmp_path: Path) -> None:
    models = [read_gguf(path) for path in split(tmp_path)]
    whole = read_gguf(kit.write(tmp_path / "whole.gguf", KEYS, SMALL))
    for one in models:
        assert one._replace(source="") == whole._replace(source="")


def test_the_name_of_a_split_model(tmp_path: Path) -> None:
    paths = split(tmp_path)
    raw = paths[0].read_bytes().replace(kit.text("tiny"), kit.text("./xx"))
    paths[0].write_bytes(raw)
    assert read_gguf(paths[2]).name == "tiny"


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[1].unlink()
    refuse(paths[0], "part 2 of 3 is missing", paths[1].name)
    refuse(paths[2], "part 2 of 3 is missing")


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    paths = split(tmp_path)
    paths[1].write_bytes(paths[2].read_bytes())
    with pytest.raises(KvplanError, match="named part 2 of 3"):
        read_gguf(paths[0])
    split(tmp_path)
    kit.write(paths[1], {"split.no": 1, "split.count": 3}, [*SMALL[1:2], *SMALL[2:]])
    with pytest.raises(KvplanError, match="4 tensors"):
        read_gguf(paths[0])
    kit.write(paths[1], {"split.no": 1, "split.count": 3}, SMALL[2:])
    with pytest.raises(KvplanError, match="repeat a tensor"):
        read_gguf(paths[0])


def test_a_part_that_was_cut(tmp_path: Path) -> None:
    paths = split(tmp_path)
    os.truncate(paths[2], 100)
    with pytest.raises(KvplanError) as caught:
        read_gguf(paths[0])
    assert paths[2].name in str(caught.value) and "cut off" in str(caught.value)


WHOLE = kit.header(kit.keys("jamba", {**OWN, "attention.head_count_kv": [0, 2], "ssm.inner_size": 128,
                                      "ssm.state_size": 16, "ssm.conv_kernel": 4}, name="x"),
                   kit.small(2)) + bytes(2**15)  # fmt: skip


def outcome(path: Path) -> None:
    """A model or one clear line."""
    try:
        read_gguf(path)
    except KvplanError as error:
        assert "\n" not in str(error) and len(str(error)) < 600


def test_every_truncation(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    end = len(WHOLE) - 2**15
    for size in range(end):
        path.write_bytes(WHOLE[:size])
        with pytest.raises(KvplanError):
            read_gguf(path)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, len(WHOLE) - 2**15 - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes(tmp_path: Path, flips: list[tuple[int, int]]) -> None:
    raw = bytearray(WHOLE)
    for place, value in flips:
        raw[place] = value
    outcome(put(tmp_path, bytes(raw)))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from(sorted(OWN)),
    value=st.one_of(
        st.integers(-(2**63), 2**63 - 1), st.booleans(), st.floats(width=32), st.text(max_size=5),
        st.lists(st.integers(0, 2**31), max_size=3),
    ),
    architecture=st.sampled_from(["llama", "gemma3", "deepseek2", "jamba", "lfm2", "gemma4", "qwen35", "mamba2"]),
)  # fmt: skip
def test_any_value_of_any_key(tmp_path: Path, key: str, value: Any, architecture: str) -> None:
    keys = kit.keys(architecture, {**OWN, key: value})
    outcome(kit.write(tmp_path / "m.gguf", keys, SMALL))
