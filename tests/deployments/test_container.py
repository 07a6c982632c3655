import json

from kvplan.deployments.commands.vllm_connectors import settings_of_connector
from kvplan.deployments.commands.vllm_images import is_vllm_image, vllm_version
from kvplan.deployments.found import Place, Setting


def connector(config: object) -> dict[str, object]:
    text = config if isinstance(config, str) else json.dumps(config)
    found, _ = settings_of_connector(Setting("kv_transfer_config", text, Place("x", 1)))
    return {item.name: item.value for item in found}


def test_bytes_for_the_whole_server() -> None:
    config = {"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 600e9}}
    assert connector(config) == {"offload_bytes": 600e9}


def test_lmcache_counts_for_each_rank() -> None:
    assert connector({"kv_connector": "LMCacheConnectorV1"}) == {"lmcache_gib_per_rank": "5"}
    config = {"kv_connector": "LMCacheConnectorV1", "kv_connector_extra_config": {"lmcache.max_local_cpu_size": 80}}
    assert connector(config) == {"lmcache_gib_per_rank": 80}


def test_several_connectors() -> None:
    simple = {"kv_connector": "SimpleCPUOffloadConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 5}}
    children = [{"kv_connector": "NixlConnector"}, simple]
    config = {"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": children}}
    assert connector(config) == {"offload_bytes": 5.0}


def test_what_holds_no_host_memory() -> None:
    assert connector({"kv_connector": "NixlConnector", "kv_role": "kv_both"}) == {}
    assert connector("[1, 2]") == {}


def test_json_that_is_none_is_unresolved() -> None:
    _, unresolved = settings_of_connector(Setting("kv_transfer_config", "{", Place("x", 1)))
    assert len(unresolved) == 1


def test_images() -> None:
    assert is_vllm_image("vllm/vllm-openai:v0.9.1")
    assert is_vllm_image("ghcr.io/mirror/vllm-openai")
    assert not is_vllm_image("vllm/vllm-tpu:nightly")
    assert not is_vllm_image("my/other:vllm-openai")
    assert vllm_version("rocm/vllm:rocm6.4.1_vllm_0.10.0_20250812") == "0.10.0"
    assert vllm_version("lmcache/vllm-openai:v0.3.5") is None
    assert vllm_version("nvcr.io/nvidia/vllm:26.02-py3") is None
    assert vllm_version("vllm/vllm-openai:v0.11.0rc1") == "0.11.0rc1"
