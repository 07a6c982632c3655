"""Configuration files that a ConfigMap puts into a container: flags and variables that the command line only names."""

from __future__ import annotations

import json

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.interface import Source
from kvplan.deployments.kube_environment import OpenFile
from kvplan.deployments.yaml_files import yaml_of
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node

_FALSE = {"false", "no", "off", "null", "~", ""}
_TRUE = {"true", "yes", "on"}
_LMCACHE_FILE = "LMCACHE_CONFIG_FILE"


def with_config_file(arguments: Arguments, engine: EngineCommand, open_file: OpenFile) -> Arguments:
    """The arguments with those of the file that ``--config`` names; what the command line says holds."""
    named = next((item for item in arguments.unresolved if item.name == "config"), None)
    file = open_file(named.text) if named is not None else None
    root = _root_of(file) if file is not None else None
    if named is None or file is None or root is None:
        return arguments
    words = [word for key, node in root.entries.items() for word in _words(key, node, file)]
    read = engine.read(words, "api_server")
    read.settings.update(arguments.settings)
    given = {item.name for item in arguments.unresolved} | set(arguments.settings)
    read.unresolved = [item for item in read.unresolved if item.name not in given]
    read.unresolved += [item for item in arguments.unresolved if item is not named]
    read.complaints += arguments.complaints
    return read


def with_lmcache_file(environment: dict[str, Word], open_file: OpenFile) -> dict[str, Word]:
    """``LMCACHE_CONFIG_FILE``: each key is a variable as well, ``chunk_size`` is ``LMCACHE_CHUNK_SIZE``.

    A variable that is set goes before the file. Source: LMCache, "Configuring LMCache".
    """
    named = environment.get(_LMCACHE_FILE)
    file = open_file(named.text) if named is not None else None
    root = _root_of(file) if file is not None else None
    if file is None or root is None:
        return environment
    found = {
        f"LMCACHE_{key.upper()}": Word(node.text, node.place(file))
        for key, node in root.entries.items()
        if node.kind == "scalar"
    }
    return found | environment


def _root_of(file: Source) -> Node | None:
    read = yaml_of(file)
    return None if read.unreadable else next((root for root in read.roots if root.kind == "map"), None)


def _words(key: str, node: Node, file: Source) -> list[Word]:
    """A key of the file as the flag that it is; YAML's false leaves it out."""
    place = node.place(file)
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
