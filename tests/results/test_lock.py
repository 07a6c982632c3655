"""``kvplan lock``: what is written, what is asked, and that ``check`` finds there what the checkpoint itself gives."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvplan.catalog.models import load_model
from kvplan.checkpoints.read import read_model
from kvplan.errors import CatalogError, InputError
from kvplan.results.check import check
from kvplan.results.diff import diff
from kvplan.results.lock import LockResult, LockWords, lock
from tests.checkpoints import gguf_kit
from tests.checkpoints.hub_server import COMMIT, FakeHub, safetensors
from tests.checkpoints.test_hub import CONFIG, ELEMENTS, ends, hub, layer, needs_library  # noqa: F401  # a fixture
from tests.results.check_kit import write
from tests.results.git_kit import repository_with

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LOCK = "kvplan.lock.toml"
BIG = {
    **CONFIG, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "_name_or_path": "/home/me/chat", "bos_token_id": 1, "rms_norm_eps": 1e-5, "attention_dropout": 0.0,
}  # fmt: skip
"""Llama 3.1 8B's shape: 128 KiB of KV a token, 15 GiB of weights."""


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty repository, which is the current folder, on a machine without catalogs of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)
    (tmp_path / "repository/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    yield tmp_path / "repository"


def served(*models: str, flags: str = "--max-model-len 4096") -> str:
    return "#!/bin/sh\n" + "".join(f"vllm serve {model} {flags}\n" for model in models)


def put(path: str, content: str | dict[str, Any]) -> None:
    write(Path(), {path: content if isinstance(content, str) else json.dumps(content)})


def rows() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(Path(LOCK).read_text(encoding="utf-8")).get("models", {})
    return found


def statuses(answer: LockResult) -> dict[str, str]:
    return {item.locked.name: item.status for item in answer.entries}


def questions(answer: LockResult) -> dict[str, str]:
    return {item.text: item.question for item in answer.unlocked}


def kv412(answer: Any) -> list[str]:
    return [item.remedy for item in answer.findings if item.rule == "KV412"]


# What is written


def test_a_local_checkpoint_beside_the_deployment_file() -> None:
    put("deploy/serve.sh", served("./chat"))
    put("deploy/chat/config.json", BIG)
    answer = lock(["deploy"])
    assert (answer.exit_code, answer.written, answer.file) == (0, True, LOCK)
    (row,) = rows().values()
    assert row["aliases"] == ["./chat"]
    assert row["source"] == "deploy/chat"
    assert not {"_name_or_path", "bos_token_id", "rms_norm_eps", "attention_dropout"} & set(row["config"])
    found, own = load_model("./chat", (LOCK,)), read_model("deploy/chat")
    assert (found.kv, found.weights, found.layers) == (own.kv, own.weights, own.layers)
    assert found.kv[0].elements_per_token == 2 * 8 * 128


def test_check_judges_from_the_lock_what_the_checkpoint_would_give() -> None:
    """The weights are no part of the repository: where they are missing the figures stay the same."""
    put("deploy/serve.sh", served("chat/config.json", flags="--max-model-len 65536"))
    put("chat/config.json", BIG)
    before = check(["deploy"], host="rtx4090")
    assert lock(["deploy"]).exit_code == 0
    shutil.rmtree("chat")
    after = check(["deploy"], host="rtx4090")
    assert [item.message for item in after.findings] == [item.message for item in before.findings]
    assert "KV102" in {item.rule for item in after.findings if item.level == "fail"}
    Path(LOCK).unlink()
    lost = check(["deploy"], host="rtx4090")
    assert {item.level for item in lost.findings if item.rule == "KV412"} == {"unknown"}


def test_the_lock_is_found_from_any_folder_and_lies_below_other_catalogs(monkeypatch: pytest.MonkeyPatch) -> None:
    put("deploy/a/serve.sh", served("./chat"))
    put("deploy/a/chat/config.json", BIG)
    lock(["deploy"])
    shutil.rmtree("deploy/a/chat")
    for folder in ("deploy", "a"):
        monkeypatch.chdir(folder)
        assert kv412(check(["."], host="rtx4090")) == []
    smaller = {**CONFIG, "max_position_embeddings": 1024}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in smaller.items())
    put("own.toml", f"[models.mine]\naliases = ['./chat']\n[models.mine.config]\n{lines}")
    (found,) = check(["."], host="rtx4090", catalog=("own.toml",)).deployments
    assert found.context.model is not None
    assert found.context.model.catalog_name == "mine"


