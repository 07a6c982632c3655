from __future__ import annotations

import pytest

from kvplan.deployments.controllers.models_named import hub_id, model_of
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node

SOURCE = Source("m.yaml", "")


def node(text: str | None, line: int) -> Node | None:
    return None if text is None else Node("scalar", line, text)


@pytest.mark.parametrize(("uri", "name", "model", "line"), [
    ("hf://org/model", None, "org/model", 1), ("hf://org/model:main", "served", "org/model", 1),
    ("ollama://gemma2:2b", None, "gemma2:2b", 1), ("pvc://claim/path", "served", "pvc://claim/path", 1),
    ("pvc://claim/path", "org/model", "org/model", 2), ("pvc+hf://claim/a/org/model", None, "org/model", 1),
    ("org/model", None, "org/model", 1), (None, "org/model", "org/model", 2),
    ('hf://"{{ .name }}"', "org/model", "org/model", 2), ("oci://registry/image", None, "oci://registry/image", 1),
])  # fmt: skip
def test_models(uri: str | None, name: str | None, model: str, line: int) -> None:
    found = model_of(node(uri, 1), node(name, 2), SOURCE)
    assert isinstance(found, Setting)
    assert (found.value, found.place.line) == (model, line)


def test_what_is_not_said() -> None:
    assert model_of(None, node("served", 2), SOURCE) is None
    assert isinstance(model_of(node("s3://${bucket}/m", 1), None, SOURCE), Unresolved)


def test_only_the_hubs_scheme_goes() -> None:
    assert hub_id("hf://org/model") == "org/model"
    assert hub_id("/models/m") == "/models/m"
