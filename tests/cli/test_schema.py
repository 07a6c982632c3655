"""``kvplan schema``: what every command really prints validates, and a changed answer does not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kvplan.results.schemas import NAMES, schema
from tests.cli.kit import kvplan

MODELS = ("llama3-8b", "llama3-70b", "deepseek-v3", "gpt-oss-120b", "gemma3-27b", "kimi-k2.5")
HOSTS = ("rtx4090", "h100-server", "m3-max", "b300-server", "epyc-genoa", "mi300x-server", "gh200")
CONTRACT = {
    "fit": [
        "schema", "kvplan_version", "model", "host", "engine", "workload", "objectives", "layout", "gpu_memory",
        "verdict", "catalog", "strategies", "remedies", "not_modelled", "warnings",
    ],
    "kv": [
        "schema", "model", "engine", "layout", "kv_cache_dtype", "block_tokens", "kv_bytes_per_token",
        "kv_bytes_per_token_all_gpus", "kv_bytes_fixed_per_sequence", "kv_bytes_per_sequence", "layers", "weight_bytes",
        "pool",
    ],
    "check": ["schema", "summary", "deployments", "findings"],
    "diff": ["schema", "base", "head", "summary", "deployments", "findings"],
    "error": ["schema", "error"],
}  # fmt: skip


def printed_schema(name: str) -> dict[str, Any]:
    done = kvplan("schema", name)
    assert done.code == 0, done.err
    return done.answer


def faults(answer: dict[str, Any]) -> list[str]:
    """What a schema says against an answer; the answer names its schema."""
    name = answer["schema"].removeprefix("kvplan.").removesuffix("/1")
    found = Draft202012Validator(schema(name)).iter_errors(answer)
    return [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message[:200]}" for fault in found]


def printed(*arguments: str, name: str) -> dict[str, Any]:
    answer = kvplan(*arguments, "--format", "json").answer
    assert answer["schema"] == f"kvplan.{name}/1"
    return answer


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas_and_strict(name: str) -> None:
    shown = printed_schema(name)
    Draft202012Validator.check_schema(shown)
    assert shown["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert shown["properties"]["schema"] == {"const": f"kvplan.{name}/1"}
    assert loose_objects(shown) == []


def loose_objects(node: Any, path: str = "") -> list[str]:
    """Objects that allow other fields than they name, tables and a rule's own figures aside."""
    if isinstance(node, list):
        return [found for index, item in enumerate(node) for found in loose_objects(item, f"{path}/{index}")]
    if not isinstance(node, dict):
        return []
    found = [item for key, value in node.items() for item in loose_objects(value, f"{path}/{key}")]
    is_object = node.get("type") == "object" or node.get("type") == ["object", "null"]
    if is_object and "additionalProperties" not in node and not path.endswith("/figures"):
        found.append(path)
    return found


@pytest.mark.parametrize("name", sorted(CONTRACT))
def test_schemas_have_the_fields_of_the_contract(name: str) -> None:
    required = schema(name)["required"]
    assert [field for field in required if field in CONTRACT[name]] == CONTRACT[name]


@pytest.mark.parametrize("model", MODELS)
def test_fits_validate(model: str) -> None:
    for host in HOSTS:
        answer = printed("fit", "--model", model, "--host", host, "--context", "16k", "--users", "4", name="fit")
        assert faults(answer) == [], host


def test_unusual_fits_validate() -> None:
    base = ("fit", "--model", "llama3-8b", "--host")
    for arguments in (
        (*base, "rtx4090", "--prompt-tokens", "4k", "--output-tokens", "1k", "--ttft-ms", "500", "--tenants", "2"),
        (*base, "h100-server", "--engine", "sglang", "--strategy", "offload-reuse", "--prefix-hit-fraction", "0.5"),
        (*base, "h100-server", "--context", "1m"),
        (*base, "h100-server", "--tp", "3"),
        (*base, "m3-ultra", "--strategy", "offload-stream"),
        (*base, "h100-server", "--engine", "tensorrt-llm", "--kv-cache-dtype", "fp8"),
        (*base, "epyc-genoa", "--weights", "q4_k_m"),
    ):
        assert faults(printed(*arguments, name="fit")) == [], arguments
    matrix = ("fit", "--model", "llama3-8b", "--host", "rtx4090", "--host", "m3-max")
    assert faults(printed(*matrix, name="fit-matrix")) == []


@pytest.mark.parametrize("model", MODELS)
def test_kv_and_model_validate(model: str) -> None:
    assert faults(printed("kv", "--model", model, name="kv")) == []
    assert faults(printed("kv", "--model", model, "--pool-gib", "7", "--kv-cache-dtype", "q4_0", name="kv")) == []
    assert faults(printed("model", "show", model, name="model")) == []


@pytest.mark.parametrize("host", HOSTS)
def test_hosts_validate(host: str) -> None:
    assert faults(printed("host", "show", host, name="host")) == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("model", "list"), "models"),
        (("model", "list", "--families"), "families"),
        (("host", "list"), "hosts"),
        (("explain", "offload-cpu-attention"), "explain"),
        (("explain", "itl"), "explain"),
        (("explain", "--list"), "explain-list"),
        (("fit", "--model", "no", "--host", "rtx4090"), "error"),
        (("fit", "--nonsense"), "error"),
        (("kv", "--model", "nowhere/config.json"), "error"),
        (("sweep", "--model", "llama3-8b", "--host", "rtx4090", "--context", "4k:16k", "--users", "1:4"), "sweep"),
    ],
)
def test_the_others_validate(arguments: tuple[str, ...], name: str) -> None:
    assert faults(printed(*arguments, name=name)) == []


def test_checks_validate(repository: Path) -> None:
    found = kvplan("check", str(repository / "examples/deployment.toml"), "--format", "json")
    assert faults(found.answer) == []
    assert found.answer["summary"]["deployments"] == 1


def test_a_changed_answer_does_not_validate() -> None:
    """A missing field, one too many, a number as text, a null where something must be known."""
    kv = printed("kv", "--model", "llama3-8b", "--pool-gib", "1", name="kv")
    fit = printed("fit", "--model", "llama3-8b", "--host", "rtx4090", name="fit")
    changes = [(kv, ("pool", "tokens"), "8192"), (kv, ("extra",), 1), (kv, ("kv_bytes_per_token",), None),
               (kv, ("kv_bytes_per_token",), 1.5), (fit, ("verdict", "outcome"), "maybe"),
               (fit, ("strategies", 0, "users_max", "low"), None), (fit, ("host", "extra"), 1)]  # fmt: skip
    for answer, path, value in changes:
        changed = copy.deepcopy(answer)
        node = changed
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value
        assert len(faults(changed)) == 1, path
    del kv["layers"]
    assert faults(kv) == [": 'layers' is a required property"]


@pytest.mark.parametrize("name", ["fti", "kvplan.nothing/1", ""])
def test_an_unknown_schema(name: str) -> None:
    done = kvplan("schema", name)
    assert (done.code, done.out) == (2, "")
    assert "fit" in done.err


def test_the_full_name_is_taken_too() -> None:
    assert json.loads(kvplan("schema", "kvplan.kv/1").out) == printed_schema("kv")