def test_a_catalog_that_has_the_model_is_enough() -> None:
    put("serve.sh", served("Qwen/Qwen3-8B", "/models/Qwen3-32B"))
    answer = lock(["."])
    assert answer.exit_code == 0
    assert [(item.text, item.name, item.only_here) for item in answer.known] == [
        ("/models/Qwen3-32B", "qwen3-32b", False), ("Qwen/Qwen3-8B", "qwen3-8b", False),
    ]  # fmt: skip
    assert not Path(LOCK).exists()


def test_a_catalog_of_this_machine_alone_is_said(tmp_path: Path) -> None:
    put("chat/config.json", BIG)
    put("serve.sh", served("me/chat"))
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in CONFIG.items())
    write(tmp_path, {"config/kvplan/models.toml": f'[models."me/chat"]\n[models."me/chat".config]\n{lines}'})
    answer = lock(["serve.sh"])
    assert [(item.name, item.only_here) for item in answer.known] == [("me/chat", True)]


def test_the_same_bytes_from_any_folder_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    put("b.sh", served("z/two/config.json", "z/one/config.json"))
    put("deploy/a.sh", served("../z/one/config.json"))
    put("z/one/config.json", BIG)
    put("z/two/config.json", {**BIG, "num_hidden_layers": 16})
    assert lock(["."]).exit_code == 0
    text = Path(LOCK).read_bytes()
    assert len(rows()) == 2
    assert list(rows()) == sorted(rows())
    again = lock(["deploy", "b.sh"])
    assert (again.stale, again.written, Path(LOCK).read_bytes()) == (False, False, text)
    Path(LOCK).unlink()
    monkeypatch.chdir("deploy")
    lock(["..", "."])
    assert Path(f"../{LOCK}").read_bytes() == text


def test_gguf_files_under_both_servers() -> None:
    put("serve.sh", "llama-server -m weights/own-Q4_K_M.gguf -c 4096\n")
    put("ollama/Modelfile", "FROM ../weights/own-Q4_K_M.gguf\nPARAMETER num_ctx 4096\n")
    Path("weights").mkdir()
    keys = gguf_kit.keys("llama", gguf_kit.LLAMA_8B)
    file = gguf_kit.write(Path("weights/own-Q4_K_M.gguf"), keys, gguf_kit.llama_8b())
    own = read_model(str(file))
    answer = lock(["."])
    assert answer.exit_code == 0, questions(answer)
    (row,) = rows().values()
    assert row["aliases"] == ["../weights/own-Q4_K_M.gguf", "weights/own-Q4_K_M.gguf"]
    shutil.rmtree("weights")
    for path in ("serve.sh", "ollama/Modelfile"):
        (found,) = check([path], host="rtx4090").deployments
        assert found.context.model is not None
        assert found.context.model.kv == own.kv
        assert found.context.model.stored == own.stored


def test_the_lock_stands_beside_the_configuration() -> None:
    put("ci/.kvplan.toml", '[models]\n"/mnt/chat" = "deploy/chat"\n')
    put("ci/deploy/serve.sh", served("/mnt/chat"))
    put("ci/deploy/deploy/chat/config.json", BIG)
    answer = lock(["ci/deploy"])
    assert (answer.file, answer.exit_code) == (f"ci/{LOCK}", 0)
    assert answer.entries[0].locked.row["aliases"] == ["deploy/chat"]
    shutil.rmtree("ci/deploy/deploy")
    assert kv412(check(["ci/deploy"], host="rtx4090")) == []


# What changes


def test_check_says_stale_and_writes_nothing() -> None:
    put("serve.sh", served("./chat"))
    put("chat/config.json", BIG)
    words = LockWords(check=True)
    answer = lock(["serve.sh"], words)
    assert (answer.exit_code, answer.stale, answer.written, Path(LOCK).exists()) == (1, True, False, False)
    lock(["serve.sh"])
    text = Path(LOCK).read_text(encoding="utf-8")
    assert lock(["serve.sh"], words).exit_code == 0
    put("chat/config.json", {**BIG, "num_hidden_layers": 33})
    answer = lock(["serve.sh"], words)
    assert (answer.exit_code, statuses(answer)) == (1, {"local/chat": "changed"})
    assert Path(LOCK).read_text(encoding="utf-8") == text
    shutil.rmtree("chat")
    answer = lock(["serve.sh"], words)
    assert (answer.exit_code, statuses(answer)) == (0, {"local/chat": "kept"})


