"""YAML -> plain nodes with line numbers, from parser events alone.

Tags are never constructed, so a file can name no Python object. An alias is the node it names, not a copy; what a
document would grow to with its aliases expanded is counted and limited, as are depth and the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source

MOST_DEPTH = 100
MOST_NODES = 400_000
"""Nodes of one file, aliases expanded."""


@dataclass(slots=True, eq=False)
class Node:
    """One value. Exactly one of the three contents is used, by ``kind``."""

    kind: str
    """``scalar``, ``list`` or ``map``."""
    line: int
    """Counted from 1; of a block text the line of its ``|``."""
    text: str = ""
    style: str = ""
    """``|`` and ``>`` block texts, ``'`` and ``"`` quoted ones, empty for plain ones."""
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Node] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)
    nodes: int = 1
    end_line: int = 0
    source: Source | None = None
    """The file that it is in, where values of several files are joined."""
    repeats: tuple[tuple[str, int], ...] = ()
    """Of a document: keys that some map below it has twice, with the line of the later one, which holds."""

    def get(self, *path: str) -> Node | None:
        """The node under these keys, or None."""
        node: Node | None = self
        for key in path:
            node = node.entries.get(key) if node is not None and node.kind == "map" else None
        return node

    def scalar(self, *path: str) -> str:
        """The text under these keys; empty where there is none."""
        node = self.get(*path)
        return node.text if node is not None and node.kind == "scalar" else ""

    @property
    def is_text(self) -> bool:
        """Whether it is a scalar that is not empty."""
        return self.kind == "scalar" and bool(self.text)

    def place(self, source: Source | None = None) -> Place:
        """Where it is: in its own file, or else in this one."""
        own = self.source or source
        return own.at(self.line) if own is not None else Place("-", self.line)


@dataclass(frozen=True, slots=True)
class YamlFault:
    """Where and why a file stops being readable."""

    line: int
    message: str


def documents(text: str, source: Source | None = None, first_line: int = 1) -> tuple[list[Node], YamlFault | None]:
    """The documents of a text up to the first fault. ``first_line`` is where the text begins in its file."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(source, first_line)
    try:
        for event in yaml.parse(text, Loader=loader):
            fault = builder.take(event, type(event).__name__)
            if fault is not None:
                return builder.documents, fault
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        return builder.documents, YamlFault(
            mark.line + first_line if mark else builder.line, f"not valid YAML: {problem}"
        )
    except (RecursionError, ValueError) as error:
        return builder.documents, YamlFault(builder.line, f"not valid YAML: {type(error).__name__}")
    return builder.documents, None


class _Builder:
    """A stack of open lists and maps; a map holds its key until the value comes."""

    def __init__(self, source: Source | None, first_line: int) -> None:
        self.documents: list[Node] = []
        self.line = first_line
        self._source = source
        self._first_line = first_line
        self._repeats: list[tuple[str, int]] = []
        self._stack: list[Node] = []
        self._keys: list[tuple[str, int] | None] = []
        self._anchors: dict[str, Node] = {}
        self._expanded = 0

    def take(self, event: Any, kind: str) -> YamlFault | None:
        """One event; a fault where a limit is passed."""
        self.line = event.start_mark.line + self._first_line
        if kind == "ScalarEvent":
            node = Node("scalar", self.line, event.value, event.style or "", source=self._source)
            node.end_line = event.end_mark.line + self._first_line
            return self._finished(node, event.anchor)
        if kind == "AliasEvent":
            known = self._anchors.get(event.anchor)
            if known is None:
                return YamlFault(self.line, f"no anchor &{event.anchor[:40]}")
            return self._finished(known, None)
        if kind in ("SequenceStartEvent", "MappingStartEvent"):
            return self._open(Node("list" if kind[0] == "S" else "map", self.line, source=self._source), event.anchor)
        if kind in ("SequenceEndEvent", "MappingEndEvent"):
            self._keys.pop()
            return self._finished(self._stack.pop(), None)
        if kind == "DocumentStartEvent":
            self._anchors.clear()
        return None

    def _open(self, node: Node, anchor: str | None) -> YamlFault | None:
        if len(self._stack) >= MOST_DEPTH:
            return YamlFault(self.line, f"nested deeper than {MOST_DEPTH} levels")
        if anchor:
            self._anchors[anchor] = node
        self._stack.append(node)
        self._keys.append(None)
        return None

    def _finished(self, node: Node, anchor: str | None) -> YamlFault | None:
        if anchor:
            self._anchors[anchor] = node
        if node in self._stack:
            return YamlFault(self.line, "an alias that contains itself")
        if not self._stack:
            node.repeats = tuple(self._repeats)
            self._repeats.clear()
            self.documents.append(node)
            self._expanded += node.nodes
            return None
        parent = self._stack[-1]
        parent.nodes += node.nodes
        if self._expanded + parent.nodes > MOST_NODES:
            return YamlFault(self.line, f"more than {MOST_NODES:,} values, aliases expanded")
        self._place(parent, node)
        return None

    def _place(self, parent: Node, node: Node) -> None:
        if parent.kind == "list":
            parent.items.append(node)
            return
        key = self._keys[-1]
        if key is None:
            self._keys[-1] = (node.text if node.kind == "scalar" else "", self.line)
            return
        self._keys[-1] = None
        name, line = key
        if name == "<<":
            _merge(parent, node)
        elif name:
            if parent.key_lines.get(name, 0) >= parent.line:  # merged keys come from a map above this one
                self._repeats.append((name, line))
            parent.entries[name] = node
            parent.key_lines[name] = line


def _merge(parent: Node, node: Node) -> None:
    """``<<: *base``: entries that the map does not have itself."""
    for base in node.items if node.kind == "list" else [node]:
        for name, value in base.entries.items():
            parent.entries.setdefault(name, value)
            parent.key_lines.setdefault(name, base.key_lines.get(name, base.line))


def maps_with(node: Node, key: str) -> Iterator[Node]:
    """Every map below a node that has this key, each once, in the order of the file."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        now = waiting.pop()
        if id(now) in seen:
            continue
        seen.add(id(now))
        if now.kind == "map" and key in now.entries:
            yield now
        waiting.extend(reversed([*now.items, *now.entries.values()]))
