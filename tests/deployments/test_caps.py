"""Where reading ends at a cap, the file fails: what stands behind it may be anything."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kvplan.deployments.kube.pod_commands import MOST_ITEMS
from kvplan.deployments.shell.commands import MOST_COMMANDS
from tests.deployments.kit import one, read
from tests.rules.kit import checked, pod

GOOD = "vllm serve llama3-8b --max-model-len 8192\n"
OVER = "vllm serve llama3-8b --max-model-len 8192 --gpu-memory-utilization 0.1\n"
CONTAINER = "  - image: vllm/vllm-openai:v0.10.0\n    args: [--model=llama3-8b]\n"


def test_the_201st_command_is_judged(tmp_path: Path) -> None:
    result = checked(tmp_path, "#!/bin/bash\n" + GOOD * 200 + OVER, host="h100-server")
    assert (len(result.deployments), result.exit_code) == (201, 1)
    assert {item.where.rsplit(":", 1)[1] for item in result.findings if item.level == "fail"} == {"202"}


def test_commands_behind_the_cap() -> None:
    found, faults = read("#!/bin/bash\n" + GOOD * (MOST_COMMANDS + 5), "a.sh")
    assert len(found) == MOST_COMMANDS
    assert [(str(fault.place), fault.level) for fault in faults] == [(f"a.sh:{MOST_COMMANDS + 2}", "fail")]
    assert "not read further: more than 2,000" in faults[0].message
    assert read("#!/bin/bash\n" + GOOD * 300, "a.sh")[1] == []


def test_containers_behind_the_cap() -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: c}\nspec:\n  containers:\n"
    found, faults = read(head + CONTAINER * 2001, "a.yaml")
    assert len(found) == 2000
    assert [fault.level for fault in faults] == ["fail"]
    assert faults[0].place.line > 4000
    assert len(read(head + CONTAINER * 201, "a.yaml")[0]) == 201


def test_flags_behind_many_words() -> None:
    item = one(GOOD.rstrip() + " a" * 2100 + " --max-num-seqs 7\n", "a.sh")
    assert item.value("max_num_seqs") == "7"
    assert not item.complaints


@pytest.mark.parametrize("filler", [" a", " --flag", " --max-num-seqs"])
def test_a_command_that_is_not_read_to_its_end(tmp_path: Path, filler: str) -> None:
    text = GOOD.rstrip() + filler * (30_000 // len(filler)) + " --gpu-memory-utilization 0.1\n"
    result = checked(tmp_path, text, host="h100-server")
    assert result.exit_code == 1
    failed = [item for item in result.findings if "not read further" in item.message]
    assert [(item.rule, item.level) for item in failed] == [("KV416", "fail")]


def test_arguments_of_a_container_behind_the_cap(tmp_path: Path) -> None:
    short = checked(tmp_path, pod("--model=llama3-8b\n" * 2001 + "--max-model-len=131072"), "a.yaml", "rtx4090")
    assert short.deployments[0].found.value("max_model_len") == "131072"
    result = checked(tmp_path, pod("--model=llama3-8b\n" * MOST_ITEMS + "--max-model-len=131072"), "a.yaml", "rtx4090")
    failed = [item for item in result.findings if "not read further" in item.message]
    assert [item.level for item in failed] == ["fail"]
    assert failed[0].where.endswith(f":{MOST_ITEMS + 10}")


def test_a_variable_among_too_many_assignments_is_not_known() -> None:
    filler = "".join(f"A{index}=1\n" for index in range(1200))
    item = one(f"#!/bin/bash\nL=8192\n{filler}L=131072\nvllm serve llama3-8b --max-model-len $L\n", "a.sh")
    assert item.value("max_model_len") is None
    assert [open_one.name for open_one in item.unresolved] == ["max_model_len"]


@pytest.mark.parametrize("line", ["a" + ".a" * 49_000 + " = 1", "x = { a" + ".a" * 30_000 + " = 1 }",
                                  "[a" + ' . "a"' * 9000 + "]", "x = '" + "y" * 100_001 + "'"])  # fmt: skip
def test_keys_that_would_take_minutes(tmp_path: Path, line: str) -> None:
    start = time.perf_counter()
    _, faults = read(f'schema = "kvplan.deployment/1"\nmodel = "llama3-8b"\n{line}\n', "a.toml")
    assert time.perf_counter() - start < 3.0
    assert [str(fault.place) for fault in faults] == ["a.toml:3"]


def test_many_dots_that_are_no_key() -> None:
    numbers = ", ".join(["0.5"] * 500)
    found, faults = read(
        f'schema = "kvplan.deployment/1"\nmodel = "llama3-8b"\n# {"a. b, " * 500}\nx = [{numbers}]\n', "a.toml"
    )
    assert (len(found), faults) == (1, [])
