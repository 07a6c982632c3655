"""``kvplan lock`` as it is typed: what it says, and how it ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import kvplan as api
from kvplan.errors import InputError
from tests.cli.kit import answer, kvplan
from tests.cli.test_schema import faults
from tests.golden_kit import check_golden
from tests.results.check_kit import write

CHAT = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
FILES = {
    "deploy/chat.sh": "#!/bin/sh\nvllm serve ./chat --max-model-len 8192\nvllm serve Qwen/Qwen3-8B\n",
    "deploy/tiny.sh": "#!/bin/sh\nvllm serve nobody/has-this\nvllm serve /mnt/weights/code\n",
    "deploy/values.yaml": "a: [\n",
    "deploy/chat/config.json": json.dumps(CHAT),
}


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository with one model of its own, one of a catalog, and two that nobody has."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "repository/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    write(tmp_path / "repository", FILES)
    return tmp_path / "repository"


def test_what_is_said(repository: Path) -> None:
    done = kvplan("lock", "deploy")
    assert (done.code, done.err) == (1, "")
    pages = [done.out, (repository / "kvplan.lock.toml").read_text(encoding="utf-8")]
    (repository / "deploy/tiny.sh").unlink()
    shutil.rmtree(repository / "deploy/chat")
    (repository / "deploy/more.sh").write_text("vllm serve chat/config.json\n", encoding="utf-8")
    write(repository, {"deploy/chat/config.json": json.dumps({**CHAT, "num_hidden_layers": 30})})
    for arguments, code in ((("--check",), 1), ((), 0), (("--check",), 0)):
        done = kvplan("lock", "deploy", *arguments)
        assert (done.code, done.err) == (code, "")
        pages.append(done.out)
    write(repository, {"deploy/chat.sh": "vllm serve llama3-8b\n", "deploy/more.sh": "vllm serve llama3-8b\n"})
    pages.append(kvplan("lock", "deploy").out)
    check_golden("lock-100.txt", "\n----\n".join(pages))


def test_json_validates() -> None:
    found = answer("lock", "deploy", code=1)
    assert faults(found) == []
    assert found["schema"] == "kvplan.lock/1"
    assert [(item["name"], item["status"], item["kv_bytes_per_token"]) for item in found["locked"]] == [
        ("local/chat", "new", 131072)
    ]
    assert {item["text"]: item["places"] for item in found["unlocked"]} == {
        "nobody/has-this": ["deploy/tiny.sh:2"], "/mnt/weights/code": ["deploy/tiny.sh:3"],
    }  # fmt: skip
    assert [(item["text"], item["name"]) for item in found["known"]] == [("Qwen/Qwen3-8B", "qwen3-8b")]
    again = answer("lock", "deploy/chat.sh", "--check")
    assert (again["written"], again["stale"], faults(again)) == (False, False, [])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "error: PATHS is missing"),
        (("nowhere",), 2, "error: nowhere: no such file or folder"),
        (("deploy", "--upgrade"), 2, "error: --upgrade reads models of the Hub again, so it needs --fetch"),
        (("deploy", "--output", "deploy/chat.sh"), 2, "error: deploy/chat.sh: is not a lock file of kvplan"),
        (("deploy", "--output", "deploy"), 2, "error: deploy: is a folder"),
        (("deploy", "--catalog", "none.toml"), 2, "error: none.toml: can't be read"),
        (("deploy/chat",), 3, ""),
    ],
)
def test_refusals(arguments: tuple[str, ...], code: int, message: str, repository: Path) -> None:
    done = kvplan("lock", *arguments)
    assert done.code == code, done.err
    assert done.err.startswith(message)
    assert not (repository / "kvplan.lock.toml").exists()


def test_the_help_says_what_matters() -> None:
    text = " ".join(kvplan("lock", "--help").out.split())
    for words in ("--fetch", "--upgrade", "--check", "--output", "kvplan.lock.toml", "check and diff read it"):
        assert words in text


def test_in_python(repository: Path) -> None:
    found = api.lock(repository / "deploy/chat.sh", check=True)
    assert (found.exit_code, found.stale, found.written) == (1, True, False)
    assert api.lock(["deploy/chat.sh"], output=repository / "own.lock.toml").written
    assert (repository / "own.lock.toml").is_file()
    with pytest.raises(InputError, match="no path was named"):
        api.lock()
