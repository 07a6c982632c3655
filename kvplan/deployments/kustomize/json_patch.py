"""JSON patches (RFC 6902): operations on paths, applied to YAML nodes. Nothing is changed in place."""

from __future__ import annotations

import re
from dataclasses import replace

from kvplan.deployments.yaml_tree import Node

_INDEX = re.compile(r"[0-9]{1,6}")
MOST_OPERATIONS = 1000
MOST_STEPS = 50


def patched(node: Node, operations: list[Node]) -> Node | str:
    """The object with all operations applied, or the first path that is not there."""
    for operation in operations[:MOST_OPERATIONS]:
        new = _one(node, operation)
        if new is None:
            return operation.scalar("path") or operation.scalar("from")
        node = new
    return node


def _one(node: Node, operation: Node) -> Node | None:
    op, path = operation.scalar("op"), _tokens(operation.scalar("path"))
    if op == "test":
        return node
    if op in ("move", "copy"):
        start = _tokens(operation.scalar("from"))
        value = value_at(node, start)
        moved = _put(node, start, None, op="remove") if op == "move" and value is not None else node
        return None if value is None or moved is None else _put(moved, path, value, op="add")
    if op == "remove":
        return _put(node, path, None, op="remove")
    value = operation.get("value")
    return None if value is None else _put(node, path, value, op=op)


def _tokens(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def value_at(node: Node, tokens: list[str]) -> Node | None:
    """What a path leads to."""
    for token in tokens:
        if node.kind == "map" and token in node.entries:
            node = node.entries[token]
        elif node.kind == "list" and _INDEX.fullmatch(token) and int(token) < len(node.items):
            node = node.items[int(token)]
        else:
            return None
    return node


def _put(node: Node, tokens: list[str], value: Node | None, *, op: str) -> Node | None:
    """The node with the value at a path; None where the path does not lead there."""
    if len(tokens) > MOST_STEPS:
        return None
    if not tokens:
        return value if op != "remove" else None
    first, rest = tokens[0], tokens[1:]
    if node.kind == "map":
        return _in_map(node, first, rest, value, op)
    if node.kind == "list":
        return _in_list(node, first, rest, value, op)
    return None


def _in_map(node: Node, key: str, rest: list[str], value: Node | None, op: str) -> Node | None:
    entries, key_lines = dict(node.entries), dict(node.key_lines)
    old = entries.get(key)
    if rest or op in ("remove", "replace"):
        if old is None:
            return None
    if rest:
        value = _put(old, rest, value, op=op) if old is not None else None
        if value is None:
            return None
    elif value is None:
        del entries[key]
        return replace(node, entries=entries, key_lines=key_lines)
    if value is None:
        return None
    entries[key] = value
    key_lines[key] = value.line
    return replace(node, entries=entries, key_lines=key_lines)


def _in_list(node: Node, token: str, rest: list[str], value: Node | None, op: str) -> Node | None:
    items = list(node.items)
    if token == "-":
        index = len(items)
    elif _INDEX.fullmatch(token):
        index = int(token)
    else:
        return None
    if rest:
        inner = _put(items[index], rest, value, op=op) if index < len(items) else None
        if inner is None:
            return None
        items[index] = inner
    elif op == "add" and value is not None and index <= len(items):
        items.insert(index, value)
    elif index >= len(items):
        return None
    elif op == "replace" and value is not None:
        items[index] = value
    elif op == "remove":
        del items[index]
    else:
        return None
    return replace(node, items=items)
