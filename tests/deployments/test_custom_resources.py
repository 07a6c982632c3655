from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.sources import read_deployments

KUBEAI = "apiVersion: kubeai.org/v1\nkind: Model\nmetadata: {name: a}\nspec: {url: hf://org/m, engine: VLLM}\n"
KAITO = (
    "apiVersion: kaito.sh/v1beta1\nkind: Workspace\nmetadata: {name: b}\n"
    "resource: {instanceType: Standard_NC24ads_A100_v4}\n"
    "inference: {preset: {name: phi-4}}\n"
)
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - command: [vllm, serve, m]\n"


def test_objects_of_several_controllers_in_one_file() -> None:
    found, faults = kit.read("---\n".join((POD, KAITO, KUBEAI)), "-")
    assert not faults
    assert [(item.name, item.form) for item in found] == [("b", "kaito"), ("a", "kubeai"), ("a-2", "kubernetes")]


def test_a_list_of_objects() -> None:
    items = "\n".join("  " + line for line in KUBEAI.strip().split("\n"))
    text = f"apiVersion: v1\nkind: List\nitems:\n-{items[1:]}\n"
    assert [item.form for item in kit.read(text, "list.yaml")[0]] == ["kubeai"]


def test_a_definition_of_the_kind_is_none_of_it() -> None:
    text = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    text += "spec:\n  group: kubeai.org\n  names: {kind: Model}\n"
    assert kit.read(text, "crd.yaml") == ([], [])


def test_what_stands_behind_a_fault_is_said() -> None:
    found, faults = kit.read(KUBEAI + "---\nkind: [\n", "a.yaml")
    assert [item.form for item in found] == ["kubeai"]
    assert "not valid YAML" in faults[0].message


def test_templates_of_a_chart() -> None:
    _, faults = kit.read("{{- if .x }}\n" + KUBEAI + "{{- end }}\n", "a.yaml")
    assert "helm template" in str(faults[0].remedy)


def test_a_folder_is_searched_for_them(tmp_path: Path) -> None:
    for name, text in (("model.yaml", KUBEAI), ("ws.yaml", KAITO)):
        (tmp_path / name).write_text(text)
    found, _ = read_deployments([str(tmp_path)])
    assert sorted(item.form for item, _ in found) == ["kaito", "kubeai"]


BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    + [f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]" for a, b in pairwise("abcdefgh")]
)


@pytest.mark.parametrize("inner", [
    BOMB,
    "vllm: " + "[" * 500 + "]" * 500,
    "vllm: {max-model-len: " + "9" * 5000 + "}",
    "vllm: !!python/object/apply:os.system [ls]",
    "vllm:\n\tmax-model-len: 1",
    "- 1\n- 2",
])  # fmt: skip
def test_hostile_texts_inside_a_config_map(inner: str) -> None:
    data = "\n".join("    " + line for line in inner.split("\n"))
    text = KAITO.replace("{preset: {name: phi-4}}", "{preset: {name: phi-4}, config: c}")
    text += f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  inference_config.yaml: |\n{data}\n"
    found, _ = kit.read(text, "ws.yaml")
    assert [item.form for item in found] == ["kaito"]


def test_many_objects_are_read_in_time() -> None:
    """Joining must not grow with the square of the objects."""
    text = "---\n".join(KUBEAI.replace("name: a", f"name: m{index}") for index in range(1500))
    started = time.monotonic()
    assert len(kit.read(text, "many.yaml")[0]) == 1500
    assert time.monotonic() - started < 20
