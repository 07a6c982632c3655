"""YAML inside a text of YAML, such as a ConfigMap's data: its nodes with the lines of the file that holds it."""

from __future__ import annotations

from kvplan.deployments.yaml_tree import Node, YamlFault, documents


def embedded_documents(holder: Node) -> tuple[list[Node], YamlFault | None]:
    """The documents of a text. Lines are exact in a literal block (``|``); other styles lose their line breaks, and
    everything in them has the line of the text itself."""
    found, fault = documents(holder.text)
    literal = holder.style == "|"
    seen: set[int] = set()
    for root in found:
        _shift(root, holder.line, seen, literal)
    if fault is not None:
        fault = YamlFault(holder.line + fault.line if literal else holder.line, fault.message)
    return found, fault


def embedded_map(holder: Node | None) -> Node | None:
    """The first document of a text, where it is a map."""
    if holder is None or holder.kind != "scalar":
        return None
    found, _ = embedded_documents(holder)
    return next((root for root in found[:1] if root.kind == "map"), None)


def _shift(root: Node, line: int, seen: set[int], literal: bool) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        node.line = line + node.line if literal else line
        node.end_line = line + node.end_line if literal else line
        node.key_lines = {key: line + own if literal else line for key, own in node.key_lines.items()}
        waiting += [*node.items, *node.entries.values()]
