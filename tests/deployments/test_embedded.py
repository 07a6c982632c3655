from __future__ import annotations

from kvplan.deployments.controllers.embedded import embedded_documents, embedded_map
from kvplan.deployments.yaml_tree import documents

OUTER = """data:
  a.yaml: |
    # a remark
    one: 1
    list:
      - x: 2
  b.yaml: "one: 1"
  c.yaml: |
    one: [
  d.yaml: just text
"""


def test_lines_are_those_of_the_outer_file() -> None:
    root = documents(OUTER)[0][0].entries["data"]
    inner = embedded_map(root.entries["a.yaml"])
    assert inner is not None
    assert inner.entries["one"].line == 4
    assert inner.key_lines["list"] == 5
    assert inner.entries["list"].items[0].entries["x"].line == 6
    quoted = embedded_map(root.entries["b.yaml"])
    assert quoted is not None
    assert quoted.entries["one"].line == 7


def test_faults_too() -> None:
    root = documents(OUTER)[0][0].entries["data"]
    _, fault = embedded_documents(root.entries["c.yaml"])
    assert fault is not None
    assert fault.line in (9, 10)
    assert embedded_map(root.entries["d.yaml"]) is None
    assert embedded_map(None) is None
