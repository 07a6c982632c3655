"""A YAML file of flags -> the words of a command line, as vLLM's and SGLang's ``--config`` turn it into them."""

from __future__ import annotations

import json
import re

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.yaml_tree import Node, documents

_TRUE = {"true", "yes", "on"}
_FALSE = {"false", "no", "off"}
_NULL = {"null", "~", ""}
_PLACEHOLDER = re.compile(r"\$\{|\{\{|^\$\w")
_KEY = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
MOST_DEPTH = 20


def keys_of(source: Source) -> set[str]:
    """The keys at the top of a YAML file as the flags that they are; nothing is parsed for them."""
    return {match[1].replace("_", "-") for match in _KEY.finditer(source.text)}


def root_of(source: Source) -> Node | Unreadable | None:
    """The map that a YAML file holds; None for a file of something else."""
    found, fault = documents(source.text)
    if fault is not None:
        return Unreadable(source.at(fault.line), fault.message)
    return next((node for node in found if node.kind == "map"), None)


def words_of(root: Node, source: Source, *, negates: bool = False) -> list[Word]:
    """Every key as a flag with its value: a list is several words, a map is JSON.

    A false is dropped without a word; with ``negates`` it is the flag's ``--no-`` (vLLM since 0.28).
    """
    words: list[Word] = []
    for key, node in root.entries.items():
        words += _words(key, node, source.at(root.key_lines.get(key, node.line)), negates)
    return words


def _words(key: str, node: Node, place: Place, negates: bool) -> list[Word]:
    flag = Word(f"--{key}", place)
    if node.kind == "map":
        return [flag, Word(json.dumps(plain(node)), place)]
    if node.kind == "list":
        return (
            [flag, *(Word(_text(item), place, _unresolved(_text(item))) for item in node.items)] if node.items else []
        )
    word = "" if node.style else node.text.lower()
    if not node.style and word in _NULL:
        return []
    if word in _FALSE:
        return [Word(f"--no-{key}", place)] if negates else []
    if word in _TRUE:
        return [flag]
    return [Word(f"--{key}={node.text}", place, _unresolved(node.text))]


def _text(node: Node) -> str:
    return node.text if node.kind == "scalar" else json.dumps(plain(node))


def _unresolved(text: str) -> str | None:
    """No engine fills in variables here: a placeholder is filled in by something else first."""
    return "a placeholder is filled in later" if _PLACEHOLDER.search(text) else None


def plain(node: Node, depth: int = 0) -> object:
    """A node as the JSON value that it stands for."""
    if node.kind == "map" and depth < MOST_DEPTH:
        return {key: plain(value, depth + 1) for key, value in node.entries.items()}
    if node.kind == "list" and depth < MOST_DEPTH:
        return [plain(item, depth + 1) for item in node.items]
    if node.style:
        return node.text
    lowered = node.text.lower()
    if lowered in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[lowered]
    try:
        return json.loads(node.text)
    except (ValueError, RecursionError):
        return node.text
