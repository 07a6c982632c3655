"""Any-of lists of GPUs, and what a project says about its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvplan.deployments.found import FoundDeployment, Place, Setting
from kvplan.deployments.project_config import load_config
from kvplan.results.check import check
from kvplan.rules.context import Context
from kvplan.rules.examined import examined
from kvplan.rules.interface import Finding
from kvplan.rules.which_host import Around
from tests.rules.kit import pod

HERE = Place("task.yaml", 7)


def deployment(model: str, alternatives: tuple[str, ...], form: str = "skypilot", **more: str | int) -> FoundDeployment:
    values: dict[str, str | int | tuple[str, ...]] = {
        "model": model, "max_model_len": 4096, "engine": "vllm@0.19.0", "gpu_alternatives": alternatives, **more,
    }  # fmt: skip
    return FoundDeployment("task", form, HERE, {name: Setting(name, value, HERE) for name, value in values.items()})


def judged(found: FoundDeployment, host: str | None = None) -> tuple[Context, list[Finding]]:
    return examined(found, Around(host))


def test_the_worst_alternative_decides_and_is_named() -> None:
    """A committed SkyPilot task: 52 GB of BF16 weights, and A100:1 means the card with 40 GB."""
    context, findings = judged(deployment("google/gemma-3-27b-it", ("A100:1", "A100-80GB:1", "H100:1")))
    fails = [item for item in findings if item.level == "fail"]
    assert [item.rule for item in fails] == ["KV101"]
    assert fails[0].message.startswith("with A100:1, one of 3 alternatives: ")
    assert context.found.value("gpu_alternatives") == ("A100:1", "A100-80GB:1", "H100:1")


def test_what_all_alternatives_hold_passes() -> None:
    _, findings = judged(deployment("google/gemma-3-27b-it", ("A100-80GB:1", "H100:1")))
    assert [item for item in findings if item.level in ("fail", "unknown")] == []


def test_a_host_that_the_user_names_is_the_alternative() -> None:
    found = deployment("google/gemma-3-27b-it", ("A100-80GB:1", "A100:1", "H100:1"))
    _, findings = judged(found, "h100-server")
    assert [item for item in findings if item.level == "fail"] == []
    _, findings = judged(found, "l4-4x")
    assert ("KV411", "unknown") in {(item.rule, item.level) for item in findings}


def test_an_alternative_that_nobody_knows_is_a_question() -> None:
    _, findings = judged(deployment("llama3-8b", ("H100:1", "Z9000:1")))
    assert [(item.rule, item.level) for item in findings if item.level != "info"] == [("KV411", "unknown")]
    assert "Z9000" in findings[-1].message


def test_alternatives_may_be_instance_types() -> None:
    _, findings = judged(deployment("google/gemma-3-27b-it", ("g5.xlarge", "p5.48xlarge"), "kubernetes"))
    assert {item.message.partition(",")[0] for item in findings if item.level == "fail"} == {"with g5.xlarge"}


def test_a_slice_alone_names_its_cards() -> None:
    """1g.10gb is a slice of an A100 with 80 GB or of an H100: 16 GB of weights fit on neither."""
    values = {"model": "llama3-8b", "max_model_len": 4096, "engine": "vllm@0.19.0", "mig_profile": "1g.10gb"}
    found = FoundDeployment("a", "kubernetes", HERE, {name: Setting(name, v, HERE) for name, v in values.items()})
    _, findings = judged(found)
    assert {(item.rule, item.level) for item in findings if item.level != "info"} == {("KV101", "fail")}
    small = {**found.settings, "model": Setting("model", "Qwen/Qwen2.5-1.5B-Instruct", HERE)}
    _, findings = judged(FoundDeployment("a", "kubernetes", HERE, small))
    assert [item for item in findings if item.level == "fail"] == []


CONFIG = """\
host = "rtx4090"
[paths."prod/**"]
host = "h100-server"
engine = "vllm@0.21"
model = "llama3-8b"
[paths."prod/**".workload]
context = "32k"
users = 900
[labels]
"team-pool" = { gpu = "NVIDIA-L4", gpus = 1 }
"gpu-a" = "l40s-4x"
[models]
"/mnt/chat" = "Qwen/Qwen2.5-1.5B-Instruct"
[severities]
KV302 = "off"
KV414 = "fail"
"""
ARGS = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "prod").mkdir()
    (tmp_path / ".kvplan.toml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def host_of(path: Path, text: str, host: str | None = None) -> str | None:
    path.write_text(text, encoding="utf-8")
    name = check([str(path)], host=host).to_json()["deployments"][0]["host"]
    return None if name is None else str(name)


def labelled(product: str) -> str:
    return pod(ARGS).replace("  containers:", f"  nodeSelector:\n    nvidia.com/gpu.product: {product}\n  containers:")


def test_which_host_goes_before_which(project: Path) -> None:
    assert host_of(project / "a.yaml", pod(ARGS)) == "rtx4090"
    assert host_of(project / "a.yaml", pod(ARGS), "l40s-4x") == "l40s-4x"
    assert host_of(project / "prod" / "a.yaml", pod(ARGS)) == "h100-server"
    assert host_of(project / "prod" / "a.yaml", pod(ARGS), "l40s-4x") == "h100-server"
    assert host_of(project / "prod" / "a.yaml", labelled("gpu-a")) == "l40s-4x"
    assert host_of(project / "prod" / "a.yaml", labelled("team-pool")) == "l4"


def test_a_workload_and_an_engine_for_the_files_of_a_pattern(project: Path) -> None:
    path = project / "prod" / "a.yaml"
    path.write_text(pod(ARGS, image="vllm/vllm-openai:latest"), encoding="utf-8")
    result = check([str(project)])
    item = next(item for item in result.findings if item.rule == "KV107")
    assert (item.level, item.where) == ("fail", ".kvplan.toml:8")
    assert result.to_json()["deployments"][0]["engine_version"] == "0.21"


def test_models_by_another_name(project: Path) -> None:
    text = pod("--model=/mnt/chat\n--max-model-len=8192")
    (project / "a.yaml").write_text(text, encoding="utf-8")
    assert check(["a.yaml"]).to_json()["deployments"][0]["model"] == "Qwen2.5-1.5B-Instruct"
    (project / "prod" / "b.yaml").write_text(text.replace("/mnt/chat", "/mnt/other"), encoding="utf-8")
    assert check(["prod/b.yaml"]).to_json()["deployments"][0]["model"] == "Llama-3.1-8B-Instruct"


def test_severities(project: Path) -> None:
    text = pod(ARGS, "nvidia.com/gpu: 1, cpu: 2", "vllm/vllm-openai:latest")
    (project / "a.yaml").write_text(text, encoding="utf-8")
    levels = {(item.rule, item.level) for item in check(["a.yaml"]).findings}
    assert ("KV414", "fail") in levels
    assert "KV302" not in {rule for rule, _ in levels}


def test_the_configuration_is_found_from_any_folder_below(project: Path) -> None:
    assert load_config(["prod"]).path == ".kvplan.toml"
    assert load_config(["-"]).path == ".kvplan.toml"
    (project / "other").mkdir()
    (project / "other" / ".git").mkdir()
    assert load_config(["other"]).path == ""
