"""``vllm serve``: what its flags and variables come to, by version."""

from __future__ import annotations

import json

import pytest

from kvplan.deployments.commands import flags_in
from tests.deployments.command_kit import started, values

LMCACHE = '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
OFFLOADING = '{"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 5e9}}'


@pytest.mark.parametrize("text", [
    "vllm serve m -tp 2", "/opt/venv/bin/vllm serve m -tp 2",
    "python3 -m vllm.entrypoints.openai.api_server --model m -tp 2",
    "python3 -m dynamo.vllm --model m -tp 2 --migration-limit=3", "vllm serve --model m -tp 2",
    "python3 -m vllm.entrypoints.cli.main serve m -tp 2",
    "python3 -m huggingfaceserver --model_name=x --model_id=m --tensor-parallel-size=2",
])  # fmt: skip
def test_ways_to_start_it(text: str) -> None:
    found = started(text)
    assert found.engine == "vllm"
    assert {name: found.value(name) for name in ("model", "tp")} == {"model": "m", "tp": "2"}
    assert found.complaints == ()


@pytest.mark.parametrize(
    "words", [["vllm", "bench", "serve"], ["vllm"], ["serve"], ["python", "-m", "vllm.collect_env"]]
)
def test_what_does_not_start_it(words: list[str]) -> None:
    assert flags_in(words) is None


def test_the_optimization_level_is_no_unknown_flag() -> None:
    assert values("vllm serve m -O3")["optimization_level"] == "3"
    assert started("vllm serve m -O3 -O=2").complaints == ()


@pytest.mark.parametrize(("version", "by"), [("v0.10.2", "OffloadingConnector"), ("v0.22.1", "OffloadingConnector"),
                                             ("v0.23.0", None), ("v0.33.0", None)])  # fmt: skip
def test_a_connector_turns_the_hybrid_manager_off(version: str, by: str | None) -> None:
    """VllmConfig of 0.22.1 turns it off for any connector, that of 0.23.0 for those that lack SupportsHMA."""
    found = values(f"vllm serve m --kv-transfer-config '{OFFLOADING}'", image=f"vllm/vllm-openai:{version}")
    assert found.get("hybrid_manager_off_by") == by


def test_connectors_without_support_for_the_hybrid_manager() -> None:
    """LMCacheConnectorV1 of 0.33.0 derives from KVConnectorBase_V1 alone; of a MultiConnector every child must."""
    assert values(f"vllm serve m --kv-transfer-config '{LMCACHE}'")["hybrid_manager_off_by"] == "LMCacheConnectorV1"
    children = [{"kv_connector": "NixlConnector"}, {"kv_connector": "LMCacheConnectorV1"}]
    config = json.dumps({"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": children}})
    assert values(f"vllm serve m --kv-transfer-config '{config}'")["hybrid_manager_off_by"] == "LMCacheConnectorV1"
    by_hand = values(f"vllm serve m --kv-transfer-config '{LMCACHE}' --no-disable-hybrid-kv-cache-manager")
    assert "hybrid_manager_off_by" not in by_hand


def test_offloading_by_flag_is_a_connector_too() -> None:
    assert values("vllm serve m --kv-offloading-size 40", image="vllm/vllm-openai:v0.18.0")[
        "hybrid_manager_off_by"
    ] == ("OffloadingConnector")
    assert "hybrid_manager_off_by" not in values("vllm serve m --kv-offloading-size 40")


def test_an_lmcache_backend_holds_its_memory_elsewhere_since_0_23() -> None:
    text = "vllm serve m --kv-offloading-size 40 --kv-offloading-backend lmcache"
    assert values(text, image="vllm/vllm-openai:v0.22.1")["kv_offloading_size"] == "40"
    newer = started(text, image="vllm/vllm-openai:v0.23.0")
    assert newer.value("kv_offloading_size") is None
    assert [(item.name, item.stops) for item in newer.unresolved] == [("kv_offloading_size", False)]
    assert newer.value("hybrid_manager_off_by") == "LMCacheMPConnector"


@pytest.mark.parametrize(("config", "environment", "gib"), [
    ({}, {}, 5.0), ({}, {"LMCACHE_MAX_LOCAL_CPU_SIZE": "80"}, "80"),
    ({"lmcache.max_local_cpu_size": 60}, {"LMCACHE_MAX_LOCAL_CPU_SIZE": "80"}, 60.0),
    ({}, {"LMCACHE_CONFIG_PATH": "/x.yaml"}, 5.0),
])  # fmt: skip
def test_lmcache_for_each_rank(config: dict[str, object], environment: dict[str, str], gib: object) -> None:
    """5 GiB for each rank by default; LMCACHE_CONFIG_PATH is not read, so the default holds."""
    transfer = json.dumps({"kv_connector": "LMCacheConnectorV1", "kv_connector_extra_config": config})
    assert values(f"vllm serve m --kv-transfer-config '{transfer}'", **environment)["lmcache_gib_per_rank"] == gib


