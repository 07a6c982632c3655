from __future__ import annotations

import pytest

import tests.deployments.kit as kit

SCRIPT = """#!/bin/bash
# vllm serve in-a-comment --max-model-len 1
set -euo pipefail
MODEL=meta-llama/Llama-3.1-8B-Instruct
export MAX_LEN="${MAX_LEN:-8192}" UTIL=0.95
echo "vllm serve $MODEL --max-model-len 2"
pkill -f "vllm serve" || true
grep -m 1 -c "vllm serve" log

vllm serve "$MODEL" \\
    --max-model-len ${MAX_LEN} \\
    --gpu-memory-utilization $UTIL \\
    --kv-cache-dtype='fp8' \\
    -tp 2 > log 2>&1 &
"""


def test_a_script() -> None:
    item = kit.one(SCRIPT, "serve.sh")
    assert kit.values(item) == {
        "model": "meta-llama/Llama-3.1-8B-Instruct", "max_model_len": "8192", "gpu_memory_utilization": "0.95",
        "kv_cache_dtype": "fp8", "tp": "2",
    }  # fmt: skip
    assert item.place.line == 10


def test_a_value_is_blamed_where_it_is_written() -> None:
    assert kit.lines(kit.one(SCRIPT, "serve.sh")) == {
        "model": 4, "max_model_len": 5, "gpu_memory_utilization": 5, "kv_cache_dtype": 13, "tp": 14,
    }  # fmt: skip


@pytest.mark.parametrize(("assigned", "used", "value"), [
    ("X=4096", "$X", "4096"), ("X=4096", "${X}", "4096"), ("X='4096'", '"$X"', "4096"), ("", "${X:-4096}", "4096"),
    ("", "${1:-4096}", "4096"), ("X=${1:-4096}", "$X", "4096"), ("Y=4096\nX=$Y", "$X", "4096"),
    ("readonly X=4096", "$X", "4096"), ("declare -i X=4096", "$X", "4096"), (": ${X:=4096}", "$X", "4096"),
    ("if [ -z $X ]; then X=4096; fi", "$X", "4096"), ("X=40", "${X}96", "4096"), ("X=", "${X:-4096}", "4096"),
    ("X=1\nX=4096", "$X", "4096"), ("X=40\nX+=96", "$X", "4096"), ("X=4096.5", "${X%.*}", "4096"),
])  # fmt: skip
def test_literal_values_are_filled_in(assigned: str, used: str, value: str) -> None:
    item = kit.one(f"{assigned}\nvllm serve m --max-model-len {used}\n", "a.sh")
    assert kit.values(item)["max_model_len"] == value
    assert not item.unresolved


@pytest.mark.parametrize(("assigned", "used"), [
    ("", "$X"), ("", "${X}"), ("X=$(cat len)", "$X"), ("X=`cat len`", "$X"), ("X=$((4 * N))", "$X"), ("", "$1"),
    ("if a; then X=1; else X=2; fi", "$X"), ("for X in 1 2; do", "$X"), ("read -r X", "$X"), ("", "$((1 << 12))"),
    ("X=4096", "${X//6/}"), ("X=$(cat len)", "${X:-4096}"), ("X=1\nif a; then X=2; fi", "$X"),
    ("X=4096 true", "$X"), ("A=$B\nB=$A", "$A"),
    ("", "${X:-$(cat len)}"), ("while read X; do", "$X"),
])  # fmt: skip
def test_anything_else_is_unresolved(assigned: str, used: str) -> None:
    item = kit.one(f"{assigned}\nvllm serve m --max-model-len {used}\n", "a.sh")
    assert "max_model_len" not in item.settings
    assert kit.open_names(item) == ["max_model_len"]


def test_nothing_is_executed(tmp_path: object) -> None:
    item = kit.one(f"vllm serve $(touch {tmp_path}/ran) --max-model-len `touch {tmp_path}/ran`\n", "a.sh")
    assert kit.open_names(item) == ["model", "max_model_len"]
    import pathlib

    assert not (pathlib.Path(str(tmp_path)) / "ran").exists()


def test_arrays() -> None:
    text = 'ARGS=(\n  --max-model-len 4096 # longest\n  -tp 2\n)\nvllm serve m "${ARGS[@]}" --enforce-eager\n'
    item = kit.one(text, "a.sh")
    assert kit.values(item) == {"model": "m", "max_model_len": "4096", "tp": "2", "enforce_eager": True}
    assert kit.lines(item)["tp"] == 3
    grown = kit.one(text.replace("vllm", "ARGS+=(--max-num-seqs 8)\nvllm"), "a.sh")
    assert kit.values(grown) == {**kit.values(item), "max_num_seqs": "8"}
    maybe = kit.one(text.replace("vllm", "if a; then ARGS+=(--max-num-seqs 8); fi\nvllm"), "a.sh")
    assert kit.values(maybe) == kit.values(item)
    assert kit.open_names(maybe) == ["max_num_seqs"]


