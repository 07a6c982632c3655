from __future__ import annotations

from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.options import words_of
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import documents

OPTIONS = """max_model_len: 8192
tensorParallelSize: 2
enforce_eager: true
enable-lora: false
quantization: null
dtype:
kv_transfer_config:
  kv_connector: LMCacheConnectorV1
  extra: [1, true, "x"]
gpu_memory_utilization: "{{ .Values.share }}"
skipped: 1
"""


def words() -> dict[str, str | None]:
    root = documents(OPTIONS)[0][0]
    return {word.text: word.unresolved for word in words_of(root, Source("o.yaml", OPTIONS), without=("skipped",))}


def test_keys_are_flags() -> None:
    assert list(words()) == [
        "--max-model-len=8192", "--tensor-parallel-size=2", "--enforce-eager=true", "--no-enable-lora",
        '--kv-transfer-config={"kv_connector": "LMCacheConnectorV1", "extra": [1, true, "x"]}',
        "--gpu-memory-utilization={{ .Values.share }}",
    ]  # fmt: skip
    assert words()["--gpu-memory-utilization={{ .Values.share }}"] == "a placeholder is filled in later"


def test_an_engine_reads_them() -> None:
    root = documents(OPTIONS)[0][0]
    arguments = command_of_engine("vllm").read(words_of(root, Source("o.yaml", OPTIONS)))
    values = {name: setting.value for name, setting in arguments.settings.items()}
    assert {"max_model_len": "8192", "tp": "2", "enforce_eager": True, "enable_lora": False}.items() <= values.items()
    assert [item.name for item in arguments.unresolved] == ["gpu_memory_utilization"]
    assert arguments.settings["enforce_eager"].place.line == 3


def test_nothing_and_no_map() -> None:
    source = Source("o.yaml", "")
    assert words_of(None, source) == []
    assert words_of(documents("[1, 2]")[0][0], source) == []
