"""Compose files of our own, from the Compose specification and the shapes that people commit."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Unreadable
from kvplan.deployments.sources import read_deployments

CHAT = """services:
  chat:
    image: vllm/vllm-openai:${VLLM_TAG:-v0.11.0}
    shm_size: 16gb
    mem_limit: 96g
    cpus: "12"
    ulimits:
      memlock: -1
    environment:
      - OMP_NUM_THREADS=8
      - CUDA_VISIBLE_DEVICES=1
    command:
      - --model
      - ${MODEL:-Qwen/Qwen3-8B}
      - --max-model-len
      - "${LENGTH:-16384}"
      - --speculative-config
      - '{"method": "ngram", "num_speculative_tokens": ${DRAFTS:-3}}'
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              device_ids: ["2", "3"]
              capabilities: [gpu]
"""


def tree(folder: Path, **files: str) -> dict[str, FoundDeployment]:
    """The deployments of a folder with these files, by name."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found, unread = read_deployments([str(folder)])
    assert not unread
    return {item.name: item for item, _ in found}


def test_a_service() -> None:
    item = kit.one(CHAT, "compose.yaml")
    assert (item.name, item.form) == ("chat", "docker-compose")
    assert kit.values(item) == {
        "engine": "vllm@0.11.0", "model": "Qwen/Qwen3-8B", "max_model_len": "16384", "shm_size": "16Gi",
        "memory_limit": "96Gi", "cpu_limit": "12", "memlock": "unlimited", "omp_num_threads": 8, "gpus": 1,
        "speculative_config": '{"method": "ngram", "num_speculative_tokens": 3}',
    }  # fmt: skip
    assert item.notes["gpu_ids"] == "3"  # the second of the two that the container is given


def test_every_value_has_its_line() -> None:
    lines = kit.lines(kit.one(CHAT, "compose.yaml"))
    assert (lines["engine"], lines["model"], lines["max_model_len"], lines["memlock"]) == (3, 14, 16, 8)


def test_the_file_of_variables_is_read(tmp_path: Path) -> None:
    env = "# which model\nMODEL=Qwen/Qwen3-14B # not the small one\nLENGTH='8192'\nVLLM_TAG=v0.10.2\n"
    item = tree(tmp_path, compose_dot_yaml=CHAT, _dot_env=env)["chat"]
    assert item.value("model") == "Qwen/Qwen3-14B"
    assert item.value("engine") == "vllm@0.10.2"
    assert str(item.settings["max_model_len"].place).endswith(".env:3")


@pytest.mark.parametrize("command", [
    'command: --model m --max-model-len ${L:-4096} --hf-overrides \'{"a b":1}\'',
    "command: >\n      --model m\n      --max-model-len 4096",
    "command: |\n      --model m\n      --max-model-len 4096",
    "command: >-\n      bash -c \"vllm serve m\n      --max-model-len 4096\"",
    "command: ['--model', 'm', '--max-model-len=4096']",
    "command: [vllm, serve, m, --max-model-len, '4096']",
    "entrypoint: [vllm]\n    command: [serve, m, --max-model-len, '4096']",
    "entrypoint: vllm serve\n    command: m --max-model-len 4096",
    "entrypoint: []\n    command: [bash, -lc, 'export L=4096; exec vllm serve m --max-model-len $$L']",
    "command:\n    - bash\n    - -c\n    - |\n      L=4096\n      vllm serve m \\\n        --max-model-len $${L}",
    "entrypoint: /bin/sh -c\n    command: ['vllm serve m --max-model-len 4096']",
    "environment: {L: 4096}\n    command: sh -c 'vllm serve m --max-model-len $$L'",
    "command: python3 -m vllm.entrypoints.openai.api_server --model m --max-model-len 4096",
])  # fmt: skip
def test_ways_to_write_a_command(command: str) -> None:
    item = kit.one(f"services:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n    {command}\n", "c.yml")
    assert (item.value("model"), item.value("max_model_len")) == ("m", "4096")
    assert not item.unresolved


def test_folded_texts_keep_the_lines_of_their_words() -> None:
    text = "services:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n    command: >\n      --model m\n\n      -tp 2\n"
    assert kit.lines(kit.one(text, "c.yml"))["model"] == 5
    assert kit.lines(kit.one(text, "c.yml"))["tp"] == 7


@pytest.mark.parametrize(("written", "why"), [
    ("${M}", "is set outside"), ("${M:?needed}", "is set outside"), ("$M", "is set outside"),
    ("${M:-${N}}", "is set outside"), ("$${M}", "without a shell"), ("x-${M}", "is set outside"),
])  # fmt: skip
def test_what_is_set_outside_is_open(written: str, why: str) -> None:
    text = f"services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: [--model, '{written}', -tp, '2']\n"
    item = kit.one(text, "c.yml")
    assert kit.open_names(item) == ["model"]
    assert why in item.unresolved[0].reason
    assert item.value("tp") == "2"


def test_an_example_is_only_a_hint(tmp_path: Path) -> None:
    text = "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: [--model, '${M}']\n"
    item = tree(tmp_path, c_dot_yml=text, _dot_env_dot_example="M=Qwen/Qwen3-8B\n")["a"]
    assert "model" not in item.settings
    assert "Qwen/Qwen3-8B" in item.unresolved[0].reason


