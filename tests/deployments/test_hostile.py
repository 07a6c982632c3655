"""Files that are made to hurt: a finding or nothing, quickly, and never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kvplan.deployments.sources import read_deployments
from kvplan.errors import KvplanError
from kvplan.render import check_formats
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


GOOD = """apiVersion: v1
kind: Pod
metadata: {name: good}
spec:
  containers:
  - name: vllm
    image: vllm/vllm-openai:v0.9.1
    args: [--model, meta-llama/Llama-3.1-8B-Instruct, --max-model-len, "8192"]
    resources: {limits: {nvidia.com/gpu: 1}}
"""
BAD = GOOD.replace("good", "bad")
BYTES = {
    "bad-utf-8": (BAD.encode() + b"# \xff\xfe\n", "is not UTF-8 text"),
    "utf-16": (BAD.encode("utf-16"), "is UTF-16 text"),
    "nul": (BAD.encode() + b"\0", "is not a text file"),
    "tabs": (BAD.replace("  containers", "\tcontainers").encode(), "not valid YAML"),
    "circle": (BAD.encode() + b"x: &x [*x]\n", "an alias that contains itself"),
    "twice": (BAD.encode() + b"    image: vllm/vllm-openai:v0.9.2\n", "is there twice"),
    "huge": (BAD.replace('"8192"', '"' + "9" * 5000 + '"').encode(), "a whole number"),
    "negative": (BAD.replace("gpu: 1", "gpu: -1").encode(), "a whole number"),
    "endless": (BAD.replace("gpu: 1", "gpu: 1, cpu: 1e999").encode(), "a CPU limit"),
}


@pytest.mark.parametrize("name", BYTES)
def test_one_clear_line_and_the_rest_is_checked(tmp_path: Path, name: str) -> None:
    data, words = BYTES[name]
    (tmp_path / "a.yaml").write_bytes(data)
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    answer = check([str(tmp_path)], host="h100-server")
    assert "good" in [item.found.name for item in answer.deployments]
    (finding,) = [item for item in answer.findings if "a.yaml" in item.where]
    assert words in finding.message


def test_no_tag_constructs_anything(tmp_path: Path) -> None:
    target = tmp_path / "made"
    text = BAD + f'x: !!python/object/apply:os.system ["touch {target}"]\n'
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert len(check([str(tmp_path)], host="h100-server").deployments) == 1
    assert not target.exists()


@pytest.mark.parametrize("name", ["a b.yaml", "a:3.yaml", "a%s{x}.yaml", "[x]?.yaml", "-x.yaml", "::error::x.yaml"])
def test_odd_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(BAD, encoding="utf-8")
    answer = check([str(tmp_path)], host="rtx4090")
    assert [item.found.name for item in answer.deployments] == ["bad"]
    for render in check_formats().values():
        assert all(character.isprintable() or character == "\n" for character in render(answer))


CIRCLE = {"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a, d.yaml]\n"}


def test_kustomizations_in_a_circle(tmp_path: Path) -> None:
    """Each is a fuller reading of the other; both say so, and what they hold is checked."""
    for path, text in {**CIRCLE, "b/d.yaml": DEPLOYMENT}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    found, unreadable = read_deployments([str(tmp_path)])
    assert len(found) == 1
    assert {item.message for item in unreadable} == {"../b leads back to itself", "../a leads back to itself"}


CONFIGURATIONS = {
    "margin = nan\n": "margin must be a fraction",
    "margin = 1.5\n": "margin must be a fraction",
    "a = " + "[" * 10_000: "nested too deeply",
    "x" * 200_000: "longer than",
    '[severities]\nKV999 = "off"\n': "KV999",
}


@pytest.mark.parametrize("text", CONFIGURATIONS, ids=range(len(CONFIGURATIONS)))
def test_configurations_that_cannot_be_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".kvplan.toml").write_text(text, encoding="utf-8")
    with pytest.raises(KvplanError, match=CONFIGURATIONS[text]):
        check([str(tmp_path)], host="h100-server")


def test_a_configuration_that_is_no_file(tmp_path: Path) -> None:
    """A folder, a pipe or a link to nothing: passing over it would drop the project's rules without a word."""
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".kvplan.toml").mkdir()
    with pytest.raises(KvplanError, match="not a regular file"):
        check([str(tmp_path)], host="h100-server")


def test_patterns_of_a_project_cannot_stall(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    pattern = "*" * 200 + "a*b*c**/**/**/**/x"
    (tmp_path / ".kvplan.toml").write_text(f'[paths."{pattern}"]\nhost = "rtx4090"\n', encoding="utf-8")
    folder = tmp_path.joinpath(*["abcabc"] * 20)
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(GOOD, encoding="utf-8")
    start = time.perf_counter()
    assert len(check([str(tmp_path)], host="h100-server").deployments) == 1
    assert time.perf_counter() - start < 5.0


SLOW = {
    "task.yaml": "resources:\n  accelerators: '" + " " * 50_000 + "!'\nrun: vllm serve m\n",
    "values.yaml": "a:\n  b: 1\n" + "-" * 50_000 + "!\nx: vllm\n",
    "Modelfile": "FROM llama3:" + "a" * 50_000 + "!\nPARAMETER num_ctx 4096\n",
    "case.sh": "#!/bin/bash\ncase $X in\n" + " " * 100_000 + "esac\nvllm serve m\n",
    "sets.yaml": "models:\n  a: {cmd: llama-server -m a.gguf}\nmatrix: {sets: {x: '" + " " * 50_000 + "a'}}\n",
    "array.sh": "A=(x y)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 900 + 'vllm serve "${A[@]}"\n',
    "image.yaml": BAD.replace("vllm/vllm-openai:v0.9.1", "'x/" + ":" * 50_000 + "'").replace(
        "args: [", "args: [vllm, serve, "
    ),
    "compose.yaml": "services:\n  a: {image: 'vllm/vllm-openai:v0.9.1', command: --model $M, env_file: [b.env]}\n",
}


@pytest.mark.parametrize("name", SLOW)
def test_texts_for_which_patterns_would_try_for_minutes(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(SLOW[name], encoding="utf-8")
    (tmp_path / ".env").write_text("".join(f"A{n}=1\n" for n in range(3000)), encoding="utf-8")
    (tmp_path / "b.env").write_text("B=1\n" * 200_000, encoding="utf-8")
    start = time.perf_counter()
    check([str(tmp_path / name)], host="h100-server")
    assert time.perf_counter() - start < 6.0