def test_a_row_goes_when_nothing_in_the_repository_names_it() -> None:
    put("deploy/serve.sh", served("./chat"))
    put("other/serve.sh", served("./code"))
    put("deploy/chat/config.json", BIG)
    put("other/code/config.json", {**BIG, "num_hidden_layers": 16})
    lock(["."])
    answer = lock(["deploy"])
    assert (statuses(answer), answer.dropped) == ({"local/chat": "same", "local/code": "kept"}, ())
    put("other/serve.sh", served("llama3-8b"))
    answer = lock(["deploy"], LockWords(check=True))
    assert (answer.exit_code, [item.name for item in answer.dropped]) == (1, ["local/code"])
    assert "local/code" in rows()
    lock(["deploy"])
    assert list(rows()) == ["local/chat"]


def test_one_name_for_two_models_is_a_question() -> None:
    for folder, layers in (("a", 32), ("b", 16)):
        put(f"{folder}/serve.sh", served("./chat"))
        put(f"{folder}/chat/config.json", {**BIG, "num_hidden_layers": layers})
    answer = lock(["."])
    assert answer.exit_code == 1
    assert questions(answer) == {"./chat": "means different models in different folders: a/chat and b/chat"}
    assert not Path(LOCK).exists()
    put("b/chat/config.json", BIG)
    assert lock(["."]).exit_code == 0


def test_what_could_not_be_locked_is_asked() -> None:
    put("serve.sh", served("nobody/has-this", "/mnt/chat", "$MODEL", "./odd", "own-model"))
    put("odd/config.json", {**BIG, "model_type": "nobody"})
    answer = lock(["serve.sh"])
    assert answer.exit_code == 1
    asked = questions(answer)
    assert asked["nobody/has-this"] == "no catalog has it, and the Hub was not asked"
    assert asked["/mnt/chat"] == "there is no such file or folder here"
    assert asked["own-model"] == "no catalog has it"
    assert "$MODEL has no literal value" in asked[""]
    assert "'nobody' is not known" in asked["./odd"]
    assert [item.places for item in answer.unlocked][0] == ("serve.sh:2",)
    assert all(item.remedy for item in answer.unlocked if item.text != "./odd")


def test_nothing_recognised() -> None:
    put("a.yaml", "a: 1\n")
    put(LOCK, "")
    assert lock(["."]).exit_code == 3


# What is refused


def test_another_file_is_never_overwritten() -> None:
    put("serve.sh", served("./chat"))
    put("chat/config.json", BIG)
    put("own.toml", "[hosts.box]\ngpu = 'rtx4090'\n")
    with pytest.raises(InputError, match=r"own.toml: is not a lock file of kvplan"):
        lock(["serve.sh"], LockWords("own.toml"))
    with pytest.raises(InputError, match="--fetch"):
        lock(["serve.sh"], LockWords(upgrade=True))
    with pytest.raises(InputError, match="no folder"):
        lock(["serve.sh"], LockWords("nowhere/lock.toml"))


@pytest.mark.parametrize("tail", ["<<<<<<< HEAD\n", "models = 3\n", "[models.x]\nname = 'x'\n", "[models]\nx = 3\n"])
def test_a_damaged_lock_is_one_clear_line(tail: str) -> None:
    put("serve.sh", served("./chat"))
    put("chat/config.json", BIG)
    lock(["serve.sh"])
    header = Path(LOCK).read_text(encoding="utf-8").partition("\n[")[0]
    put(LOCK, header + "\n" + tail)
    with pytest.raises(CatalogError) as error:
        lock(["serve.sh"])
    assert str(error.value).startswith(LOCK)
    assert error.value.help == "restore it, or delete it and run kvplan lock --fetch"


# What check and diff say


def test_the_remedy_of_a_model_that_nobody_has() -> None:
    put("my deploy/serve.sh", served("nobody/has-this", "Qwen/Qwen3-8"))
    first, second = kv412(check(["my deploy"], host="rtx4090"))
    assert first == "kvplan lock 'my deploy/serve.sh' --fetch"
    assert second.startswith("kvplan lock 'my deploy/serve.sh' --fetch; did you mean qwen/qwen3-8b")


