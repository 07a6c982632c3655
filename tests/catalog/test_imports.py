"""Rows that are added to a user's catalog: the same model or host comes back, and nothing else in the file changes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvplan.catalog.files import catalog_files, parse
from kvplan.catalog.hardware import load_host
from kvplan.catalog.imported_rows import written_row
from kvplan.catalog.imports import ImportWords, import_host, import_model
from kvplan.catalog.models import load_model
from kvplan.catalog.null_keys import with_nulls
from kvplan.checkpoints.model import model_from_config
from kvplan.checkpoints.read import read_model
from kvplan.domain.model import KvLayers, Model, State, StoredWeights
from kvplan.errors import CatalogError, InputError, KvplanError
from tests.checkpoints import gguf_kit, kit

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG = {
    "model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8,
    "num_hidden_layers": 3, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16", "rope_scaling": {"type": "linear", "factor": 2.0}, "pad_token_id": None,
}  # fmt: skip
HOST = """
title = "Box under the desk"
gpu = "rtx4090"
gpus = 2
dram_gib = 128
dram_gb_per_s = { low = 60, best = 70, high = 80, basis = "two channels" }
link = "pcie4x16"
"""
ROWS = parse(catalog_files("models.toml")[0])["models"]


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user's config folder, which isn't there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)
    return tmp_path / "config/kvplan"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return path


def add(path: Path, name: str = "mine", **words: Any) -> Any:
    return import_model(ImportWords(str(path), name, **words))


def plain(model: Model) -> Model:
    """Without what a row says in its own words."""
    return model._replace(name="", source="", hub_id=None, catalog_name=None, published_parameters=None)


def test_the_model_comes_back(config: Path, own_folder: Path) -> None:
    answer = add(config, aliases=("me/mine",), hub_id="me/hub-mine", source="made up")
    assert answer.added.file == str(own_folder / "models.toml")
    assert answer.added.always_read
    assert answer.form == "config"
    for name in ("mine", "MINE", "me/mine", "me/hub-mine"):
        assert load_model(name) == answer.model
    model = load_model("mine")
    assert (model.hub_id, model.source, model.catalog_name, model.name) == ("me/hub-mine", "made up", "mine", "mine")
    assert model.kv == (KvLayers("full", 3, 2, 128, 128),)
    assert model.max_context_tokens == 8192
    config.unlink()
    assert load_model("mine") == model


def test_without_more_words_the_row_names_its_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config.parent)
    assert add(Path("config.json")).model.source == str(config)


@pytest.mark.parametrize("name", ROWS)
def test_every_known_model_can_be_written_in_both_forms(name: str) -> None:
    row = ROWS[name]
    if "config" not in row:
        pytest.skip("no config")
    keys = with_nulls(row["config"], row.get("null_keys", ()), name)
    model = model_from_config(keys, name=name, where=name, source="x")
    as_config = written_row("it", {}, model, keys)
    assert as_config.form == "config"
    assert plain(as_config.model) == plain(model)
    assert set(as_config.row) <= {"config", "notes", "null_keys"}
    as_layout = written_row("it", {}, model, None)
    assert as_layout.form == "layout"
    assert plain(as_layout.model) == plain(model)


def test_a_null_that_matters_is_kept() -> None:
    """Qwen2 with the switch on: no window where the file says null, one of 4096 where it says nothing."""
    keys = {**CONFIG, "model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 1}
    stated = {**keys, "sliding_window": None}
    models = [model_from_config(item, name="q", where="q", source="q") for item in (keys, stated)]
    assert models[0].kv != models[1].kv
    rows = [written_row("q", {}, model, item) for model, item in zip(models, (keys, stated), strict=True)]
    assert [plain(row.model) for row in rows] == [plain(model) for model in models]
    assert "null_keys" not in rows[0].row
    assert "sliding_window" in rows[1].row["null_keys"]
    assert rows[1].form == "config"


def test_true_bytes_go_into_the_row() -> None:
    model = model_from_config(CONFIG, name="m", where="m", source="m")
    stored = StoredWeights(1e9 + 0.5, 2e9, 3e6, tower_bytes=7.0, elements=1234)
    seen = model._replace(stored=stored, weights=model.weights._replace(towers=99))
    written = written_row("m", {}, seen, CONFIG)
    assert (written.form, written.model.stored, written.model.weights.towers) == ("config", stored, 99)


def test_layers_of_every_kind_go_into_a_layout() -> None:
    model = model_from_config(CONFIG, name="m", where="m", source="m")
    kinds = (
        KvLayers("sliding", 2, 4, 64, 64, window_tokens=512),
        KvLayers("mla", 1, 1, 576, 0, replicated=True, read_tokens=2048),
        KvLayers("gdn", 3, 16, 0, 0, state=State(8192, 524_288, recurrent_float32=True)),
        KvLayers("cross", 1, 8, 128, 128, sequence_tokens=1601),
    )
    odd = model._replace(kv=kinds, mtp_kv=kinds[:1], max_context_tokens=None, warnings=('a "quoted" line\n',))
    written = written_row("m", {}, odd, None)
    assert written.form == "layout"
    assert plain(written.model) == plain(odd)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("layers = 3\n", ""), "layout.layers is missing"),
        (("layers = 3\n", "layers = 0\n"), r"layout.layers must be from 1 to 2\^53 \(it is 0\)"),
        (("layers = 3\n", 'layers = "3"\n'), r"layout.layers: input should be a valid integer \(it is '3'\)"),
        (("layers = 3\n", "layers = 3\nlayer = 3\n"), "has a key 'layout.layer', which kvplan doesn't know"),
        (("kv_heads = 2", "kv_heads = -2"), r"layout.kv.kv_heads must be from 0 to 2\^53 \(it is -2\)"),
        (("kv_heads = 2", "kv_heads = 0"), "layout.kv has keys without a KV head"),
        (('dtype = "bf16"', 'dtype = "b16"'), "layout.dtype 'b16' is no way of storing weights"),
        (("vocab_size = 1000\n", "vocab_size = 1000\nname = 'x'\n"), "layout has a key 'name', which stands in the"),
        (("kv = [", "kv = []\n# ["), r"layout.kv must have from 1 to \d+ kinds of layers"),
    ],
)
def test_a_layout_that_was_edited_by_hand_is_checked(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    model = model_from_config(CONFIG, name="m", where="m", source="m")
    text = written_row("m", {}, model, None).text
    assert change[0] in text
    path = tmp_path / "edited.toml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(CatalogError, match=message) as caught:
        load_model("m", [str(path)])
    assert caught.value.where == f"{path} [models.m]"


BEFORE = [
    b"",
    b"# mine\n",
    b"# mine\n\n",
    b"[models.a.config]\nx = 1 # no end of line",
    b"\xef\xbb\xbf# a mark\n[gpus.x]\nvendor = 'nvidia'\n",
    b"# windows\r\n[models.a.config]\r\nx = 1\r\n",
    b'[models.a]\nnotes = """\n[models.mine]\n[models.mine.config]\n"""\n[models.a.config]\nx = 1\n',
]


@pytest.mark.parametrize("before", BEFORE)
def test_the_file_is_only_added_to(before: bytes, config: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(before)
    path.chmod(0o640)
    answer = add(config, catalog=str(path))
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\r\n") == (after.count(b"\n") if b"\r\n" in before else 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not answer.added.always_read
    assert load_model("mine", [str(path)]) == answer.model
    assert [item.name for item in tmp_path.iterdir() if item.name.startswith(".")] == []


def test_a_row_is_replaced_in_its_place(config: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    head = b"# top\n[models.a]\nnotes = 'x'\n[models.a.config]\nmodel_type = 'llama'\n\n# of mine\n"
    old = b"[models.mine]\naliases = ['gone', 'kept']\n# inside\n[models.mine.config]\nmodel_type = 'llama'\n"
    tail = b"\n# of b\n[models.'b']\nconfig = { model_type = 'llama' }\n"
    path.write_bytes(head + old + tail)
    with pytest.raises(InputError, match="there is a model 'mine' already, in .*own.toml"):
        add(config, catalog=str(path))
    assert path.read_bytes() == head + old + tail
    answer = add(config, catalog=str(path), replace=True, aliases=("kept",))
    after = path.read_bytes()
    assert after.startswith(head + b"[models.mine]\n")
    assert after.endswith(tail)
    assert after.count(b"[models.mine]") == 1
    assert (answer.added.replaced, answer.added.lost_aliases) == (str(path), ("gone",))
    again = add(config, catalog=str(path), replace=True, aliases=("kept",))
    assert path.read_bytes() == after
    assert again.model == answer.model


@pytest.mark.parametrize(
    "before",
    [
        "models = { a = { config = { model_type = 'llama' } } }\n",
        "[models]\nmine.notes = 'x'\nmine.config.model_type = 'llama'\n",
        "[models.mine]\nnotes = '''\n[models.b]\n'''\n[models.mine.config]\nmodel_type = 'llama'\n",
    ],
)
def test_a_form_that_can_not_be_changed_is_left_alone(before: str, config: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(before, encoding="utf-8")
    with pytest.raises(CatalogError, match=r"own.toml: is written in a form to which kvplan can't add \[models.mine\]"):
        add(config, catalog=str(path), replace=True)
    assert path.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (b"[models.a\n", r"own\.toml:1: is not valid TOML"),
        (b"\xff\xfe", "is not a text file in UTF-8"),
        (b"[model.a]\nx = 1\n", "a catalog has no table or key 'model'"),
        (b"models = 3\n", r"\[models\] must hold one table a row"),
    ],
)
def test_a_broken_file_is_left_alone(before: bytes, message: str, config: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(before)
    with pytest.raises(CatalogError, match=message):
        add(config, catalog=str(path))
    assert path.read_bytes() == before


def failing(number: int) -> Callable[..., None]:
    def fail(*arguments: object, **words: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    ("function", "number", "message"),
    [
        ("os.fsync", 28, "can't be written: No space left on device"),
        ("os.replace", 30, "can't be written: Read-only file system"),
        ("tempfile.mkstemp", 13, "can't be written: Permission denied"),
    ],
)
def test_a_write_that_fails_changes_nothing(
    function: str, number: int, message: str, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(BEFORE[1])
    monkeypatch.setattr(function, failing(number))
    with pytest.raises(InputError, match=message):
        add(config, catalog=str(path))
    monkeypatch.undo()
    assert path.read_bytes() == BEFORE[1]
    assert sorted(item.name for item in tmp_path.iterdir()) == ["config.json", "own.toml"]


def test_a_read_only_file_is_not_replaced(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(b"")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(InputError, match=r"own\.toml: is read-only"):
        add(config, catalog=str(path))


def test_a_link_is_written_through(config: Path, own_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    own_folder.mkdir(parents=True)
    link = own_folder / "models.toml"
    link.symlink_to("../../dotfiles/models.toml")
    add(config)
    add(config, "second")
    assert link.is_symlink()
    assert set(tomllib.loads((tmp_path / "dotfiles/models.toml").read_text(encoding="utf-8"))["models"]) == {
        "mine",
        "second",
    }
    assert load_model("mine").kv == load_model("second").kv


def test_places_where_no_catalog_can_be(config: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent/own.toml", "there is no folder"),
        (tmp_path / "config.json/own.toml", "there is no folder|can't be"),
        (loop, "can't be read"),
        (Path("/dev/null"), "is not a regular file"),
    ):
        with pytest.raises(KvplanError, match=message):
            add(config, catalog=str(path))


def test_imports_at_the_same_time_are_all_kept(config: Path, own_folder: Path) -> None:
    failures: list[Exception] = []

    def one(index: int) -> None:
        try:
            add(config, f"m{index}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    rows = tomllib.loads((own_folder / "models.toml").read_text(encoding="utf-8"))["models"]
    assert set(rows) == {f"m{index}" for index in range(8)}


@pytest.mark.parametrize(
    "name",
    ["", " ", "/", "a/", "/a", "a/b/c", "./a", "../a", "~a", "-a", "a b", "a\nb", "a\tb", "a@b", "a#b", "a'b", '"a"',
     "a.json", "a.gguf", "a.safetensors", "a.toml", "x" * 121, "\ud800"],
)  # fmt: skip
def test_names_that_nobody_can_type(name: str, config: Path, own_folder: Path) -> None:
    with pytest.raises(InputError, match="can't be the name of a model|would be taken for a file") as caught:
        add(config, name)
    assert "\n" not in str(caught.value)
    assert not own_folder.exists()


@pytest.mark.parametrize("name", ["a", "a.b", "me/a.b-c", "qwen3:8b", "模型", "modèle", "modèle", "3b", "A_b+c"])
def test_names_that_people_type(name: str, config: Path) -> None:
    added = add(config, name).added
    assert load_model(added.name).catalog_name == added.name


@pytest.mark.parametrize(
    ("name", "aliases", "message"),
    [
        ("llama3-8b", (), r"there is a model 'llama3-8b' already, in models\.toml"),
        ("llama-3.1-8b", (), r"there is a model 'llama-3\.1-8b' already \(an alias of llama3-8b\), in models\.toml"),
        ("LLAMA3-8b", (), "there is a model 'llama3-8b' already; names must differ in more than case"),
        ("mine", ("llama-3.1-8b",), r"there is a model 'llama-3\.1-8b' already \(an alias of llama3-8b\)"),
        ("mine", ("llama3-8b",), "--alias 'llama3-8b' is the name of a model, which goes before any alias"),
    ],
)
def test_names_that_are_taken(
    name: str, aliases: tuple[str, ...], message: str, config: Path, own_folder: Path
) -> None:
    with pytest.raises(InputError, match=message):
        add(config, name, aliases=aliases)
    assert not (own_folder / "models.toml").exists()


def test_a_shipped_name_is_laid_over_only_when_asked(config: Path) -> None:
    shipped = load_model("llama3-8b")
    answer = add(config, "llama3-8b", replace=True)
    assert load_model("llama3-8b").kv == answer.model.kv != shipped.kv
    assert answer.added.replaced == "models.toml"
    assert "llama-3.1-8b" in answer.added.lost_aliases
    answer = add(config, "other", aliases=("llama-3.3-70b",), replace=True)
    assert load_model("llama-3.3-70b").catalog_name == "other"


def test_a_hub_id_that_another_row_has_stays_with_it(config: Path) -> None:
    answer = add(config, hub_id="meta-llama/Llama-3.1-8B-Instruct")
    assert answer.model.hub_id == "meta-llama/Llama-3.1-8B-Instruct"
    assert answer.added.aliases == ()
    assert load_model("meta-llama/Llama-3.1-8B-Instruct").catalog_name == "llama3-8b"


def test_a_row_that_a_later_file_would_hide_is_not_written(
    config: Path, own_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = tmp_path / "later.toml"
    add(config, catalog=str(later))
    monkeypatch.setenv("KVPLAN_CATALOG", str(later))
    with pytest.raises(CatalogError, match=r"'mine' would still mean .*later\.toml \[models\.mine\]"):
        add(config, replace=True)
    assert not (own_folder / "models.toml").exists()
    assert add(config, replace=True, catalog=str(later)).added.always_read


def test_a_hub_id_without_fetch_is_a_path_that_is_not_there() -> None:
    with pytest.raises(InputError, match="^me/model: there is no such file$") as caught:
        add(Path("me/model"))
    assert caught.value.help == "--fetch reads it from the Hugging Face Hub"


def test_a_config_that_toml_can_not_hold_becomes_a_layout(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, "odd": "\ud800", "list": [None]}), encoding="utf-8")
    answer = add(path)
    assert answer.form == "layout"
    assert load_model("mine").kv == (KvLayers("full", 3, 2, 128, 128),)


def test_long_lists_stand_on_many_lines(tmp_path: Path, own_folder: Path) -> None:
    kept = [f"model.layers.{index}.mlp.experts.{index}.down_proj" for index in range(4000)]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, "modules_in_16_bits": kept}), encoding="utf-8")
    assert add(path).form == "config"
    text = (own_folder / "models.toml").read_text(encoding="utf-8")
    assert max(map(len, text.splitlines())) <= 120
    assert tomllib.loads(text)["models"]["mine"]["config"]["modules_in_16_bits"] == kept


def host_file(tmp_path: Path, text: str, name: str = "box.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        HOST,
        f"[hosts.box]\naliases = ['under-desk']\n{HOST}",
        f"name = 'box'\nsource = 'weighed'\n{HOST}".replace('"rtx4090"', "{ hbm_gib = 23.5, vendor = 'nvidia' }"),
        f"[hosts.box]\n{HOST}[gpus.my-gpu]\nhbm_gib = 20\nbf16_tflops = 100\n".replace("rtx4090", "my-gpu"),
    ],
)  # fmt: skip
def test_the_host_comes_back(text: str, tmp_path: Path, own_folder: Path) -> None:
    path = host_file(tmp_path, text)
    told = load_host(str(path))
    answer = import_host(ImportWords(str(path)))
    assert answer.added.file == str(own_folder / "hardware.toml")
    path.unlink()
    host = load_host("box")
    assert host == answer.host
    assert host.gpu is not None and told.gpu is not None
    assert host._replace(source="", gpu=None) == told._replace(source="", gpu=None)
    assert host.gpu._replace(source="") == told.gpu._replace(source="")
    assert host.source == ("weighed" if "weighed" in text else str(path))


def test_a_host_gets_another_name(tmp_path: Path) -> None:
    path = host_file(tmp_path, HOST)
    import_host(ImportWords(str(path), "desk"))
    assert load_host("desk").dram_bytes == 128 * 2**30
    with pytest.raises(InputError, match="there is a host 'desk' already"):
        import_host(ImportWords(str(path), "desk"))
    with pytest.raises(InputError, match="there is a host 'rtx4090' already"):
        import_host(ImportWords(str(path), "rtx4090"))
    assert import_host(ImportWords(str(path), "rtx4090", replace=True)).added.replaced == "hardware.toml"
    assert load_host("rtx4090").title == "Box under the desk"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no host table"),
        ("[hosts.a]\n[hosts.b]\n", r"must hold one host table \(it holds 2\)"),
        (HOST.replace("gpus = 2", "gpus = 0"), r"gpus must be greater than 0 \(it is 0\)"),
        (HOST.replace("rtx4090", "rtx409"), "the catalog has none named 'rtx409'"),
        (HOST + "colour = 'red'\n", "has no field 'colour'"),
        ("name = 'a/b'\n" + HOST, "'a/b' can't be the name of a host"),
        ("bought = 2024-01-01\n" + HOST, "has no field 'bought'"),
    ],
)
def test_hosts_that_are_refused(text: str, message: str, tmp_path: Path, own_folder: Path) -> None:
    with pytest.raises(KvplanError, match=message):
        import_host(ImportWords(str(host_file(tmp_path, text))))
    assert not (own_folder / "hardware.toml").exists()


def test_a_gguf_becomes_a_row_that_needs_it_no_more(tmp_path: Path) -> None:
    keys = gguf_kit.keys("llama", gguf_kit.LLAMA_8B)
    path = gguf_kit.write(tmp_path / "model-Q4_K_M.gguf", keys, gguf_kit.llama_8b())
    read = read_model(path)
    answer = add(path)
    assert answer.form == "layout"
    path.unlink()
    model = load_model("mine")
    assert plain(model) == plain(read)
    assert model.stored is not None
    assert model.stored.total_bytes == pytest.approx(4.92e9, rel=0.005)  # the published file
    assert model.kv == (KvLayers("full", 32, 8, 128, 128),)


def test_a_folder_keeps_the_true_bytes_of_its_tensors(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    kit.write_config(folder, {**CONFIG, "num_hidden_layers": 1})
    kit.write_safetensors(folder / "model.safetensors", {
        "model.embed_tokens.weight": ("F16", (1000, 1024)),
        "model.layers.0.mlp.up_proj.weight": ("F16", (14_800, 1024)),  # all that a layer has, nearly
        "vision_tower.patches.weight": ("F32", (10, 10)),
    })  # fmt: skip
    read = read_model(folder)
    answer = add(folder)
    assert answer.form == "config"
    shutil.rmtree(folder)
    model = load_model("mine")
    assert plain(model)._replace(warnings=()) == plain(read)._replace(warnings=())
    assert model.stored is not None
    assert (model.stored.embedding_bytes, model.stored.tower_bytes) == (2 * 1000 * 1024, 400)
    assert read.warnings != ()
