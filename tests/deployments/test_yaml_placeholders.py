"""Templates in YAML: the rest of the file is still read, on the same lines."""

from __future__ import annotations

import pytest

from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_files import yaml_of
from kvplan.deployments.yaml_placeholders import is_placeholder, without_placeholders


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("a: {{HF_TOKEN}}", "{{HF_TOKEN}}"),
        ("a: {{ .Values.x }}:{{ .Values.y }}  # a comment", "{{ .Values.x }}:{{ .Values.y }}"),
        ('a: "{{ index .Values "x" }}"', '{{ index .Values "x" }}'),
        ('a: "{{ .Values.x }}"', "{{ .Values.x }}"),
        ("a: {{ .Values.x | default 'y' }}", "{{ .Values.x | default 'y' }}"),
        ("a: %NAME%", "%NAME%"),
        ("a: @NAME@", "@NAME@"),
    ],
)
def test_a_value_keeps_its_text(line: str, value: str) -> None:
    file = yaml_of(Source("a.yaml", f"first: 1\n{line}\nlast: 2\n"))
    assert not file.unreadable
    assert (file.roots[0].scalar("a"), file.roots[0].entries["last"].line) == (value, 3)
    assert is_placeholder(value)


def test_items_and_keys_with_blanks() -> None:
    text = 'a:\n- {{ x }}\n- name: {{ y }}\nb:\n  "nvidia.com/gpu" : {{ n }}\n  nvidia.com/gpu : 1\n'
    root = yaml_of(Source("a.yaml", text)).roots[0]
    assert [item.text or item.scalar("name") for item in root.entries["a"].items] == ["{{ x }}", "{{ y }}"]
    assert root.scalar("b", "nvidia.com/gpu") == "1"


def test_lines_that_are_templates_are_taken_out() -> None:
    text = "a: 1\n{{- if .x }}\nb: 2\n{{ else }}\n{{/* two\nlines */}}\n{{ end }}\nc: 3\n"
    file = yaml_of(Source("a.yaml", text))
    assert (file.template_line, file.unreadable) == (2, [])
    assert [(name, node.line) for name, node in file.roots[0].entries.items()] == [("a", 1), ("b", 3), ("c", 8)]


@pytest.mark.parametrize(
    "text",
    [
        "a: {b: 1, c: {d: 2}}\n",
        "a: |\n  x: {{ y }}\n  {{ z }}\nb: 1\n",
        "a: '{{ x }}'\n",
        "# {{ x }}\na: 1\n",
        "a: {b: {}}\n",
        "a: user@host\n",
    ],
)
def test_text_that_is_yaml_is_left_alone(text: str) -> None:
    assert without_placeholders(text) == (text, None)


def test_no_placeholder() -> None:
    for text in ("org/model", "8192", "$(NAME)", "a < b", "50%", "{}"):
        assert not is_placeholder(text)
