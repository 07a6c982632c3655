"""The models that come with kvplan, and what a user may type for ``--model``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvplan.catalog.model_rows import check_row
from kvplan.catalog.models import attention_kinds, list_models, load_model, model_table
from kvplan.domain.weight_scheme import SCHEMES
from kvplan.errors import CatalogError, InputError, UnknownName

TABLE = model_table()
NAMES = TABLE.names()
MOST_RESIDUAL_FRACTION = 1e-3
MOST_OF_CUT_CONFIG = 4e-3
"""MiniMax M3, Mistral Small 4 and MiMo V2 Flash, whose configs in hand leave out a tower or MTP layers."""

ROW: dict[str, Any] = {
    "config": {
        "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    }
}  # fmt: skip


def toml_row(name: str, extra: str = "", config: str = "") -> str:
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in ROW["config"].items())
    return f'[models."{name}"]\n{extra}\n[models."{name}".config]\n{keys}\n{config}\n'


def user_file(folder: Path, text: str) -> list[str]:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return [str(path)]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_loads_and_counts_what_is_published(name: str) -> None:
    """Exactly, or within 0.1% with the reason in ``notes``; 0.4% where the config in hand is cut."""
    row, _ = TABLE.row(name)
    model = load_model(name)
    assert model.catalog_name == name
    assert SCHEMES[model.dtype].routed_bits
    assert model.max_context_tokens is not None
    residual = row["parameters"] - model.weights.total
    if residual:
        assert row["notes"]
        most = MOST_OF_CUT_CONFIG if "config in hand" in row["notes"] else MOST_RESIDUAL_FRACTION
        assert abs(residual) < most * row["parameters"]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_the_form_that_users_are_held_to(name: str) -> None:
    row, file = TABLE.row(name)
    check_row(row, f"{file.path} [models.{name}]")
    assert all(row[key] for key in ("name", "hub_id", "family", "parameters", "source"))


def test_names_and_aliases_are_unique() -> None:
    typed = [name.lower() for name in NAMES]
    for name in NAMES:
        typed += [alias.lower() for alias in TABLE.row(name)[0]["aliases"]]
    assert len(typed) == len(set(typed))


def test_every_hub_id_finds_its_row() -> None:
    for name in NAMES:
        assert TABLE.find(TABLE.row(name)[0]["hub_id"]) == name


def test_the_catalog_covers_the_kinds_of_attention() -> None:
    assert len(NAMES) >= 150
    kinds = {kind for row in list_models() for kind in row.attention}
    assert kinds == {
        "MHA", "GQA", "MQA", "MLA", "MoE", "sliding", "chunked", "cross", "shared", "compressed", "compressor",
        "indexer", "mamba1", "mamba2", "gdn", "kda", "lightning", "conv",
    }  # fmt: skip


@pytest.mark.parametrize(
    "typed",
    ["llama3-70b", "LLAMA3-70B", "llama-3.1-70b", "llama3.1-70b", "llama3-70b-instruct",
     "meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Meta-Llama-3.1-70B-Instruct"],
)  # fmt: skip
def test_llama3_70b_is_the_instruct_model_of_version_3_1(typed: str) -> None:
    model = load_model(typed)
    assert (model.name, model.max_context_tokens) == ("Llama-3.1-70B-Instruct", 131072)
    assert model.weights.total == 70_553_706_496


def test_the_original_llama_3_has_its_hub_id() -> None:
    model = load_model("meta-llama/Meta-Llama-3-8B")
    assert (model.name, model.max_context_tokens) == ("Meta-Llama-3-8B-Instruct", 8192)


def test_attention_of_some_models_in_words() -> None:
    assert attention_kinds(load_model("deepseek-r1")) == ("MLA", "MoE")
    assert attention_kinds(load_model("gpt-oss-20b")) == ("GQA", "sliding", "MoE")
    assert attention_kinds(load_model("falcon-7b")) == ("MQA",)
    assert attention_kinds(load_model("llama2-7b")) == ("MHA",)


def test_a_name_that_is_not_known_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="llama-3-70b") as caught:
        load_model("llama-3-70b")
    assert "llama3-70b" in str(caught.value.help) and "kvplan model list" in str(caught.value.help)
    with pytest.raises(UnknownName):
        load_model("nobody/No-Such-Model")


def test_a_path_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(ROW["config"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for typed in (str(folder), "./local", "local", "local/config.json"):
        assert load_model(typed).name == "local"
    for typed in ("absent.json", "./absent", "a/b/c"):
        with pytest.raises(InputError, match="no such file"):
            load_model(typed)


def test_a_row_of_the_user_goes_before_the_shipped_one(tmp_path: Path) -> None:
    files = user_file(tmp_path, toml_row("llama3-8b", 'name = "Mine"\naliases = ["my-llama"]'))
    assert load_model("my-llama", files).name == load_model("llama3-8b", files).name == "Mine"
    assert load_model("my-llama", files).source == files[0]


@pytest.mark.parametrize(
    ("extra", "config", "words"),
    [
        ("parmeters = 5", "", ["parmeters", "mine.toml [models.x]"]),
        ("parameters = 0", "", ["parameters", "greater than 0"]),
        ('parameters = "8B"', "", ["parameters", "8B"]),
        ("parameters = 1.5", "", ["parameters"]),
        ("name = 3", "", ["name"]),
        ("", "head_dim = -1", ["head_dim", "mine.toml [models.x]"]),
        ("", 'head_dim = "128"', ["head_dim", "whole number"]),
        ("", f"head_dim = 0x1{'0' * 5000}", ["head_dim"]),
        ("", "head_dim = nan", ["head_dim"]),
        ("", 'layer_types = ["odd"]', []),
    ],
)
def test_a_slip_in_a_user_row_is_one_clear_line(tmp_path: Path, extra: str, config: str, words: list[str]) -> None:
    files = user_file(tmp_path, toml_row("x", extra, config))
    if not words:
        assert load_model("x", files).layers == 16
        return
    with pytest.raises(InputError) as caught:
        load_model("x", files)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_misspelled_key_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as caught:
        load_model("x", user_file(tmp_path, toml_row("x", "parmeters = 5")))
    assert caught.value.help == "did you mean parameters?"


def test_a_row_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="config is missing"):
        load_model("x", user_file(tmp_path, '[models.x]\nname = "X"\n'))
    with pytest.raises(CatalogError, match="config"):
        load_model("x", user_file(tmp_path, "[models.x]\nconfig = 3\n"))


def test_a_shipped_model_loads_neither_pydantic_nor_numpy() -> None:
    program = (
        "import sys; from kvplan.catalog.models import load_model; load_model('llama3-70b');"
        "print(sorted({'pydantic', 'numpy', 'numba', 'yaml', 'rich', 'json'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
