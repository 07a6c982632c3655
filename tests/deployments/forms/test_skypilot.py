from __future__ import annotations

import pytest

import tests.deployments.kit as kit

TASK = """name: serve
envs:
  MODEL_NAME: meta-llama/Llama-3.1-8B-Instruct
  LENGTH: null
secrets:
  HF_TOKEN: null
resources:
  accelerators: {L4:4, A100:1, A100-80GB: 2}
  cpus: 32+
  memory: 128+
num_nodes: 2
setup: |
  # pip install vllm==0.1.0
  pip install vllm==0.8.5.post1
run: |
  echo 'Starting vllm serve ...'
  vllm serve $MODEL_NAME \\
    --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE \\
    --pipeline-parallel-size $SKYPILOT_NUM_NODES \\
    --max-model-len $LENGTH
service:
  replicas: 3
"""


def test_each_alternative_is_a_deployment() -> None:
    found, faults = kit.read(TASK, "serve.yaml")
    assert not faults
    assert [(item.value("gpu_product"), item.value("gpus"), item.value("tp")) for item in found] == [
        ("L4", 4, "4"), ("A100-40GB", 1, "1"), ("A100-80GB", 2, "2"),
    ]  # fmt: skip
    assert [item.name for item in found] == ["serve on L4:4", "serve on A100-40GB:1", "serve on A100-80GB:2"]
    assert {
        "model": "meta-llama/Llama-3.1-8B-Instruct", "cpu_request": "32", "memory_request": "128Gi", "nodes": 2,
        "replicas": 3, "pp": "2", "engine": "vllm@0.8.5.post1",
    }.items() <= kit.values(found[0]).items()  # fmt: skip
    assert (kit.lines(found[0])["model"], kit.lines(found[0])["tp"]) == (3, 8)


def test_what_is_given_at_the_launch() -> None:
    item = kit.read(TASK, "serve.yaml")[0][0]
    assert [(question.name, question.reason) for question in item.unresolved] == [
        ("max_model_len", "$LENGTH is given at the launch")
    ]


@pytest.mark.parametrize(("written", "machines"), [
    ("accelerators: H200:8", [("H200", 8)]),
    ("accelerators: H100", [("H100", 1)]),
    ("accelerators: ['A100:8', 'A100-80GB:4']", [("A100-40GB", 8), ("A100-80GB", 4)]),
    ("any_of:\n    - accelerators: H100:8\n    - accelerators: H200:4", [("H100", 8), ("H200", 4)]),
    ("accelerators: H100:8\n  any_of:\n    - use_spot: true\n    - use_spot: false", [("H100", 8)]),
])  # fmt: skip
def test_how_machines_are_written(written: str, machines: list[tuple[str, int]]) -> None:
    text = TASK.replace("accelerators: {L4:4, A100:1, A100-80GB: 2}", written)
    found, _ = kit.read(text, "serve.yaml")
    assert [(item.value("gpu_product"), item.value("gpus")) for item in found] == machines


def test_a_container_names_the_version() -> None:
    text = TASK.replace("  cpus: 32+\n", "  image_id: docker:vllm/vllm-openai:v0.11.0\n")
    assert kit.read(text, "serve.yaml")[0][0].value("engine") == "vllm@0.11.0"


def test_without_a_card() -> None:
    text = TASK.replace("  accelerators: {L4:4, A100:1, A100-80GB: 2}\n", "")
    item = kit.one(text, "serve.yaml")
    assert (item.value("gpus"), "tp" in kit.open_names(item)) == (None, True)


def test_tasks_that_serve_nothing() -> None:
    assert kit.read("resources:\n  accelerators: H100:8\nrun: |\n  python train.py\n", "t.yaml") == ([], [])
