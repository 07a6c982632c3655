"""Engines: found by their folder, modelled by version, and held to pools that vLLM itself printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kvplan.engines
from kvplan.assess import build_frame, gpu_memory
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve, resolve_on
from kvplan.deployments.words import Words
from kvplan.engines import all_engines, choose_engine, find_engine
from kvplan.errors import CannotJudge, InputError, UnknownName
from tests.engines.kit import policy_of

TRUTH = Path(__file__).parent.parent / "truth"
BUFFERS = [json.loads(line) for line in (TRUTH / "llama_cpp_buffers.jsonl").read_text().splitlines()]
POOLS = [json.loads(line) for line in (TRUTH / "vllm_pools.jsonl").read_text().splitlines()]


def test_every_file_of_the_folder_is_an_engine_named_for_it() -> None:
    folder = Path(kvplan.engines.__path__[0])
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"} - kvplan.engines._NOT_ENGINES
    assert {name.replace(".", "_").replace("-", "_") for name in all_engines()} == files


@pytest.mark.parametrize("name", sorted(all_engines()))
def test_an_engine_answers_for_its_newest_version(name: str) -> None:
    engine = find_engine(name)
    assert engine.resolve_version(engine.newest_version) == engine.newest_version
    host = "m4-max" if name == "mlx" else "rtx4090"
    policy = policy_of(host=host, engine=name)
    for term in (policy.budget, policy.activation, policy.runtime, policy.graphs, policy.engine_dram):
        assert 0.0 <= term.bytes.low <= term.bytes.best <= term.bytes.high
        assert term.formula and term.source
    gpu = load_host(host).gpu
    assert gpu is not None
    for kernel in engine.kv_kernels(gpu).values():
        assert 0.0 < kernel.format.element_bytes <= 2.0
        assert kernel.source


def test_aliases_and_natural_engines() -> None:
    assert find_engine("trtllm").name == "tensorrt-llm"
    assert find_engine("llama-server").name == "llama.cpp"
    assert choose_engine(None, load_host("rtx4090")).name == "vllm"
    assert choose_engine(None, load_host("m3-ultra")).name == "llama.cpp"
    assert choose_engine("vllm@0.19.1", load_host("rtx4090")).version == "0.19.1"


@pytest.mark.parametrize("text", ["vllm@", "vllm@9.9", "vllm@0.1", "vllm@x", "vllm@99999999999999999999"])
def test_a_version_that_is_not_modelled_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        choose_engine(text, load_host("rtx4090"))


def test_an_unknown_engine_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName) as raised:
        find_engine("vlm")
    assert "vllm" in str(raised.value.help)


def test_the_default_utilization_changed_in_0_20() -> None:
    """config/cache.py of the released packages: 0.9 in 0.19.1, 0.92 in 0.20.0."""
    old, new = (policy_of(host="rtx4090", engine=f"vllm@{version}").budget.bytes.best for version in ("0.19.1", "0.20"))
    assert new / old == pytest.approx(0.92 / 0.90)


def test_graphs_are_charged_since_0_20_and_not_when_eager() -> None:
    """envs.py of the released packages: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS is off in 0.19.1, on in 0.20.0."""
    assert policy_of(host="rtx4090", engine="vllm@0.19.1").graphs.bytes.high == 0.0
    assert policy_of(host="rtx4090", engine="vllm@0.20").graphs.bytes.best > 0.5 * 2**30
    assert policy_of(host="rtx4090", engine="vllm@0.21", enforce_eager=True).graphs.bytes.high == 0.0


@pytest.mark.parametrize("row", POOLS, ids=lambda row: row["id"])
def test_the_kv_pool_is_what_vllm_printed(row: dict[str, Any]) -> None:
    words = Words(
        model=row["model"], host="h100-server", gpus=row["gpus"], tp=row["gpus"], dp=1, context="4k",
        engine=f"vllm@{row['version']}", gpu_memory_utilization=row["utilization"],
        max_num_batched_tokens=row["tokens"], max_num_seqs=row["sequences"],
    )  # fmt: skip
    pool = gpu_memory(build_frame(resolve(words))).kv_pool_bytes.map(lambda value: value / 2**30)
    assert pool.best == pytest.approx(row["kv_gib"], abs=0.25)
    assert pool.low <= row["kv_gib"] <= pool.high


@pytest.mark.parametrize("row", BUFFERS, ids=lambda row: row["id"])
def test_llama_cpp_compute_buffer_as_printed(row: dict[str, Any]) -> None:
    model = load_model("qwen3-30b-a3b")._replace(vocab_size=row["vocab_size"], hidden_size=row["hidden_size"])
    words = Words(engine="llama.cpp", context=row["context"])
    buffer = build_frame(resolve_on(words, model, load_host("strix-halo"))).situation.policy.activation.bytes
    assert buffer.low <= row["compute_mib"] * 2**20 <= buffer.high


@pytest.mark.parametrize(
    ("engine", "host"),
    [("vllm", "m4-max"), ("sglang", "m4-max"), ("tensorrt-llm", "m4-max"), ("tensorrt-llm", "mi300x-server")],
)
def test_an_engine_is_refused_where_it_does_not_run(engine: str, host: str) -> None:
    with pytest.raises(CannotJudge) as raised:
        policy_of(host=host, engine=engine, gpus=1)
    assert raised.value.exit_code == 3 and "--engine" in str(raised.value.help)


def test_sglang_keeps_a_static_share_of_free_memory() -> None:
    # printed with 0.88 on H100: weights + KV = 0.879 to 0.880 of 78.4 to 78.8 GiB free
    policy = policy_of(host="h100-server", gpus=1, engine="sglang", mem_fraction_static=0.88)
    assert policy.budget.bytes.low / 2**30 <= 0.88 * 78.6 <= policy.budget.bytes.high / 2**30
