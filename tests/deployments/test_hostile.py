"""Files that are made to hurt: a finding or nothing, quickly, and never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kvplan.deployments.sources import read_deployments
from kvplan.results.check import check

SCHEMA = 'schema = "kvplan.deployment/1"\n'
FILES = {
    "deep.toml": SCHEMA + "a = " + "[" * 90_000,
    "deep.yaml": "apiVersion: v1\nkind: Pod\n# vllm\ncontainers: " + "[" * 100_000,
    "quotes.sh": "#!/bin/bash\n" + 'A="\n' * 20_000 + 'vllm serve x --max-model-len "',
    "defaults.sh": "#!/bin/bash\nvllm serve " + "${A:-" * 5000 + "\n",
    "circle.sh": "#!/bin/bash\nA=$B\nB=$A\nvllm serve $A --max-model-len ${B:-$A}\n",
    "many.sh": "#!/bin/bash\n" + "vllm serve $X\n" * 5000,
    "blanks.sh": "#!/bin/bash\nvllm serve " + "a/" * 100_000 + "\nx=" + " " * 300_000 + "\n",
    "substitutions.sh": "#!/bin/bash\nvllm serve " + "$(" * 10_000 + "\n",
    "json.sh": "#!/bin/bash\nvllm serve m --kv-transfer-config '" + "[" * 5000 + "'\n",
    "control.sh": "#!/bin/bash\nvllm serve $'\\x1b[31m' --max-model-len \x1b[31m\n",
    "numbers.toml": SCHEMA + 'model = "llama3-8b"\nhost = "h100-server"\n[settings]\nmax_model_len = "9e999"\ntp = 0\n',
    "large.toml": SCHEMA + f'model = "llama3-8b"\nhost = "h100-server"\n[workload]\nusers = {2**60}\n',
    "empty.yaml": "apiVersion: v1\nkind: Pod\n# vllm\ncontainers:\n",
    "odd.yaml": "apiVersion: [1]\nkind: {a: 1}\n"
    "spec: {containers: [vllm, 1, [x], {image: [1], args: {a: 1}, env: x}]}\n",
    "odd-env.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v0.9.1\n"
    "    args: [--model, $(A)]\n    env: [{name: A, value: $(A)}, 7, {value: 3}]\n",
}


@pytest.mark.parametrize("name", FILES)
def test_one_line_and_soon(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    start = time.perf_counter()
    result = check([str(path)], host="h100-server")
    assert time.perf_counter() - start < 10.0
    assert result.exit_code in (0, 1, 3)
    assert result.findings or not result.deployments
    for item in result.findings:
        assert "\n" not in item.message
        assert item.message.isprintable()
        assert len(item.message) < 400


def test_a_value_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text("#!/bin/bash\nvllm serve m --max-model-len \x1b[31mx\n", encoding="utf-8")
    from kvplan.render.check_table import render

    assert "\x1b" not in render(check([str(path)], host="h100-server"))


BLANKS = " " * 200_000
MANIFEST = "apiVersion: v1\nkind: Pod\nmetadata: {name: vllm}\nspec:\n"
HOSTILE_YAML = {
    "templates.yaml": MANIFEST + "  a: 1\n" + "{{a}}" * 1500 + "x\n"
    + '  b: "' + "{{" * 4000 + '"\n' + "  containers: []\n",
    "blanks.yaml": MANIFEST + f"  a:{BLANKS}1\n  containers: [{BLANKS}]\n",
    "pods.yaml": MANIFEST + "  containers:\n"
    + "  - {image: 'vllm/vllm-openai:v0.9.0', args: [--model, m]}\n" * 20_000,
    "specs.yaml": "apiVersion: v1\nkind: X\nvllm:\n" + "- {spec: {containers: [{image: a}]}}\n" * 8000,
    "repeated.yaml": MANIFEST + "  containers: []\n" + "  a: 1\n" * 50_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_manifests(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(HOSTILE_YAML[name], encoding="utf-8")
    start = time.perf_counter()
    read_deployments([str(path)])
    assert time.perf_counter() - start < 8.0


DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
spec:
  template:
    spec:
      containers:
      - {image: 'vllm/vllm-openai:v0.9.0', args: [--model, m]}
"""
DEEP = "\n".join(f"- {{op: add, path: '{'/a' * n}', value: {{}}}}" for n in range(1, 900))
KUSTOMIZATIONS = {
    "patterns": f"patches: [{{target: {{name: '{'a*' * 40}b'}}, patch: '{{spec: {{replicas: 2}}}}'}}]",
    "groups": "patches: [{target: {name: '(a*)*b'}, patch: '{spec: {replicas: 2}}'}]",
    "deep": "patches:\n- target: {kind: Deployment}\n  patch: |\n    " + DEEP.replace("\n", "\n    "),
    "paths": "replacements: [{source: {kind: Deployment, fieldPath: '" + "a." * 5000 + "'}, targets: [{select: {kind: "
    "Deployment}, fieldPaths: ['" + "*." * 5000 + "']}]}]",
    "odd": "resources: {a: 1}\npatches: [1, [x], {patch: {a: 1}}]\nimages: [x, {name: [1]}]\nreplicas: x\n"
    "configMapGenerator: [1, {name: a, envs: [[x]], literals: [{}], files: ['=']}]\nvars: [{name: x}]\n"
    "components: [{}]",
    "environment": "configMapGenerator: [{name: a, envs: [a.env]}]",
    "scalar": "x",
    "nothing": "",
}  # fmt: skip


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_kustomizations(tmp_path: Path, name: str) -> None:
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT, encoding="utf-8")
    (tmp_path / "a.env").write_text(f"A={BLANKS}\nB{BLANKS}#{BLANKS}\n{'=' * 1000}\n", encoding="utf-8")
    head = "" if name in ("scalar", "nothing", "odd") else "resources: [deployment.yaml]\n"
    (tmp_path / "kustomization.yaml").write_text(head + KUSTOMIZATIONS[name] + "\n", encoding="utf-8")
    start = time.perf_counter()
    found, unreadable = read_deployments([str(tmp_path)])
    assert len(found) == 1
    for item in unreadable:
        assert item.message.isprintable()
        assert len(item.message) < 400
    assert time.perf_counter() - start < 8.0


def test_files_outside_the_tree_are_not_opened(tmp_path: Path) -> None:
    """Not by a path and not by a link."""
    (tmp_path / "secret.env").write_text("MODEL=secret\n", encoding="utf-8")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").mkdir()
    (tree / "link.env").symlink_to(tmp_path / "secret.env")
    text = DEPLOYMENT.replace("m]}", "$(MODEL)], envFrom: [{configMapRef: {name: a}}]}")
    (tree / "deployment.yaml").write_text(text, encoding="utf-8")
    generator = "configMapGenerator: [{name: a, envs: [link.env, ../secret.env]}]\n"
    (tree / "kustomization.yaml").write_text("resources: [deployment.yaml]\n" + generator, encoding="utf-8")
    found, _ = read_deployments([str(tree)])
    assert [item.value("model") for item, _ in found] == [None]
