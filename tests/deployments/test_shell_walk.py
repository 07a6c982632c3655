"""Scripts of our own that do what scripts do: branches, functions, growing arrays, files that they source or write."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.sources import read_deployments


def value_of(script: str, name: str = "max_model_len") -> object:
    """A setting of the only command of a script; its reason where it is open."""
    item = kit.one("#!/bin/bash\n" + script, "a.sh")
    open_ = next((one.reason for one in item.unresolved if one.name == name), None)
    return open_ or item.value(name)


@pytest.mark.parametrize("script", [
    "L=1\nL=4096\nvllm serve m --max-model-len $L",
    'A=(--max-model-len)\nA+=(4096)\nvllm serve m "${A[@]}"',
    'A="--max-model-len"\nA="$A 4096"\nvllm serve m $A',
    'A="--port 80"\nA+=" --max-model-len 4096"\nvllm serve m $A',
    'CMD=(vllm serve m)\nCMD+=(--max-model-len 4096)\n"${CMD[@]}" &',
    'CMD="vllm serve $MODEL"\nCMD="$CMD --max-model-len 4096"\neval "$CMD"',
    'CMD="vllm serve m --max-model-len 4096"\nbash -c "$CMD"',
    'CMD=(\n  vllm serve m # which\n  --max-model-len 4096\n)\nrun_it "${CMD[@]}"',
    'V=/opt/venv/bin/vllm\n"$V" serve m --max-model-len 4096',
    'V="$(pwd)/bin/vllm"\n"$V" serve m --max-model-len 4096',
    'L=4096\nif [ "$L" = 4096 ]; then X=4096; else X=1; fi\nvllm serve m --max-model-len $X',
    'M=big\nif [[ $M == small* ]]; then X=1; elif [[ -n "$M" ]]; then X=4096; else X=2; fi\n'
    "vllm serve m --max-model-len $X",
    'N=3\nif (( N > 2 )); then A=(--max-model-len 4096); else A=(); fi\nvllm serve m "${A[@]}"',
    'M=big\ncase "$M" in\n  small) X=1 ;;\n  b*|c) X=4096 ;;\n  *) X=2 ;;\nesac\nvllm serve m --max-model-len $X',
    'X=4096\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --len) X="$2"; shift 2 ;;\n    *) exit 1 ;;\n  esac\ndone\n'
    "vllm serve m --max-model-len $X",
    'X=4096\nif [ ! -f x ]; then\n  echo no >&2\n  X=1\n  exit 1\nfi\nvllm serve m --max-model-len $X',
    "[ -n \"${E:-}\" ] && A=(--max-model-len 1) || A=(--max-model-len 4096)\nvllm serve m \"${A[@]}\"",
    "f() {\n  vllm serve m --max-model-len $1\n}\nf 4096",
    "f() {\n  local len=${2:-1} model=$1\n  shift\n  vllm serve $model --max-model-len $len \"$@\"\n}\nX=1\n"
    "f m 4096 --port $X",
    "function f {\n  vllm serve m --max-model-len $L\n}\nL=4096\nf",
    "P=/x/4096\nvllm serve m --max-model-len ${P##*/}", "P=4096.5\nvllm serve m --max-model-len ${P%%.*}",
    "ON=1\nvllm serve m ${ON:+--max-model-len 4096}", "vllm serve m --max-model-len 4096 ${OFF:+--max-model-len 1}",
    "cat <<EOF\nvllm serve m --max-model-len 1\nEOF\nvllm serve m --max-model-len 4096",
    "L=4096\nbash <<EOF\nvllm serve m --max-model-len $L\nEOF",
    "ssh host <<'EOF'\nL=4096\nvllm serve m --max-model-len $L\nEOF",
    "cat > run.sh <<'EOF'\nvllm serve m --max-model-len 4096\nEOF\nchmod +x run.sh",
    "for p in 1 2; do\n  wait_for $p\ndone\nvllm serve m --max-model-len 4096",
    "tmux new -d -s x \"vllm serve m --max-model-len 4096\"",
    "srun --gpus 4 bash -c 'L=4096; vllm serve m --max-model-len $L'",
    "docker run --rm --gpus all me/own bash -lc 'vllm serve m --max-model-len 4096'",
    'CMD="vllm serve \\"m\\" --max-model-len 4096"\neval $CMD',
    'W="$(dirname "$X")"\ndocker run -v "$W/a:/b" -p 1:1 vllm/vllm-openai:v1 m --max-model-len 4096',
    'CMD="vllm serve $M"\nCMD+=" --max-model-len 4096"\nbash -c "$CMD"',
    'CMD="vllm serve $M"\nCMD="$CMD --max-model-len 4096"\nssh host "$CMD"',
    "docker --context far container run vllm/vllm-openai:v1 m --max-model-len 4096",
    "X=4096\nwhile getopts 'm:' o; do case $o in m) X=$OPTARG ;; esac; done\nvllm serve m --max-model-len $X",
    'X=4096\nfor a in "$@"; do\n  case $a in --len=*) X="${a#*=}" ;; esac\ndone\nvllm serve m --max-model-len $X',
    'X=4096\nif [ -n "$GIVEN" ]; then X=$GIVEN; fi\nvllm serve m --max-model-len $X',
    'M=a-7B\nif [[ $M == *"8B"* ]] || [[ $M == *"7B"* ]]; then X=4096; else X=1; fi\nvllm serve m --max-model-len $X',
    "N=1\nif [ -f x ] && (( N > 1 )); then X=1; else X=4096; fi\nvllm serve m --max-model-len $X",
    "$(which vllm) serve m --max-model-len 4096",
    "docker run --entrypoint vllm me/own serve m --max-model-len 4096",
    "docker run --ipc host -p8000:8000 me/vllm-own --model m --max-model-len 4096",
    "docker run -e L=4096 me/own sh -c 'vllm serve m --max-model-len $L'",
    "L=4096\ndocker run -dit -v $PWD:/x vllm/vllm-openai:v1 --model m --max-model-len $L",
])  # fmt: skip
def test_what_the_script_settles(script: str) -> None:
    assert value_of(script) == "4096"


@pytest.mark.parametrize("script", [
    "X=1\nif a; then X=2; fi\nvllm serve m --max-model-len $X",
    "if a; then X=1; else X=2; fi\nvllm serve m --max-model-len $X",
    "case $1 in a) X=1 ;; *) X=2 ;; esac\nvllm serve m --max-model-len $X",
    'A=()\nif a; then A+=(--max-model-len 1); fi\nvllm serve m "${A[@]}"',
    '[ "$1" = x ] && A=(--max-model-len 1)\nA+=(--port 1)\nX=${A[1]}\nvllm serve m --max-model-len $X',
    "for X in 1 2; do vllm serve m --max-model-len $X; done",
    "f() { vllm serve m --max-model-len $1; }",
    "X=$(cat x)\nvllm serve m --max-model-len $X",
    "A=$B\nB=$A\nvllm serve m --max-model-len $A",
    "source ./elsewhere.sh\nvllm serve m --max-model-len $X",
])  # fmt: skip
def test_what_only_running_it_would_settle(script: str) -> None:
    item = kit.one("#!/bin/bash\n" + script, "a.sh")
    assert "max_model_len" not in item.settings
    assert kit.open_names(item) == ["max_model_len"]


def test_a_flag_of_one_branch_alone_is_open_and_others_are_not() -> None:
    script = 'A=(-tp 2)\nif a; then A+=(--enforce-eager --port 80); fi\nvllm serve m "${A[@]}"'
    item = kit.one("#!/bin/bash\n" + script, "a.sh")
    assert kit.values(item) == {"model": "m", "tp": "2"}
    assert kit.open_names(item) == ["enforce_eager"]


def test_a_file_that_is_sourced(tmp_path: Path) -> None:
    (tmp_path / "env.sh").write_text('export LEN=4096\nserve() { vllm serve "$1" --max-model-len $LEN; }\n')
    (tmp_path / "run.sh").write_text('HERE="$(cd "$(dirname "$0")" && pwd)"\nsource "$HERE/env.sh"\nserve m # vllm\n')
    found, _ = read_deployments([str(tmp_path)])
    assert [kit.values(item) for item, _ in found] == [{"model": "m", "max_model_len": "4096"}]
    assert found[0][0].settings["max_model_len"].place.path.endswith("env.sh")


def test_a_folder_of_its_own_is_a_known_one() -> None:
    script = 'HERE=$(dirname "${BASH_SOURCE[0]}")\nvllm serve $HERE/models/m $HOME/x'
    assert value_of(script, "model") == "./models/m"


def test_functions_that_are_called_twice() -> None:
    script = "serve() { CUDA_VISIBLE_DEVICES=$2 vllm serve $1 --port $3 & }\nserve a 0 1\nserve b 1 2\nwait\n"
    found, _ = kit.read("#!/bin/bash\n" + script, "pair.sh")
    assert [(item.value("model"), item.notes.get("gpu_ids")) for item in found] == [("a", "0"), ("b", "1")]
    assert [(item.value("gpus")) for item in found] == [1, 1]


def test_commands_that_have_ended_share_no_card() -> None:
    """``wait`` at the end leaves those before it beside each other; one that starts behind it is alone."""
    script = "export CUDA_VISIBLE_DEVICES=0\nvllm serve a &\nvllm serve b &\nwait\nvllm serve c &\n"
    found, _ = kit.read("#!/bin/bash\n" + script, "phases.sh")
    assert [item.notes.get("gpu_ids") for item in found] == [None, None, "0"]
    found, _ = kit.read("#!/bin/bash\n" + script.partition("vllm serve c")[0], "pair.sh")
    assert [item.notes.get("gpu_ids") for item in found] == ["0", "0"]


@pytest.mark.parametrize(("script", "cards"), [
    ("CUDA_VISIBLE_DEVICES=0 vllm serve a &\nCUDA_VISIBLE_DEVICES=0 vllm serve b &", ["0", "0"]),
    ("export CUDA_VISIBLE_DEVICES=0,1\nvllm serve a &\nexport CUDA_VISIBLE_DEVICES=2\nvllm serve b &", ["0,1", "2"]),
    ("CUDA_VISIBLE_DEVICES=0 vllm serve a\nCUDA_VISIBLE_DEVICES=0 vllm serve b", [None, None]),
    ("CUDA_VISIBLE_DEVICES=0 vllm serve a &\nP=$!\nkill $P\nCUDA_VISIBLE_DEVICES=0 vllm serve b &", [None, "0"]),
    ("docker run -d --gpus '\"device=1,2\"' vllm/vllm-openai:v1 --model a", ["1,2"]),
    ("docker run -d --gpus device=3 -e CUDA_VISIBLE_DEVICES=0 vllm/vllm-openai:v1 --model a", ["3"]),
])  # fmt: skip
def test_commands_that_may_share_a_card(script: str, cards: list[str | None]) -> None:
    found, _ = kit.read(f"#!/bin/bash\n{script}\n", "a.sh")
    assert [item.notes.get("gpu_ids") for item in found] == cards


def test_a_manifest_that_a_script_writes() -> None:
    script = """#!/bin/bash
