"""Paths in a deployment file begin in the file's own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvplan.results.check import check

HOST = (
    'name = "my box"\ngpu = "rtx4090"\ngpus = 1\ncpu_cores = 16\ndram_gib = 64\ndram_gb_per_s = 80\nlink = "pcie4x16"\n'
)
FACTS = Path(__file__).parents[1] / "truth" / "internlm2_5_7b_1m.config.json"
TOML = 'schema = "kvplan.deployment/1"\nmodel = "{model}"\nhost = "{host}"\ngpus = 1\nengine = "vllm@0.21"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``deploy/`` with a model and a host beside its files; the test runs one folder above."""
    (tmp_path / "deploy" / "model").mkdir(parents=True)
    (tmp_path / "deploy" / "model" / "config.json").write_bytes(FACTS.read_bytes())
    (tmp_path / "deploy" / "box.toml").write_text(HOST, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "deploy"


@pytest.mark.parametrize("model", ["model/config.json", "./model/config.json", "model"])
@pytest.mark.parametrize("where", ["deploy/a.toml", "absolute", "deploy"])
def test_both_paths_of_a_toml_file(folder: Path, model: str, where: str) -> None:
    (folder / "a.toml").write_text(TOML.format(model=model, host="box.toml"), encoding="utf-8")
    result = check([str(folder / "a.toml") if where == "absolute" else where])
    context = result.deployments[0].context
    assert context.model is not None, result.findings
    assert context.host is not None, result.findings
    assert context.host.name == "my box"


def test_the_model_of_a_yaml_file(folder: Path) -> None:
    (folder / "a.yaml").write_text("model: model/config.json\nmax-model-len: 8192\n", encoding="utf-8")
    assert check(["deploy/a.yaml"], host="rtx4090").deployments[0].context.model is not None


def test_catalog_names_stay_names(folder: Path) -> None:
    for name in ("llama3-8b", "h100-server"):
        (folder / name).mkdir()
    (folder / "a.toml").write_text(TOML.format(model="llama3-8b", host="h100-server"), encoding="utf-8")
    context = check(["deploy/a.toml"]).deployments[0].context
    assert context.model is not None
    assert context.host is not None
    assert context.host.name == "h100-server"


def test_the_host_flag_begins_where_the_command_runs(folder: Path) -> None:
    (folder.parent / "box.toml").write_text(HOST.replace("my box", "the other"), encoding="utf-8")
    (folder / "a.yaml").write_text("model: llama3-8b\nmax-model-len: 8192\n", encoding="utf-8")
    context = check(["deploy/a.yaml"], host="box.toml").deployments[0].context
    assert context.host is not None
    assert context.host.name == "the other"


def test_a_shell_command_runs_elsewhere(folder: Path) -> None:
    (folder / "a.sh").write_text("vllm serve ./model/config.json --max-model-len 8192\n", encoding="utf-8")
    assert check(["deploy/a.sh"], host="rtx4090").deployments[0].context.model is None
