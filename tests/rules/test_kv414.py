from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, pod, serve

ARGS = "--model=meta-llama/Llama-3.1-8B-Instruct\n--max-model-len=8192"


@pytest.mark.parametrize(("image", "level"), [
    ("vllm/vllm-openai", "warn"), ("vllm/vllm-openai:latest", "warn"), ("vllm/vllm-openai:nightly", "warn"),
    ("vllm/vllm-openai:latest-cu129", "warn"), ("vllm/vllm-openai@sha256:" + "0" * 64, "info"),
    ("lmcache/vllm-openai:v0.3.5", "info"), ("lmcache/vllm-openai:latest-nightly", "warn"),
    ("registry.local:5000/vllm-openai", "warn"),
])  # fmt: skip
def test_a_tag_that_names_no_version(tmp_path: Path, image: str, level: str) -> None:
    """One that moves is a warning, at the image's own line; one that is fixed is an info."""
    item = only(tmp_path, pod(ARGS, image=image), "KV414", "pod.yaml", host="h100-server")
    assert item.level == level
    assert item.where.endswith("pod.yaml:8")
    assert "judged as vllm" in item.message


@pytest.mark.parametrize(("image", "version"), [
    ("vllm/vllm-openai:v0.9.1", "0.9.1"),
    ("docker.io/vllm/vllm-openai:v0.10.0", "0.10.0"),
    ("vllm/vllm-openai:v0.22.0-cu129", "0.22.0"),
    ("registry.local:5000/mirror/vllm-openai:v0.11.2@sha256:" + "a" * 64, "0.11.2"),
])  # fmt: skip
def test_a_release_in_the_tag_is_the_version(tmp_path: Path, image: str, version: str) -> None:
    result = checked(tmp_path, pod(ARGS, image=image), "pod.yaml", host="h100-server")
    assert result.to_json()["deployments"][0]["engine_version"] == version
    assert [item for item in result.findings if item.rule == "KV414"] == []


def test_a_version_newer_than_all_is_judged_and_said(tmp_path: Path) -> None:
    result = checked(tmp_path, serve("meta-llama/Llama-3.1-70B-Instruct", "9.9.0"), host="h100-server")
    levels = {item.rule: item.level for item in result.findings}
    assert (levels["KV414"], levels["KV101"]) == ("unknown", "fail")


def test_a_version_older_than_all_is_not_judged(tmp_path: Path) -> None:
    result = checked(tmp_path, serve("meta-llama/Llama-3.1-70B-Instruct", "0.2.0"), host="h100-server")
    assert [(item.rule, item.level) for item in result.findings] == [("KV414", "unknown")]


def test_a_pinned_installation_counts(tmp_path: Path) -> None:
    assert found(tmp_path, serve("llama3-8b", "0.19.1"), "KV414", host="h100-server") == []