def test_arguments_of_the_caller_are_usually_none() -> None:
    item = kit.one('vllm serve m --max-model-len 4096 "$@" $EXTRA\n', "a.sh")
    assert [(open_.name, open_.stops) for open_ in item.unresolved] == [("arguments", False), ("arguments", False)]


@pytest.mark.parametrize("line", [
    "bash -c 'vllm serve m --max-model-len 4096'", 'ssh host "vllm serve m --max-model-len 4096"',
    'docker run --gpus all image bash -lc "cd /x && vllm serve m --max-model-len 4096"',
    'CMD="vllm serve m --max-model-len 4096"', "nohup vllm serve m --max-model-len 4096 &",
    "HF_HOME=/x CUDA_VISIBLE_DEVICES=0 exec vllm serve m --max-model-len 4096", "(vllm serve m --max-model-len 4096)",
    "if vllm serve m --max-model-len 4096; then echo up; fi", "/opt/venv/bin/vllm serve m --max-model-len 4096",
    "python3 -m vllm.entrypoints.openai.api_server --model m --max-model-len 4096",
    "python -m vllm.entrypoints.api_server --max-model-len 4096 --model m",
    "docker run --rm vllm/vllm-openai:v0.9.1 --model m --max-model-len 4096",
    "uv run vllm serve m --max-model-len 4096", "vllm serve m --max-model-len 4096 | tee -a log",
    """vllm serve m --hf-overrides '{"a": "b c"}' --max-model-len 4096""",
])  # fmt: skip
def test_ways_to_start_it(line: str) -> None:
    found = kit.values(kit.one(f"#!/bin/sh\n{line}\n", "a.sh"))
    assert (found["model"], found["max_model_len"]) == ("m", "4096")


@pytest.mark.parametrize("line", [
    "# vllm serve m --max-model-len 4096", 'echo "run: vllm serve m"', "pgrep -f 'vllm serve m'",
    "pip install vllm serve",
    "docker pull vllm/vllm-openai:v0.9.1", "docker run vllm/vllm-openai:v0.9.1 bash -c 'nvidia-smi'",
    "log \"vllm serve m failed\"", "myvllm serve m",
])  # fmt: skip
def test_what_starts_nothing(line: str) -> None:
    assert kit.read(f"#!/bin/sh\n{line}\n", "a.sh")[0] == []


def test_flags_of_other_commands_are_not_the_engines() -> None:
    text = "timeout -m 5 env --max-model-len 1 vllm serve m --port 80 && curl --max-num-seqs 7 -tp 4 localhost\n"
    assert kit.values(kit.one(text, "a.sh")) == {"model": "m"}


def test_docker_run_limits() -> None:
    text = """docker run --gpus '"device=0,1"' --memory=64g --cpus 8 -e LMCACHE_MAX_LOCAL_CPU_SIZE=20 \\
  vllm/vllm-openai:v0.9.1 --model m -tp 2
"""
    found = kit.values(kit.one(text, "a.sh"))
    assert (found["gpus"], found["memory_limit"], found["cpu_limit"]) == (2, "64Gi", "8")
    assert (found["engine"], found["lmcache_gib_per_rank"]) == ("vllm@0.9.1", "20")


def test_several_commands_have_their_own_names() -> None:
    found, _ = kit.read("vllm serve a --port 1 &\nvllm serve b --port 2\n", "pair.sh")
    named = [(item.name, item.value("model"), item.place.line) for item in found]
    assert named == [("pair-1", "a", 1), ("pair-2", "b", 2)]


def test_a_comment_ends_a_continued_command() -> None:
    """As in bash: what follows the comment is another command."""
    item = kit.one("vllm serve m \\\n  # --enforce-eager \\\n  --max-model-len 4096\n", "a.sh")
    assert kit.values(item) == {"model": "m"}


def test_a_file_without_a_shell_suffix_needs_a_shell_line() -> None:
    assert kit.one("#!/usr/bin/env bash\nvllm serve m\n", "bin/start").value("model") == "m"
    assert kit.read("vllm serve m\n", "README.md") == ([], [])


@pytest.mark.parametrize("image", [
    "vllm/vllm-openai-rocm:v0.14.0", "registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1", "lmcache/vllm-openai:v0.3.14",
])  # fmt: skip
def test_images_that_take_flags_alone(image: str) -> None:
    item = kit.one(f"#!/bin/bash\npodman run --rm {image} --model org/m --max-model-len 4096\n", "run.sh")
    assert (item.value("model"), item.value("max_model_len"), item.notes["image"]) == ("org/m", "4096", image)