TAG=v0.9.1
cat > compose.yml <<EOF
services:
  a:
    image: vllm/vllm-openai:${TAG}
    command: --model m -tp 2
EOF
docker compose up -d
cat <<'EOF' | sudo tee /etc/systemd/system/b.service
[Unit]
[Service]
ExecStart=vllm serve n
EOF
"""
    found, unread = kit.read(script, "install.sh")
    assert not unread
    assert [(item.form, item.value("model"), item.value("engine"), item.place.line) for item in found] == [
        ("docker-compose", "m", "vllm@0.9.1", 7),
        ("systemd", "n", None, 13),
    ]


def test_an_unclosed_quote_costs_its_own_line() -> None:
    script = "echo it's broken\nMODEL=m\nvllm serve $MODEL --max-model-len 4096\n"
    assert value_of(script, "model") == "m"


def test_reading_that_is_given_up_is_said() -> None:
    script = "f() { f; f; f; vllm serve m; }\n" + "".join(f"g{i}() {{ {'f; ' * 50}}}\ng{i}\n" for i in range(50))
    found, unread = kit.read(f"#!/bin/bash\n{script}", "a.sh")
    assert found
    assert [item.level for item in unread] in ([], ["fail"])


def test_what_a_batch_script_asks_for() -> None:
    script = """#!/bin/bash
