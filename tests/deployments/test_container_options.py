"""What docker run, podman run and their like are told; units and defaults as in the reference of ``docker run``."""

from __future__ import annotations

import pytest

from kvplan.deployments.argv import Word
from kvplan.deployments.container import (
    cpus_listed,
    gpu_ids,
    gpus_of_docker,
    invocation_of,
    memlock_of,
    quantity_of,
    settings_of_docker,
)
from kvplan.deployments.found import Place

HERE = Place("x", 1)


def words(text: str) -> list[Word]:
    return [Word(piece, HERE) for piece in text.split()]


@pytest.mark.parametrize(("options", "setting", "value"), [
    ("--memory 64g", "memory_limit", "64Gi"), ("-m 512m", "memory_limit", "512Mi"), ("-m=1024", "memory_limit", "1024"),
    ("--cpus=1.5", "cpu_limit", "1.5"), ("--cpuset-cpus 0-3,8", "cpu_limit", "5"),
    ("--shm-size 16gb", "shm_size", "16Gi"), ("--ipc=host", "shm_size", "host"), ("--ipc host", "shm_size", "host"),
    ("--ipc=host --shm-size 2g", "shm_size", "host"), ("", "shm_size", "64Mi"),
    ("-v /dev/shm:/dev/shm", "shm_size", "host"),
    ("--ulimit memlock=-1", "memlock", "unlimited"), ("--ulimit memlock=-1:-1", "memlock", "unlimited"),
    ("--gpus 2", "gpus", 2),
    ("--device /dev/kfd --device /dev/dri/renderD128 --device /dev/dri/renderD129", "gpus", 2),
    ("--gpus device=0,1", "gpus", 2), ('--gpus "device=2"', "gpus", 1),
])  # fmt: skip
def test_options(options: str, setting: str, value: object) -> None:
    run = invocation_of(words(f"sudo docker run -d --rm -it {options} -p 80:80 image --model m"))
    assert run is not None
    assert run.image.text == "image"
    assert {item.name: item.value for item in settings_of_docker(run)}[setting] == value


@pytest.mark.parametrize("text", ["docker pull image", "docker compose up", "podman ps", "run image", "docker run -d"])
def test_what_runs_no_image(text: str) -> None:
    assert invocation_of(words(text)) is None


def test_cards_of_a_container_that_its_process_sees() -> None:
    run = invocation_of(words("docker run --gpus device=4,6 image"))
    assert run is not None
    assert gpus_of_docker(run) == "4,6"
    assert gpu_ids({"CUDA_VISIBLE_DEVICES": Word("1", HERE)}, "4,6") == "6"
    assert gpu_ids({"NVIDIA_VISIBLE_DEVICES": Word("2,3", HERE)}) == "2,3"
    assert gpu_ids({"NVIDIA_VISIBLE_DEVICES": Word("all", HERE)}) is None


def test_quantities() -> None:
    assert [quantity_of(text) for text in ("64g", "64GB", "1.5t", "100", "64Gi", "x", "-1")] == [
        "64Gi", "64Gi", "1.5Ti", "100", "64Gi", None, None,
    ]  # fmt: skip
    assert [cpus_listed(text) for text in ("0-7", "0,2", "3", "a", "")] == [8, 2, 1, 0, 0]
    assert [memlock_of(text) for text in ("-1", "infinity", "65536:65536")] == ["unlimited", "unlimited", "65536"]
