"""``kvplan model import`` and ``kvplan host import`` as they are typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.checkpoints.test_hub import CONFIG as HUB_CONFIG
from tests.checkpoints.test_hub import hub, needs_library  # noqa: F401  # a fixture
from tests.cli.kit import answer, kvplan
from tests.cli.test_schema import faults

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
BOX = """
name = "box"
title = "Box under the desk"
gpu = "rtx4090"
link = "pcie4x16"
dram_gib = 128
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder with a config.json and a host, and a config folder that isn't there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work/config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (tmp_path / "work/box.toml").write_text(BOX, encoding="utf-8")
    return tmp_path


def test_what_is_said_of_a_model(folder: Path) -> None:
    done = kvplan("model", "import", "config.json", "--name", "mine", "--alias", "own", "--source", "my notes")
    assert (done.code, done.err) == (0, "")
    lines = re.sub(r" +", " ", done.out).splitlines()
    assert lines[0] == f"Added model mine to {folder}/config/kvplan/models.toml."
    for line in (
        "Also own",
        "KV cache 128 KiB a token in 16 bits",
        "Weights 15.0 GiB in bf16, computed from the config",
        "Source my notes",
        "kvplan fit --model mine --host rtx4090",
        "kvplan model show mine",
    ):
        assert line in lines


def test_what_is_added_is_known_from_then_on() -> None:
    added = answer("model", "import", ".", "--name", "mine", "--hub-id", "me/mine")
    assert faults(added) == []
    assert added["kv_bytes_per_token"] == 131072
    assert added["weight_bytes"] == 2 * 8_030_261_248
    assert (added["always_read"], added["replaced"], added["aliases"]) == (True, None, ["me/mine"])
    assert answer("kv", "--model", "me/mine")["kv_bytes_per_token"] == 131072
    assert "mine" in [row["name"] for row in answer("model", "list")["models"]]
    for command in added["next"]:
        assert kvplan(*command.split()[1:]).code in (0, 1), command


def test_another_file_is_named_in_what_to_type_next(folder: Path) -> None:
    added = answer("model", "import", "config.json", "--name", "mine", "--catalog", "a b.toml")
    assert (added["file"], added["always_read"]) == ("a b.toml", False)
    assert added["next"][0] == "kvplan fit --model mine --host rtx4090 --catalog 'a b.toml'"
    assert answer("model", "show", "mine", "--catalog", "a b.toml")["name"] == "mine"
    assert not (folder / "config").exists()


def test_a_catalog_without_a_name_is_refused() -> None:
    for empty in ("", " "):
        done = kvplan("model", "import", "config.json", "--name", "mine", "--catalog", empty)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("error: --catalog must name a file to write to\nhelp: ")


def test_twice_and_replaced() -> None:
    arguments = ("model", "import", "config.json", "--name", "mine")
    assert kvplan(*arguments, "--alias", "old").code == 0
    again = kvplan(*arguments)
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("error: there is a model 'mine' already, in ")
    assert again.err.endswith("help: kvplan model show mine; --replace lays the new one over it\n")
    replaced = answer(*arguments, "--replace")
    assert (replaced["replaced"], replaced["lost_aliases"]) == (replaced["file"], ["old"])
    assert kvplan(*arguments, "--replace").out.startswith("Replaced model mine in ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("model", "import", "nowhere", "--name", "x"), 2, "nowhere: there is no such file"),
        (("model", "import", "config.json"), 2, "--name is missing"),
        (("model", "import", "--name", "x"), 2, "PATH is missing"),
        (("model", "import", "config.json", "--name", "a b"), 2, "'a b' can't be the name of a model"),
        (("model", "import", "config.json", "--name", "x", "--hub-id", "x"), 2, "--hub-id must look like owner/name"),
        (("model", "import", "odd.json", "--name", "x"), 3, "odd.json: architecture 'nobody' is not known"),
        (("model", "import", "config.json", "--name", "llama3-8b"), 2, "there is a model 'llama3-8b' already"),
        (("host", "import", "config.json"), 2, "config.json:1: is not valid TOML"),
        (("host", "import", "nowhere.toml"), 2, "nowhere.toml: can't be read"),
        (("host", "import", "box.toml", "--name", "rtx4090"), 2, "there is a host 'rtx4090' already"),
        (("host", "import", "box.toml", "--name", "a/b"), 2, "'a/b' can't be the name of a host"),
    ],
)
def test_refusals(arguments: tuple[str, ...], code: int, message: str, folder: Path) -> None:
    (folder / "work/odd.json").write_text(json.dumps({**LLAMA, "model_type": "nobody"}), encoding="utf-8")
    done = kvplan(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"error: {message}")
    error = kvplan(*arguments, "--format", "json")
    assert error.code == code
    assert faults(error.answer) == []
    assert not (folder / "config").exists()


def test_a_host(folder: Path) -> None:
    done = kvplan("host", "import", "box.toml")
    assert (done.code, done.err) == (0, "")
    lines = re.sub(r" +", " ", done.out).splitlines()
    assert lines[0] == f"Added host box to {folder}/config/kvplan/hardware.toml."
    assert "Not known dram bytes per s, cpu cores: strategies that need it are UNKNOWN here" in lines
    assert "kvplan fit --model llama3-8b --host box" in lines
    added = answer("host", "import", "box.toml", "--name", "box2", "--source", "the bill")
    assert faults(added) == []
    assert added["host"]["source"] == "the bill"
    assert added["unknown"] == ["dram_bytes_per_s", "cpu_cores"]
    fit = answer("fit", "--model", "llama3-8b", "--host", "box2", "--strategy", "hbm", "--context", "8k")
    assert fit["host"]["dram_bytes"] == 128 * 2**30


@needs_library
def test_a_model_of_the_hub(hub, folder: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    hub.add("me/tiny", {"config.json": HUB_CONFIG})
    hub.add("me/odd", {"config.json": {**HUB_CONFIG, "model_type": "nobody"}})
    added = answer("model", "import", "me/tiny", "--name", "tiny", "--fetch")
    assert (added["hub_id"], added["aliases"]) == ("me/tiny", ["me/tiny"])
    assert added["model"]["source"].endswith("on the Hugging Face Hub")
    hub.asked.clear()
    assert answer("kv", "--model", "me/tiny", "--fetch") == answer("kv", "--model", "tiny")
    assert hub.asked == []
    assert answer("kv", "--model", "me/tiny@main", "--fetch")["model"] == "tiny"
    assert answer("model", "show", "me/tiny@main", "--fetch")["hub_id"] == "me/tiny"
    fit = answer("fit", "--model", "me/tiny@main", "--host", "rtx4090", "--context", "4k", "--fetch")
    assert "vllm serve me/tiny " in fit["strategies"][0]["flags"]
    odd = kvplan("kv", "--model", "me/odd", "--fetch")
    assert (odd.code, odd.err.splitlines()[0][:58]) == (3, "error: me/odd/config.json: architecture 'nobody' is not kn")


@pytest.mark.parametrize("command", [("kv",), ("fit", "--host", "rtx4090"), ("sweep", "--host", "rtx4090")])
def test_without_fetch_a_hub_id_is_unknown_and_the_way_is_said(command: tuple[str, ...]) -> None:
    done = kvplan(*command, "--model", "me/model")
    assert done.code == 2
    assert done.err.startswith("error: no model named 'me/model'\nhelp: ")
    commands = "fit, kv, sweep, model show and model import"
    assert done.err.endswith(f"{commands} read it from the Hugging Face Hub with --fetch\n")
    assert "--fetch" not in kvplan(*command, "--model", "model").err