#SBATCH --gres=gpu:a100:4
#SBATCH --mem 200G
#SBATCH --cpus-per-task=32
srun vllm serve m -tp 4
"""
    item = kit.one(script, "job.sbatch")
    assert kit.values(item) == {
        "model": "m", "tp": "4", "gpus": 4, "gpu_product": "a100", "memory_limit": "200Gi", "cpu_limit": "32",
    }  # fmt: skip
    assert kit.lines(item)["memory_limit"] == 3


def test_a_container_around_a_text_for_a_shell(tmp_path: Path) -> None:
    (tmp_path / "box.env").write_text("OMP_NUM_THREADS=4\nLEN=4096\n", encoding="utf-8")
    script = "docker run -m 8g --env-file box.env --gpus 2 vllm/vllm-openai:v0.9.1 bash -c 'vllm serve m'\n"
    (tmp_path / "a.sh").write_text(script, encoding="utf-8")
    found, _ = read_deployments([str(tmp_path)])
    assert [kit.values(item) for item, _ in found] == [
        {"model": "m", "engine": "vllm@0.9.1", "memory_limit": "8Gi", "gpus": 2, "shm_size": "64Mi",
         "omp_num_threads": 4},
    ]  # fmt: skip


def test_a_command_over_several_lines_in_a_variable() -> None:
    script = 'CMD="vllm serve m \\\n  --max-model-len 4096 \\\n  -tp 2"\nCMD="$CMD --enforce-eager"\n$CMD &\n'
    assert kit.lines(kit.one("#!/bin/bash\n" + script, "a.sh")) == {
        "model": 2, "max_model_len": 3, "tp": 4, "enforce_eager": 5,
    }  # fmt: skip
