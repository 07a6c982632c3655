"""Nothing but ``--fetch`` reaches a network: every command runs with sockets that count and refuse."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoints.test_hub import CONFIG, needs_library
from tests.cli.kit import kvplan


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What tried to look up a host or to open a connection."""
    found: list[str] = []

    def refuse(name: str) -> object:
        def call(*arguments: object, **words: object) -> None:
            found.append(name)
            raise OSError(101, "Network is unreachable")

        return call

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse(name))
    for name in ("getaddrinfo", "create_connection", "gethostbyname"):
        monkeypatch.setattr(socket, name, refuse(name))
    yield found


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("fit --model llama3-8b --host rtx4090", None),
        ("fit --model meta-llama/Llama-3.1-8B-Instruct --host h100-server --format json", None),
        ("kv --model deepseek-ai/DeepSeek-V3", 0),
        ("kv --model nobody/has-this", 2),
        ("kv --model folder", 0),
        ("model show folder/config.json", 0),
        ("model list", 0),
        ("model import folder --name mine", 0),
        ("model import nobody/has-this --name mine", 2),
        ("host list", 0),
        ("host import box.toml", 0),
        ("check deployment.toml", None),
        ("lock deployment.toml", 1),
        ("explain offload-retrieve", 0),
        ("schema fit", 0),
    ],
)
def test_no_command_reaches_a_network(
    command: str, code: int | None, tried: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    named = {**CONFIG, "_name_or_path": "nobody/has-this", "base_model": "https://example.com/x"}
    (tmp_path / "folder/config.json").write_text(json.dumps(named), encoding="utf-8")
    (tmp_path / "box.toml").write_text("gpu = 'rtx4090'\ndram_gib = 64\n", encoding="utf-8")
    (tmp_path / "deployment.toml").write_text(
        "schema = 'kvplan.deployment/1'\nmodel = 'nobody/has-this'\nhost = 'rtx4090'\nfetch = true\n", encoding="utf-8"
    )
    done = kvplan(*command.split())
    assert done.code in ((0, 1, 3) if code is None else (code,)), done.err
    assert tried == []


@needs_library
def test_fetch_does(tried: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = kvplan("kv", "--model", "nobody/has-this", "--fetch")
    assert done.code == 2
    assert done.err.startswith("error: nobody/has-this: http://127.0.0.1:9 can't be reached: ")
    assert tried != []