def test_a_file_of_lmcache_that_cannot_be_read_leaves_the_amount_open() -> None:
    found = started(f"vllm serve m --kv-transfer-config '{LMCACHE}'", LMCACHE_CONFIG_FILE="/etc/lmcache.yaml")
    assert found.value("lmcache_gib_per_rank") is None
    assert ("lmcache_gib_per_rank", "/etc/lmcache.yaml") in [(item.name, item.text) for item in found.unresolved]


def test_an_lmcache_server_and_mooncake() -> None:
    mp = values('vllm serve m --kv-transfer-config \'{"kv_connector": "LMCacheMPConnector"}\'')
    assert "lmcache_gib_per_rank" not in mp
    store = started('vllm serve m --kv-transfer-config \'{"kv_connector": "MooncakeStoreConnector"}\'')
    assert [(item.name, item.stops) for item in store.unresolved] == [("offload_bytes_per_rank", False)]


@pytest.mark.parametrize(("environment", "gib"), [
    ({}, 10), ({"AIBRIX_KV_CACHE_OL_L1_CACHE_CAPACITY_GB": "80"}, 80),
    ({"AIBRIX_KV_CACHE_OL_L1_CACHE_ENABLED": "0"}, None),
])  # fmt: skip
def test_aibrix(environment: dict[str, str], gib: int | None) -> None:
    config = '{"kv_connector": "AIBrixOffloadingConnectorV1Type1", "kv_role": "kv_both"}'
    found = values(f"vllm serve m --kv-transfer-config '{config}'", **environment)
    assert found.get("offload_bytes_per_rank") == (None if gib is None else gib * 2**30)


@pytest.mark.parametrize(("text", "config"), [
    ("--spec-method mtp --spec-tokens 2", {"method": "mtp", "num_speculative_tokens": 2}),
    ("--speculative-model org/draft-1b --num-speculative-tokens 5 --speculative-draft-tensor-parallel-size 1",
     {"model": "org/draft-1b", "num_speculative_tokens": 5, "draft_tensor_parallel_size": 1}),
    ("--speculative-model [ngram] --num-speculative-tokens 5", {"method": "ngram", "num_speculative_tokens": 5}),
    ("--speculative-config.method ngram --speculative-config.num_speculative_tokens 4",
     {"method": "ngram", "num_speculative_tokens": 4}),
    ("-sc '{\"method\": \"mtp\"}' --spec-tokens 2", {"method": "mtp"}),
])  # fmt: skip
def test_drafts(text: str, config: dict[str, object]) -> None:
    assert json.loads(str(values(f"vllm serve m {text}")["speculative_config"])) == config


def test_variables() -> None:
    found = values(
        "vllm serve m", VLLM_CPU_KVCACHE_SPACE="40", VLLM_USE_SIMPLE_KV_OFFLOAD="1", VLLM_SKIP_INIT_MEMORY_CHECK="1",
        VLLM_ALLOW_LONG_MAX_MODEL_LEN="0", VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS="0", OMP_NUM_THREADS="8",
        PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", CUDA_VISIBLE_DEVICES="0,1",
    )  # fmt: skip
    assert found == {
        "model": "m", "cpu_kvcache_gib": "40", "simple_kv_offload": True, "skip_init_memory_check": True,
        "estimate_cudagraphs": False, "omp_num_threads": 8, "pytorch_alloc_conf": "expandable_segments:True",
        "gpus": 2,
    }  # fmt: skip


def test_names_of_flags_and_variables_are_kept_and_values_of_variables_are_not() -> None:
    found = started("vllm serve m --swap-space 4 --host 0.0.0.0", HF_TOKEN="secret")
    assert list(found.flags) == ["swap-space", "host"]
    assert list(found.variables) == ["HF_TOKEN"]
    assert "secret" not in repr(found.variables)


@pytest.mark.parametrize(("image", "notes"), [
    ("vllm/vllm-openai:latest", "latest"), ("vllm/vllm-openai", "latest"), ("vllm/vllm-openai:nightly", "nightly"),
    ("vllm/vllm-openai:v0.9.1", None), ("vllm/vllm-openai@sha256:0a51", None),
])  # fmt: skip
def test_a_tag_that_floats_is_noted(image: str, notes: str | None) -> None:
    assert started("vllm serve m", image=image).notes.get("tag_floats") == notes
