"""Cores that engines' own processes keep busy, against their documents."""

from __future__ import annotations

import pytest

from kvplan.domain.deployment import Layout
from kvplan.engines.host_lines import busy_cores
from kvplan.engines.processes import (
    llama_server_processes,
    mlx_processes,
    sglang_processes,
    tensorrt_llm_processes,
    vllm_processes,
)


@pytest.mark.parametrize(("gpus", "cores"), [(1, 3), (2, 4), (8, 10)])
def test_vllm_wants_two_and_one_for_each_gpu(gpus: int, cores: int) -> None:
    """Source: vLLM docs, CPU resources: 2 + N physical cores."""
    assert busy_cores(vllm_processes(Layout(tp=gpus))) == cores


@pytest.mark.parametrize(("tp", "dp"), [(1, 2), (2, 4), (1, 8)])
def test_vllm_with_data_parallelism_wants_servers_ranks_gpus_and_one(tp: int, dp: int) -> None:
    """Source: the same page: A + DP + N + 1; A is DP unless --api-server-count says otherwise."""
    assert busy_cores(vllm_processes(Layout(tp=tp, dp=dp))) == dp + dp + tp * dp + 1


def test_other_engines() -> None:
    assert [line.name for line in sglang_processes(Layout(tp=8))] == ["tokenizer", "detokenizer", "schedulers"]
    assert busy_cores(sglang_processes(Layout(tp=8))) == 10
    assert busy_cores(sglang_processes(Layout(tp=4, dp=2))) == 11
    assert busy_cores(tensorrt_llm_processes(Layout(tp=8))) == 10
    assert busy_cores(llama_server_processes(Layout(pp=2))) == 3
    assert busy_cores(mlx_processes()) == 2


@pytest.mark.parametrize("lines", [vllm_processes, sglang_processes, tensorrt_llm_processes, llama_server_processes])
def test_more_gpus_never_take_fewer_cores(lines: object) -> None:
    for dp in (1, 2, 4):
        cores = [busy_cores(lines(Layout(tp=tp, dp=dp))) for tp in (1, 2, 4, 8)]  # type: ignore[operator]
        assert cores == sorted(cores)
        assert all(line.formula and line.source for line in lines(Layout(tp=2, dp=dp)))  # type: ignore[operator]
