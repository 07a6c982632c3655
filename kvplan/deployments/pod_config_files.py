"""Configuration files that a ConfigMap puts into a container: flags and variables that the command line only names."""

from __future__ import annotations

import json

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.interface import Source
from kvplan.deployments.kube_environment import FindFile
from kvplan.deployments.yaml_files import yaml_of
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node

_FALSE = {"false", "no", "off", "null", "~", ""}
_TRUE = {"true", "yes", "on"}
_LMCACHE_FILE = "LMCACHE_CONFIG_FILE"


def with_config_file(arguments: Arguments, engine: EngineCommand, files: FindFile, source: Source) -> Arguments:
    """The arguments with those of the file that ``--config`` names; what the command line says holds."""
    named = next((item for item in arguments.unresolved if item.name == "config"), None)
    text = files(named.text) if named is not None else None
    if named is None or text is None:
        return arguments
    inner = yaml_of(text.source or source, text.text, text_line(text))
    roots = [root for root in inner.roots if root.kind == "map"]
    if not roots or inner.unreadable:
        return arguments
    words = [word for key, node in roots[0].entries.items() for word in _words(key, node, source)]
    read = engine.read(words, "api_server")
    read.settings.update(arguments.settings)
    given = {item.name for item in arguments.unresolved} | set(arguments.settings)
    read.unresolved = [item for item in read.unresolved if item.name not in given]
    read.unresolved += [item for item in arguments.unresolved if item is not named]
    read.complaints += arguments.complaints
    return read


def with_lmcache_file(environment: dict[str, Word], files: FindFile, source: Source) -> dict[str, Word]:
    """``LMCACHE_CONFIG_FILE``: each key is a variable as well, ``chunk_size`` is ``LMCACHE_CHUNK_SIZE``.

    Where the file is given, LMCache reads it and not the variables. Source: LMCache, "Configuring LMCache".
    """
    named = environment.get(_LMCACHE_FILE)
    text = files(named.text) if named is not None else None
    if text is None:
        return environment
    roots = yaml_of(text.source or source, text.text, text_line(text)).roots
    kept = {name: word for name, word in environment.items() if not name.startswith("LMCACHE_")}
    for key, node in roots[0].entries.items() if roots else ():
        if node.kind == "scalar":
            kept[f"LMCACHE_{key.upper()}"] = Word(node.text, node.place(source))
    return kept


def text_line(node: Node) -> int:
    """The line of the file in which a text begins."""
    return node.line + 1 if node.style in ("|", ">") else node.line


def _words(key: str, node: Node, source: Source) -> list[Word]:
    """A key of the file as the flag that it is; YAML's false leaves it out."""
    place = node.place(source)
    flag = Word(f"--{key.replace('_', '-')}", place)
    if node.kind != "scalar":
        return [flag, Word(json.dumps(_plain(node)), place)]
    if not node.style and node.text.lower() in _FALSE:
        return []
    if not node.style and node.text.lower() in _TRUE:
        return [flag]
    return [flag, Word(node.text, place, "a placeholder is filled in later" if is_placeholder(node.text) else None)]


def _plain(node: Node, depth: int = 0) -> object:
    if node.kind == "map" and depth < 20:
        return {key: _plain(value, depth + 1) for key, value in node.entries.items()}
    if node.kind == "list" and depth < 20:
        return [_plain(item, depth + 1) for item in node.items]
    try:
        return node.text if node.style else json.loads(node.text.lower())
    except ValueError:
        return node.text
