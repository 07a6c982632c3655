import json

import pytest

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
    assert connector({"kv_connector": "LMCacheConnectorV1"}) == {}
    config = {"kv_connector": "LMCacheConnectorV1", "kv_connector_extra_config": {"lmcache.max_local_cpu_size": 80}}
    assert connector(config) == {"lmcache_gib_per_rank": 80.0}


def test_children_hold_memory_of_their_own() -> None:
    child = {"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 5e9}}
    config = {"kv_connector": "MultiConnector", "kv_connector_extra_config": {"connectors": [child, child]}}
    assert connector(config) == {"offload_bytes": 10e9}


def test_bytes_with_a_suffix() -> None:
    """vLLM 0.33 reads 80G in a JSON value as 80 x 2^30."""
    text = '{"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 80G}}'
    assert connector(text) == {"offload_bytes": 80 * 2**30}


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


@pytest.mark.parametrize(("image", "version"), [
    ("vllm/vllm-openai:0.23.1-cu130", "0.23.1"), ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
    ("vllm/vllm-openai-rocm:v0.14.0", "0.14.0"), ("localhost:5000/vllm-openai:v0.9.0", "0.9.0"),
    ("vllm/vllm-openai:v0.27.1@sha256:0a51ea5b", "0.27.1"), ("vllm/vllm-openai:latest", None),
    ("vllm/vllm-openai:nightly-8a1b2c3d4e5f6", None), ("vllm/vllm-openai@sha256:0a51ea5b", None),
    ("vllm/vllm-openai:sha-abcdef0", None), ("ghcr.io/llm-d/llm-d-cuda:v0.9.0", None),
    ("registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1", None), ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0", None),
    ("nvcr.io/nvidia/vllm:26.03-py3", "0.17.1"), ("nvcr.io/nvidia/vllm:25.10-py3", "0.10.2"),
    ("x.cr.volces.com/aibrix/vllm-openai:aibrix-kvcache-v0.8.5-20250520", "0.8.5"),
    ("x.cr.volces.com/aibrix/vllm-openai-aibrix-kvcache:v0.10.2-20251022", "0.10.2"),
    ("intel/vllm:0.14.1-xpu", "0.14.1"),
])  # fmt: skip
def test_versions_of_tags(image: str, version: str | None) -> None:
    """NVIDIA's release notes: vLLM 0.17.1 in 26.03, 0.10.2 in 25.10. Other products count releases of their own."""
    assert vllm_version(image) == version


@pytest.mark.parametrize(("image", "starts"), [
    ("vllm/vllm-openai-rocm:v0.14.0", True), ("lmcache/vllm-openai:v0.3.14", True),
    ("registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1", True), ("vllm/vllm-openai-cpu:latest-x86_64", True),
    ("quay.io/rh-aiservices-bu/vllm-openai-ubi9:0.4.2", True), ("ghcr.io/llm-d/llm-d-cuda:v0.9.0", False),
    ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0", False), ("nvcr.io/nvidia/vllm:26.02-py3", False),
    ("vllm/vllm-tpu:nightly", False), ("${REGISTRY}/vllm-openai:v1", True),
])  # fmt: skip
def test_images_that_start_the_server_themselves(image: str, starts: bool) -> None:
    assert is_vllm_image(image) is starts


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.internal:5000/mirror/vllm/vllm-openai:v0.9.1", "0.9.1"),
        ("drikster80/vllm-gh200-openai:v0.6.4.post1", "0.6.4.post1"),
        ("public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.8.0", "0.8.0"),
        ("substratusai/vllm:v0.6.3.post1-cpu", "0.6.3.post1"),
        ("vllm/vllm-openai-rocm:v0.21.0", "0.21.0"),
        ("ghcr.io/example/dspark-vllm-gx10:0.1.1", None),
        ("example/vllm-deepseek-r1:v0.0.1-debug", None),
        ("example/vllm-exaone-4.0:v1.2.0", None),
        ("example/chat-vllm:2.3.0", None),
        ("example/vllm:0.1.1", None),
    ],
)
def test_a_tag_counts_vllms_releases_only_for_its_own_images(image: str, version: str | None) -> None:
    """A product with vLLM in its name counts its own releases: every flag would seem to come years after it."""
    assert vllm_version(image) == version