def test_each_side_of_a_diff_has_its_own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put("serve.sh", served("./chat"))
    put("chat/config.json", BIG)
    lock(["serve.sh"])
    old = Path(LOCK).read_text(encoding="utf-8")
    put("chat/config.json", {**BIG, "num_key_value_heads": 4})
    lock(["serve.sh"])
    new = Path(LOCK).read_text(encoding="utf-8")
    script = served("./chat")
    made = repository_with(tmp_path / "made", {"serve.sh": script}, {LOCK: old}, {LOCK: new})
    monkeypatch.chdir(made)
    (change,) = diff(("c1", "c2"), ["serve.sh"], host="rtx4090").to_json()["deployments"]
    tokens = change["figures"]["kv_pool_tokens"]
    assert tokens["new"] == pytest.approx(2 * tokens["old"], rel=0.1)
    (finding,) = [x for x in diff(("c0", "c1"), ["serve.sh"], host="rtx4090").findings if x.finding.rule == "KV412"]
    shown = diff(("c0", "c1"), ["serve.sh"], host="rtx4090").to_json()["findings"]
    assert finding.status == "fixed"
    assert [x["remedy"].partition(",")[0] for x in shown if x["rule"] == "KV412"] == ["kvplan lock serve.sh"]


# The Hub


@needs_library
def test_fetch_locks_and_keeps(hub: FakeHub) -> None:  # noqa: F811
    tensors = {**layer(0), **layer(1), **ends()}
    hub.add("me/tiny", {"config.json": CONFIG, "model.safetensors": safetensors(tensors)})
    put("serve.sh", served("me/tiny", "Me/Tiny"))
    assert lock(["serve.sh"]).exit_code == 1
    assert hub.asked == []
    answer = lock(["serve.sh"], LockWords(fetch=True))
    assert (answer.exit_code, statuses(answer)) == (0, {"me/tiny": "new"})
    row = rows()["me/tiny"]
    assert row["source"].startswith(f"me/tiny@{COMMIT[:12]} on the Hugging Face Hub")
    assert (row["hub_id"], "aliases" in row) == ("me/tiny", False)
    found = load_model("me/tiny", (LOCK,))
    assert (found.weights.total, found.stored and found.stored.total_bytes) == (ELEMENTS, 2 * ELEMENTS)
    asked = len(hub.asked)
    hub.add("me/tiny", {"config.json": {**CONFIG, "num_key_value_heads": 4}})
    assert statuses(lock(["serve.sh"], LockWords(fetch=True))) == {"me/tiny": "kept"}
    assert statuses(lock(["serve.sh"])) == {"me/tiny": "kept"}
    assert kv412(check(["serve.sh"], host="rtx4090")) == []
    assert len(hub.asked) == asked
    answer = lock(["serve.sh"], LockWords(fetch=True, upgrade=True))
    assert statuses(answer) == {"me/tiny": "changed"}


@needs_library
def test_what_the_hub_says_is_the_question(hub: FakeHub) -> None:  # noqa: F811
    hub.add("me/odd", {"config.json": {**CONFIG, "model_type": "nobody"}})
    hub.add("me/only-GGUF", {"own-Q4_K_M.gguf": b"GGUF"})
    hub.add("me/both-GGUF", {"own-Q4_K_M.gguf": b"GGUF", "config.json": CONFIG})
    put("serve.sh", served("me/odd", "me/gone"))
    put("llama.sh", "llama-server -hf me/only-GGUF:Q4_K_M\n")
    put("both.sh", "llama-server -hf me/both-GGUF:Q4_K_M\n")
    answer = lock(["."], LockWords(fetch=True))
    asked = questions(answer)
    assert answer.exit_code == 1
    assert set(asked) == {"me/odd", "me/gone", "me/only-GGUF:Q4_K_M"}
    assert asked["me/odd"].startswith("me/odd/config.json: architecture 'nobody' is not known")
    assert asked["me/only-GGUF:Q4_K_M"].startswith("me/only-GGUF: has GGUF files and no config.json")
    assert rows()["me/both-GGUF"]["aliases"] == ["me/both-GGUF:Q4_K_M"]
    assert kv412(check(["both.sh"], host="rtx4090")) == []
