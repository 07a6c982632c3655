"""Quadlets of our own, from podman-systemd.unit(5)."""

from __future__ import annotations

from pathlib import Path

import tests.deployments.kit as kit
from kvplan.deployments.sources import read_deployments

QUADLET = """[Unit]
Description=chat

[Container]
Image=docker.io/vllm/vllm-openai:v0.9.1
AddDevice=nvidia.com/gpu=1
Environment=LMCACHE_MAX_LOCAL_CPU_SIZE=20
ShmSize=8g
Ulimit=memlock=-1:-1
PodmanArgs=--memory 48g --cpus=6 \\
  -e OMP_NUM_THREADS=4
Exec=--model m \\
  --max-model-len 4096

[Service]
Restart=always
"""


def test_a_container() -> None:
    item = kit.one(QUADLET, "chat.container")
    assert (item.name, item.form, item.notes["gpu_ids"]) == ("chat", "quadlet", "1")
    assert kit.values(item) == {
        "engine": "vllm@0.9.1", "model": "m", "max_model_len": "4096", "gpus": 1, "lmcache_gib_per_rank": "20",
        "shm_size": "8Gi", "memlock": "unlimited", "memory_limit": "48Gi", "cpu_limit": "6", "omp_num_threads": 4,
    }  # fmt: skip
    assert kit.lines(item)["max_model_len"] == 13


def test_podmans_default_of_shared_memory() -> None:
    item = kit.one("[Container]\nImage=vllm/vllm-openai:v1\nExec=--model m\n", "a.container")
    assert item.value("shm_size") == "64Mi"


def test_drop_ins_and_image_units(tmp_path: Path) -> None:
    (tmp_path / "a.container.d").mkdir()
    (tmp_path / "a.container.d" / "x.conf").write_text("[Container]\nPodmanArgs=--ipc=host\n", encoding="utf-8")
    (tmp_path / "a.container").write_text("[Container]\nImage=v.image\nExec=--model m\n", encoding="utf-8")
    (tmp_path / "v.image").write_text("[Image]\nImage=vllm/vllm-openai:v0.9.2\n", encoding="utf-8")
    found, _ = read_deployments([str(tmp_path)])
    assert [kit.values(item) for item, _ in found] == [{"engine": "vllm@0.9.2", "model": "m", "shm_size": "host"}]


def test_an_engine_hidden_in_an_image_is_a_question() -> None:
    item = kit.one("[Container]\nImage=localhost/vllm-own\nAddDevice=/dev/dri\n", "a.container")
    assert kit.open_names(item) == ["arguments"]
    assert kit.read("[Container]\nImage=localhost/web\nAddDevice=/dev/dri\n", "b.container")[0] == []
    assert kit.read("[Container]\n", "c.container") == ([], [])
