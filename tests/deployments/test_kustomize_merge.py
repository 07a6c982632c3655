"""Strategic merge and JSON patches, held against the examples of their documentation."""

from __future__ import annotations

import json

import pytest

from kvplan.deployments.kustomize.json_patch import patched
from kvplan.deployments.kustomize.merge import merged
from kvplan.deployments.yaml_tree import Node, documents


def node(text: str) -> Node:
    return documents(text)[0][0]


def plain(value: Node | str | None) -> object:
    if not isinstance(value, Node):
        return value
    if value.kind == "scalar":
        return value.text
    if value.kind == "list":
        return [plain(item) for item in value.items]
    return {key: plain(item) for key, item in value.entries.items()}


@pytest.mark.parametrize(
    ("base", "patch", "result"),
    [
        ("{a: {b: 1, c: 2}}", "{a: {c: 3, d: 4}}", {"a": {"b": "1", "c": "3", "d": "4"}}),
        ("{a: 1, b: 2}", "{a: null}", {"b": "2"}),
        ("{args: [x, y]}", "{args: [z]}", {"args": ["z"]}),
        ("{containers: [{name: a, image: i}, {name: b}]}", "{containers: [{name: a, tty: 1}]}",
         {"containers": [{"name": "a", "image": "i", "tty": "1"}, {"name": "b"}]}),
        ("{containers: [{name: a}]}", "{containers: [{name: c}]}", {"containers": [{"name": "c"}, {"name": "a"}]}),
        ("{containers: [{name: a}, {name: b}]}", "{containers: [{name: a, $patch: delete}]}",
         {"containers": [{"name": "b"}]}),
        ("{containers: [{name: a}]}", "{containers: [{$patch: replace}, {name: z}]}", {"containers": [{"name": "z"}]}),
        ("{env: [{name: A, value: 1}]}", "{env: [{name: A, value: 2}]}", {"env": [{"name": "A", "value": "2"}]}),
        ("{volumeMounts: [{name: a, mountPath: /x}]}", "{volumeMounts: [{name: b, mountPath: /x}]}",
         {"volumeMounts": [{"name": "b", "mountPath": "/x"}]}),
        ("{a: {b: 1}}", "{a: {$patch: replace, c: 1}}", {"a": {"c": "1"}}),
        ("{a: {b: 1}}", "{a: {$patch: delete}}", {}),
        ("{tolerations: [{key: a}]}", "{tolerations: [{key: b}]}", {"tolerations": [{"key": "b"}]}),
    ],
)  # fmt: skip
def test_merges(base: str, patch: str, result: object) -> None:
    old = node(base)
    before = json.dumps(plain(old))
    assert plain(merged(old, node(patch), by_key=True)) == result
    assert json.dumps(plain(old)) == before


def test_kinds_that_kustomize_does_not_know_have_their_lists_replaced() -> None:
    base, patch = node("{containers: [{name: a, image: i}]}"), node("{containers: [{name: a}]}")
    assert plain(merged(base, patch, by_key=False)) == {"containers": [{"name": "a"}]}


@pytest.mark.parametrize(
    ("base", "operations", "result"),
    [
        ("{foo: bar}", "[{op: add, path: /baz, value: qux}]", {"foo": "bar", "baz": "qux"}),
        ("{foo: [bar, baz]}", "[{op: add, path: /foo/1, value: qux}]", {"foo": ["bar", "qux", "baz"]}),
        ("{foo: [bar]}", "[{op: add, path: /foo/-, value: [a]}]", {"foo": ["bar", ["a"]]}),
        ("{baz: qux, foo: bar}", "[{op: remove, path: /baz}]", {"foo": "bar"}),
        ("{foo: [a, b, c]}", "[{op: remove, path: /foo/1}]", {"foo": ["a", "c"]}),
        ("{baz: qux}", "[{op: replace, path: /baz, value: boo}]", {"baz": "boo"}),
        ("{a: {b: c}, d: {e: f}}", "[{op: move, from: /a/b, path: /d/g}]", {"a": {}, "d": {"e": "f", "g": "c"}}),
        ("{a/b: 1, c~d: 2}", "[{op: replace, path: /a~1b, value: 3}, {op: remove, path: /c~0d}]", {"a/b": "3"}),
        ("{baz: qux}", "[{op: replace, path: /no, value: x}]", "/no"),
        ("{foo: [a]}", "[{op: add, path: /foo/5, value: x}]", "/foo/5"),
        ("{foo: [a]}", "[{op: remove, path: /foo/x}]", "/foo/x"),
    ],
)  # fmt: skip
def test_json_patches(base: str, operations: str, result: object) -> None:
    """After the examples in appendix A of RFC 6902; a path that leads nowhere is named."""
    assert plain(patched(node(base), node(operations).items)) == result
