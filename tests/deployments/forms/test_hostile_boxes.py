"""Scripts, compose files, units and Dockerfiles that are made to hurt: an answer soon, and never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kvplan.deployments.sources import read_deployments

SERVICE = "services:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n"
FILES = {
    "apostrophes.sh": "A='\n" + "b '\n" * 20_001 + "vllm serve m\n",
    "functions.sh": "a(){ " * 3000 + "vllm serve m\n" + "}\n" * 3000,
    "recursion.sh": "f(){ f a; f b; f c; vllm serve m; }\nf\n",
    "continued.sh": "vllm serve m \\\n" + " --x y \\\n" * 10_000 + " --max-model-len 4096\n",
    "heredocs.sh": "".join(f"bash <<E{number}\n" for number in range(3000)) + "vllm serve m\n",
    "doubling.sh": "A=x\n" + "A=$A$A\n" * 900 + "vllm serve $A\n",
    "doubling-array.sh": "A=(x y)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 900 + 'vllm serve "${A[@]}"\n',
    "wide.sh": "A=" + "x" * 16_000 + "\nvllm serve " + "$A" * 8000 + "\n",
    "cuts.sh": "X=" + "a" * 290 + "\nvllm serve " + "${X##*b*c}" * 1000 + "\n",
    "itself.sh": 'X=\'eval "$X"; vllm serve m\'\neval "$X"\nsource itself.sh\nsource ' + "a/" * 4000 + "x\n",
    "branches.sh": "if a; then X=1; elif b; then X=2; fi\n" * 5000 + "vllm serve $X\n",
    "cases.sh": "case x in\n" * 5000 + "a) ;; " * 5000 + "\nvllm serve m\n",
    "files.sh": "cat > c.yml <<EOF\n" + SERVICE + "    command: --model m\nEOF\n" + "cat > d.yml <<EOF\n" * 3000,
    "folded.yml": SERVICE + "    command: >\n" + "      --model m\n" * 20_000,
    "long-key.yml": SERVICE + "    command: " + "x" * 300_000 + "\n      y\n",
    "defaults.yml": SERVICE + "    command: --model " + "${A:-" * 5000 + "x" + "}" * 5000 + "\n",
    "unclosed.yml": SERVICE + "    command: --model " + "${A:-" * 20_000 + "\n",
    "dollars.yml": SERVICE + "    command: --model " + "$" * 200_000 + "\n",
    "extends.yml": SERVICE + "    extends: a\n  b:\n    extends: {file: extends.yml, service: b}\n",
    "odd.yml": "services:\n  a: [1]\n  b:\n    image: [x]\n    command: {a: 1}\n    environment: x\n    deploy: y\n"
    "    gpus: {a: 1}\n    ulimits: 7\n    build: [1]\n    env_file: {a: b}\n  c:\n    image: vllm/vllm-openai:v1\n"
    "    command: [[1], {a: b}, x]\n    gpus: [1, [2], {device_ids: {a: 1}}, {count: [1]}]\n    cpus: -1\n"
    "    environment: [{a: b}, [c], 7]\n    mem_limit: {a: 1}\n    extends: [1]\n    entrypoint: {a: b}\n"
    "    ulimits: {memlock: [1]}\n    volumes: {a: b}\n    env_file: [" + "a/" * 3000 + "]\n",
    "continued.service": "[Service]\nExecStart=vllm serve m \\\n" + "  --x y \\\n" * 20_000,
    "many.service": "[Service]\n" + "ExecStart=vllm serve m\n" * 6000,
    "quotes.service": '[Service]\nExecStart=vllm serve "' + "x" * 300_000 + "\n",
    "files.service": "[Service]\n" + "EnvironmentFile=/a/b/c/d\n" * 4000 + "ExecStart=vllm serve m\n",
    "empty.container": "[Container]\n",
    "image.container": "[Container]\nImage=image.container\nExec=vllm serve m\n",
    "Dockerfile": "FROM vllm/vllm-openai:v1\n" + "ENV A=1\n" * 5000 + "CMD " + "vllm serve m \\\n" * 20_000,
    "Dockerfile.deep": "FROM x\nCMD " + "[" * 50_000 + "\n",
    "Dockerfile.stages": "".join(f"FROM s{n} AS s{n + 1}\nENV A{n}=1\n" for n in range(900)) + "CMD vllm serve m\n",
}


@pytest.mark.parametrize("name", FILES)
def test_soon_and_without_a_traceback(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    start = time.perf_counter()
    found, unread = read_deployments([str(path)])
    assert time.perf_counter() - start < 5.0
    assert found or unread
    for item in unread:
        assert "\n" not in item.message
        assert len(item.message) < 300


def test_a_cap_is_never_silent(tmp_path: Path) -> None:
    for name in ("many.service", "Dockerfile"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
        _, unread = read_deployments([str(tmp_path / name)])
        assert [item.level for item in unread] == ["fail"]
        assert "not read further" in unread[0].message
