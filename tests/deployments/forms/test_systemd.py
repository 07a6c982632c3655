"""Units of our own, from systemd.unit(5), systemd.exec(5) and systemd.resource-control(5)."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.sources import read_deployments

UNIT = """sudo nano /etc/systemd/system/chat.service
[Unit]
Description=a server

[Service]
Environment="MODEL=Qwen/Qwen3-8B" LEN=16384
Environment=CUDA_VISIBLE_DEVICES=0,1
# of the host
MemoryMax=96G
MemoryHigh=80G
CPUQuota=1200%
AllowedCPUs=0-7,16-23
LimitMEMLOCK=infinity
ExecStartPre=/usr/bin/sleep 1
ExecStart=/opt/venv/bin/vllm serve ${MODEL} \\
  --max-model-len $LEN \\
  # --enforce-eager \\
  --tensor-parallel-size 2 --served-model-name "a;b & c"

[Install]
WantedBy=multi-user.target
"""


def test_a_unit() -> None:
    item = kit.one(UNIT, "chat.service")
    assert (item.name, item.form, item.place.line) == ("chat", "systemd", 15)
    assert kit.values(item) == {
        "model": "Qwen/Qwen3-8B", "max_model_len": "16384", "tp": "2", "gpus": 2, "memory_limit": "96Gi",
        "cpu_limit": "12", "memlock": "unlimited",
    }  # fmt: skip
    assert kit.lines(item) == {
        "model": 6, "max_model_len": 6, "tp": 18, "gpus": 7, "memory_limit": 9, "cpu_limit": 11, "memlock": 13,
    }  # fmt: skip
    assert item.notes == {"gpu_ids": "0,1"}


def test_a_share_of_the_host_is_a_question() -> None:
    item = kit.one("[Service]\nMemoryMax=60%\nExecStart=vllm serve m\n", "a.service")
    assert [(open_.name, open_.text, open_.stops) for open_ in item.unresolved] == [("memory_limit", "60%", False)]


def test_drop_ins_and_files_of_variables(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "chat.service.d").mkdir()
    (tmp_path / "chat.service.d" / "20-more.conf").write_text("[Service]\nMemoryMax=32G\n", encoding="utf-8")
    (tmp_path / "chat.service.d" / "30-start.conf").write_text(
        "[Service]\nExecStart=\nExecStart=vllm serve ${MODEL} -tp ${TP}\n", encoding="utf-8"
    )
    (tmp_path / "chat.service").write_text(
        "[Service]\nEnvironment=TP=1\nEnvironmentFile=-/etc/default/chat.env\nMemoryMax=8G\nExecStart=vllm serve old\n",
        encoding="utf-8",
    )
    (tmp_path / "chat.env").write_text("MODEL=m\nTP=4\n", encoding="utf-8")
    found, _ = read_deployments([str(tmp_path)])
    assert [kit.values(item) for item, _ in found] == [{"model": "m", "tp": "4", "memory_limit": "32Gi"}]
    alone, _ = read_deployments([str(tmp_path / "chat.service.d" / "20-more.conf")])
    assert [(item.name, item.value("tp")) for item, _ in alone] == [("chat", "4")]


def test_a_file_that_is_elsewhere_is_named() -> None:
    item = kit.one("[Service]\nEnvironmentFile=/etc/chat.env\nExecStart=vllm serve m -tp ${TP}\n", "a.service")
    assert kit.open_names(item) == ["tp"]
    assert "/etc/chat.env" in item.unresolved[0].reason


def test_a_wrapped_script_belongs_to_its_unit(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        '#!/bin/bash\nLEN="${LEN:-4096}"\nARGS=(--max-model-len "$LEN")\nexec vllm serve m "${ARGS[@]}"\n',
        encoding="utf-8",
    )
    (tmp_path / "chat.service").write_text(
        "[Service]\nEnvironment=LEN=8192\nExecStart=/srv/chat/run.sh\nMemoryMax=4G\n", encoding="utf-8"
    )
    found, _ = read_deployments([str(tmp_path)])
    assert [(item.name, item.form, item.value("max_model_len"), item.value("memory_limit")) for item, _ in found] == [
        ("chat", "systemd", "8192", "4Gi")
    ]


@pytest.mark.parametrize("start", [
    "-vllm serve m -tp 2", "/bin/bash -c 'cd /x && exec vllm serve m -tp 2'", "/usr/bin/env vllm serve m -tp $TP",
    "docker run --rm --gpus all vllm/vllm-openai:v0.9.1 --model m -tp 2", "/bin/bash -lc \"vllm serve m -tp $${TP}\"",
    "numactl -N 0 vllm serve m -tp 2",
])  # fmt: skip
def test_ways_to_start(start: str) -> None:
    item = kit.one(f"[Service]\nEnvironment=TP=2\nExecStart={start}\n", "a.service")
    assert (item.value("model"), item.value("tp")) == ("m", "2")


def test_a_container_is_not_in_the_units_control_group() -> None:
    unit = "[Service]\nMemoryMax=4G\nExecStart=docker run --memory 64g vllm/vllm-openai:v0.9.1 --model m\n"
    item = kit.one(unit, "a.service")
    assert (item.value("memory_limit"), item.value("engine")) == ("64Gi", "vllm@0.9.1")


def test_an_instance_is_named_later() -> None:
    item = kit.one("[Service]\nExecStart=vllm serve %i --download-dir %h/models\n", "a@.service")
    assert kit.open_names(item) == ["model"]