def test_extends_and_anchors(tmp_path: Path) -> None:
    base = """services:
  engine:
    image: vllm/vllm-openai:v0.9.1
    ipc: host
    environment: {LMCACHE_MAX_LOCAL_CPU_SIZE: 20, HF_HOME: /x}
    deploy: {resources: {limits: {memory: 64G}}}
"""
    text = """x-common: &common
  cpus: 8
services:
  a:
    <<: *common
    extends: {file: base.yml, service: engine}
    environment: {LMCACHE_MAX_LOCAL_CPU_SIZE: 40}
    command: --model m
  b:
    extends: a
    command: --model n
"""
    found = tree(tmp_path, base_dot_yml=base, c_dot_yml=text)
    assert kit.values(found["a"]) == {
        "engine": "vllm@0.9.1", "model": "m", "shm_size": "host", "memory_limit": "64Gi", "cpu_limit": "8",
        "lmcache_gib_per_rank": "40",
    }  # fmt: skip
    assert found["b"].value("model") == "n"
    assert found["b"].value("cpu_limit") == "8"


def test_an_override_stands_for_the_file_below_it(tmp_path: Path) -> None:
    base = "services:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n    command: --model m -tp 2\n"
    over = "services:\n  a:\n    mem_limit: 8g\n    command: --model m -tp 4\n"
    found = tree(tmp_path, compose_dot_yaml=base, compose_dot_override_dot_yaml=over)
    assert list(found) == ["a"]
    assert (found["a"].value("tp"), found["a"].value("memory_limit")) == ("4", "8Gi")


@pytest.mark.parametrize(("given", "gpus", "cards"), [
    ("gpus: all", None, "all"),
    ("gpus: 2", 2, "0,1"),
    ("gpus:\n      - device_ids: ['4']", 1, "4"),
    ("runtime: nvidia\n    environment: ['NVIDIA_VISIBLE_DEVICES=1,2']", 2, "1,2"),
    ("deploy: {resources: {reservations: {devices: [{count: 2, capabilities: [gpu]}]}}}", 2, "0,1"),
    ("deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: [nvidia.com/gpu=3]}]}}}", 1, "3"),
    ("devices: [/dev/kfd, /dev/dri/renderD128, /dev/dri/renderD129]", 2, None),
    ("profiles: [other]\n    gpus: 2", 2, None),
    ("profiles: [other]\n    gpus: all", None, None),
])  # fmt: skip
def test_gpus(given: str, gpus: int | None, cards: str | None) -> None:
    text = f"services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model m -tp 2\n    {given}\n"
    item = kit.one(text, "c.yml")
    assert (item.value("gpus"), item.notes.get("gpu_ids")) == (gpus, cards)


def test_a_container_has_little_shared_memory_by_default() -> None:
    item = kit.one("services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model m\n", "c.yml")
    assert (item.value("shm_size"), item.where("shm_size").line) == ("64Mi", 2)
    host = kit.one(
        "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model m\n    ipc: host\n    shm_size: 2g\n",
        "c.yml",
    )
    assert host.value("shm_size") == "host"


def test_what_cannot_be_read_is_said() -> None:
    text = (
        "services:\n  a:\n    image: vllm/vllm-openai:v1\n    command: --model m\n    mem_limit: ${MEM}\n    cpus: x\n"
    )
    item = kit.one(text, "c.yml")
    assert kit.open_names(item) == ["memory_limit"]
    assert [complaint.place.line for complaint in item.complaints] == [6]


def test_a_script_and_a_dockerfile_of_the_tree(tmp_path: Path) -> None:
    compose = """services:
  a:
    image: my/engine
    command: ["/app/start.sh", "8192"]
    environment: {TP: 2}
  b:
    build: {context: ./b, args: {TAG: v0.9.2}}
    environment: {MODEL: n}
"""
    recipe = "ARG TAG=v0.1.0\nFROM vllm/vllm-openai:${TAG}\nENV MODEL=m LEN=4096\n"
    recipe += 'ENTRYPOINT ["/bin/sh", "-c", "vllm serve $MODEL --max-model-len $LEN"]\n'
    script = "#!/bin/bash\nvllm serve m --max-model-len $1 -tp ${TP:-1}\n"
    found = tree(tmp_path, c_dot_yml=compose, b__Dockerfile=recipe, start_dot_sh=script)
    assert (found["a"].value("max_model_len"), found["a"].value("tp")) == ("8192", "2")
    assert (found["b"].value("model"), found["b"].value("max_model_len")) == ("n", "4096")
    assert found["b"].value("engine") == "vllm@0.9.2"
    assert "start" not in found
    assert [str(found[name].place).rpartition("/")[2] for name in ("a", "b")] == ["c.yml:2", "c.yml:6"]


def test_an_engine_hidden_in_an_image_is_a_question() -> None:
    text = """services:
  web:
    image: open-webui
    environment: [VLLM_URL=http://vllm]
  vllm:
    build: ../elsewhere
    gpus: 1
    environment: [VLLM_MODEL=m, VLLM_MAX_MODEL_LEN=4096]
"""
    item = kit.one(text, "c.yml")
    assert (item.name, item.value("model"), item.value("max_model_len")) == ("vllm", "m", "4096")
    assert kit.open_names(item) == ["arguments"]
    assert item.unresolved[0].stops


def test_engines_that_are_not_modelled_are_named() -> None:
    text = (
        "services:\n  tgi:\n    image: ghcr.io/huggingface/text-generation-inference:3.0\n    command: --model-id m\n"
    )
    found, unread = kit.read(text, "c.yml")
    assert not found
    assert [(type(item), item.place.line) for item in unread] == [(Unreadable, 3)]


def test_other_yaml_is_not_compose() -> None:
    assert kit.read("services: {}\n", "c.yml") == ([], [])
    manifest = "apiVersion: v1\nservices:\n  image: x\n"
    assert kit.read(manifest, "c.yml") == ([], [])
