"""``kvplan model list`` and ``kvplan model show``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.kit import answer, kvplan
from tests.golden_kit import check_golden

OWN = """
[models.tiny]
name = "Tiny"
family = "Own"
aliases = ["wee"]
notes = "made up"
[models.tiny.config]
model_type = "llama"
hidden_size = 1024
intermediate_size = 4096
num_attention_heads = 8
num_hidden_layers = 3
num_key_value_heads = 2
vocab_size = 1000
max_position_embeddings = 4096
"""


def names(*arguments: str) -> list[str]:
    return [row["name"] for row in answer("model", "list", *arguments)["models"]]


def test_every_listed_name_can_be_shown() -> None:
    for row in answer("model", "list")["models"]:
        sheet = answer("model", "show", row["name"])
        shared = set(row) & set(sheet)
        assert {"name", "title", "hub_id", "attention", "parameters", "layers", "kv_bytes_per_token"} <= shared
        assert {name: sheet[name] for name in shared} == {name: row[name] for name in shared}
        assert answer("kv", "--model", row["name"])["kv_bytes_per_token"] == row["kv_bytes_per_token"]


@pytest.mark.parametrize(
    ("arguments", "some", "none"),
    [
        (("--attention", "mla"), "deepseek-v3", "llama3-8b"),
        (("--attention", "MLA"), "kimi-k2", "qwen3-8b"),
        (("--attention", "gqa", "--attention", "moe"), "qwen3-30b-a3b", "qwen3-8b"),
        (("--attention", "sliding"), "gpt-oss-120b", "llama3-8b"),
        (("--family", "qwen 3"), "qwen3-8b", "qwen2.5-7b"),
        (("--family", "qwen2.5"), "qwen2.5-7b", "qwen3-8b"),
        (("--family", "gpt_oss"), "gpt-oss-20b", "llama3-8b"),
        (("--attention", "gdn"), "qwen3-next-80b-a3b", "qwen3-8b"),
        (("--attention", "chunked"), "llama4-scout", "gpt-oss-20b"),
        (("--attention", "full", "--attention", "sliding"), "gpt-oss-20b", "qwen3-8b"),
        (("--max-parameters", "9B"), "llama3-8b", "llama3-70b"),
        (("--max-parameters", "900m"), "qwen3-0.6b", "llama3-8b"),
        (("--max-parameters", "100"), "llama3-70b", "deepseek-v3"),
        (("meta-llama 3.1",), "llama3-8b", "qwen3-8b"),
        (("qwen", "coder"), "qwen3-coder-30b", "qwen3-8b"),
        (("gemma", "--max-parameters", "5B"), "gemma3-4b", "gemma3-27b"),
    ],
)
def test_filters(arguments: tuple[str, ...], some: str, none: str) -> None:
    found = names(*arguments)
    assert some in found and none not in found
    assert len(found) < len(names())


@pytest.mark.parametrize(
    ("arguments", "message", "advice"),
    [
        (("--attention", "mlaa"), "no attention kind named 'mlaa'", "did you mean mla"),
        (("--attention", "flash"), "no attention kind named 'flash'", "known: mha, gqa, mqa, mla"),
        (("--family", "gemmma"), "no family named 'gemmma'", "did you mean gemma"),
        (("--max-parameters", "big"), "--max-parameters must look like 8B or 500M (it is 'big')", ""),
        (("--max-parameters", ""), "--max-parameters must look like 8B or 500M (it is '')", ""),
        (("--max-parameters", "-3"), "--max-parameters must look like 8B", ""),
        (("--family", ""), "no family named ''", "kvplan model list --families"),
        (("--family", "--"), "no family named '--'", "kvplan model list --families"),
        (("--families", "qwen"), "--families takes no WORDS", "leave out"),
        (("--families", "--family", "", "--attention", "mla"), "takes no --family and no --attention", "leave out"),
        (("--families", "--max-parameters", "8B"), "--families takes no --max-parameters", "leave out"),
        (("lama9",), "no model named 'lama9'", "kvplan model list"),
    ],
)
def test_a_filter_that_means_nothing_is_one_clear_line(arguments: tuple[str, ...], message: str, advice: str) -> None:
    done = kvplan("model", "list", *arguments)
    assert done.code == 2 and not done.out
    lines = done.err.splitlines()
    assert lines[0].startswith("error: ") and message in lines[0] and len(lines) <= 2
    assert advice in done.err


def test_layer_kinds_are_listed() -> None:
    rows = {row["name"]: row for row in answer("model", "list")["models"]}
    assert rows["llama3-8b"]["layer_kinds"] == ["full"]
    assert set(rows["gpt-oss-20b"]["layer_kinds"]) == {"full", "sliding"}
    assert rows["deepseek-v3"]["layer_kinds"] == ["mla"]


def test_figures_of_a_mixture_of_experts() -> None:
    """Published: 671B and an MTP module of 14B, 37B active, 61 layers, 256 experts of which 8 are chosen."""
    sheet = answer("model", "show", "deepseek-v3")
    assert round(sheet["parameters"] / 1e9) == 685
    assert 36e9 < sheet["active_parameters"] < 38e9
    assert sheet["experts"] == {"experts": 256, "experts_per_token": 8, "moe_layers": 58, "intermediate_size": 2048}
    assert sheet["attention"] == ["MLA", "MoE"]
    assert sheet["kv_layers"][0]["key_elements"] == 512 + 64
    assert sheet["published_parameters"] == 684531386000


def test_weight_bytes_by_type() -> None:
    weights = answer("model", "show", "llama3-8b")["weight_bytes"]
    assert weights["bf16"] == 2 * 8_030_261_248
    assert weights["awq-int4"] < weights["fp8"] < weights["bf16"]
    # published AWQ checkpoint of this model: 5.73 GB
    assert weights["awq-int4"] == pytest.approx(5.73e9, rel=0.01)


@pytest.mark.parametrize("name", ["LLAMA3-8B", "meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"])
def test_aliases_are_shown_by_their_model(name: str) -> None:
    sheet = answer("model", "show", name)
    assert sheet["name"] == "llama3-8b"
    assert "llama-3.1-8b" in sheet["aliases"]


def test_a_catalog_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    assert names("--catalog", str(path))[-1] == "tiny"
    assert names("--family", "own", "--catalog", str(path)) == ["tiny"]
    sheet = answer("model", "show", "wee", "--catalog", str(path))
    assert (sheet["title"], sheet["family"], sheet["notes"], sheet["aliases"]) == ("Tiny", "Own", "made up", ["wee"])
    assert sheet["kv_bytes_per_token"] == 2 * 2 * 128 * 3 * 2
    assert "tiny" not in names()


def test_a_config_at_a_path_is_shown_too(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({
        "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8,
        "num_hidden_layers": 3, "num_key_value_heads": 2, "vocab_size": 1000,
    }), encoding="utf-8")  # fmt: skip
    sheet = answer("model", "show", str(path))
    assert (sheet["name"], sheet["family"], sheet["aliases"]) == (str(path), None, [])


def test_csv_has_the_fields_of_the_json() -> None:
    rows = list(csv.DictReader(io.StringIO(kvplan("model", "list", "--format", "csv").out)))
    listed = answer("model", "list")["models"]
    assert list(rows[0]) == list(listed[0])
    assert [row["name"] for row in rows] == [row["name"] for row in listed]
    assert rows[0]["parameters"] == str(listed[0]["parameters"])


def test_families_name_every_architecture() -> None:
    families = {row["family"]: row["model_types"] for row in answer("model", "list", "--families")["families"]}
    assert "deepseek_v3" in families["deepseek"]
    known = {model_type for types in families.values() for model_type in types}
    assert {row["model_type"] for row in answer("model", "list")["models"]} <= known


def test_the_list_is_grouped_and_shows_attention_at_its_usual_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = kvplan("model", "list").out.splitlines()
    headings = [line for line in lines[2:-2] if line and not line.startswith(" ")]
    assert headings[:3] == ["Llama", "Qwen", "DeepSeek"] and headings[-1] == "Others"
    assert len(headings) == len(set(headings))
    listed = [line.split()[0] for line in lines[2:-2] if line.startswith("  ")]
    assert sorted(listed) == sorted(names())
    assert "attention" in lines[0] and "GQA sliding MoE" in "\n".join(lines)


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_the_screens(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = kvplan("model", "show", "gpt-oss-120b").out
    check_golden(f"model-show-{columns}.txt", shown)
    listed = kvplan("model", "list").out
    assert max(map(len, (shown + listed).splitlines())) <= columns
    assert "…" not in listed
