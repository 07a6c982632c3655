"""``kvplan kv`` on a host: the pool before launch, in the engine's own count."""

from __future__ import annotations

import jsonschema
import pytest

from kvplan.deployments.words import Words
from kvplan.results.kv import kv
from kvplan.results.schemas import schema
from kvplan.units import GIB


def test_the_line_of_a_published_start() -> None:
    # llm-d-planner's run of vLLM 0.19 on an H100 at 0.95: 58.11 GiB, 476,016 tokens
    answer = kv(Words(model="llama3-8b", host="h100-server", engine="vllm@0.19", gpu_memory_utilization=0.95))
    assert answer.predicted is not None and answer.pool is not None
    low, best, high = answer.predicted.split.kv_pool_bytes
    assert best / GIB == pytest.approx(58.11, abs=0.1) and low / GIB < 58.11 < high / GIB
    assert answer.pool.tokens == pytest.approx(476_016, rel=2e-3)
    assert (answer.predicted.fewest_tokens or 0) < 476_016 < (answer.predicted.most_tokens or 0)


def test_the_pool_is_the_one_of_fit() -> None:
    from kvplan.results.fit import fit

    told = Words(model="llama3-70b", host="h100-server", gpus=4, engine="vllm@0.19", context="128k")
    assessed, answer = fit(told).assessment, kv(told._replace(tp=4, gpus=None))  # type: ignore[union-attr]
    assert answer.predicted is not None
    assert answer.predicted.split.kv_pool_bytes == assessed.gpu_memory.kv_pool_bytes


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp", "tensorrt-llm", "ollama"])
def test_every_engine_counts_its_pool(engine: str) -> None:
    answer = kv(Words(model="llama3-8b", host="h100-server", engine=engine))
    assert answer.pool is not None and answer.pool.log_line
    jsonschema.validate(answer.to_json(), schema("kv"))


def test_no_room() -> None:
    answer = kv(Words(model="llama3-70b", host="rtx4090", engine="vllm"))
    assert answer.predicted is not None and answer.pool is None and answer.predicted.fewest_tokens == 0


def test_a_given_pool_is_not_predicted() -> None:
    assert kv(Words(model="llama3-8b", host="rtx4090", engine="vllm"), pool_gib=4).predicted is None
