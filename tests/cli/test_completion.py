"""Shell completion, asked the way that a shell asks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def completed(words: str, shell: str = "bash") -> list[str]:
    """What the shell offers after these words; the last one is being typed."""
    environment = {
        **os.environ,
        "_KVPLAN_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "_TYPER_COMPLETE_ARGS": words,
    }
    program = "import sys; sys.argv[0] = 'kvplan'; from kvplan.cli import main; main()"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("kvplan fit --model llama3-", {"llama3-8b", "llama3-70b"}),
        ("kvplan kv --model deepseek-v", {"deepseek-v3"}),
        ("kvplan fit --host rtx40", {"rtx4090"}),
        ("kvplan fit --host h100", {"h100-server", "h100"}),
        ("kvplan fit --strategy offload-", {"offload-retrieve", "offload-stream"}),
        ("kvplan model show qwen3-", {"qwen3-8b"}),
        ("kvplan host show m3", {"m3-max", "m3-ultra"}),
        ("kvplan explain dram_", {"dram_capacity", "dram_bandwidth"}),
        ("kvplan explain kv-fp8+off", {"kv-fp8+offload-retrieve"}),
        ("kvplan schema fit", {"fit", "fit-matrix"}),
        ("kvplan ", {"fit", "kv", "model", "host", "explain", "schema"}),
        ("kvplan model ", {"list", "show"}),
        ("kvplan fit --kv", {"--kv-cache-dtype", "--kv-offloading-size"}),
    ],
)
def test_what_is_offered(words: str, offered: set[str]) -> None:
    found = completed(words)
    assert offered <= set(found)
    typed = words.split(" ")[-1].lower()
    assert all(name.lower().startswith(typed) for name in found)


def test_nothing_is_offered_where_nothing_begins_so() -> None:
    assert completed("kvplan fit --model zzz") == []


def test_zsh_is_served_too() -> None:
    assert any("llama3-8b" in line for line in completed("kvplan fit --model llama3-8", "zsh"))


def test_installing_is_an_option() -> None:
    command = [sys.executable, "-m", "kvplan", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "--install-completion" in shown
