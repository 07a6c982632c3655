"""The words that a controller hands to an engine in its own ways: variables with arguments, wrappers' modules, lists.

``pod_commands`` finds engines by their own commands. What stands in for such a command is written as that command
here, so that one reader serves both: Kubernetes fills in ``$(NAME)``, a shell whatever its text says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.controllers.options import open_reason
from kvplan.deployments.found import Setting
from kvplan.deployments.interface import Source
from kvplan.deployments.kube.environment import filled_in
from kvplan.deployments.kube.pod_commands import MOST_ITEMS
from kvplan.deployments.shell.commands import commands_in
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node

ENTRIES: Final = {
    "vllm": "vllm.entrypoints.openai.api_server",
    "sglang": "sglang.launch_server",
    "tensorrt-llm": "trtllm-serve",
}
"""Engine -> the name under which its own command line starts it: a module, or a program."""


def command_nodes(container: Node) -> list[Node]:
    """The items of ``command`` and ``args``, each of them a list or one text."""
    found: list[Node] = []
    for key in ("command", "args"):
        node = container.get(key)
        if node is not None:
            found += node.items[:MOST_ITEMS] if node.kind == "list" else [node]
    return [node for node in found if node.kind == "scalar"]


def with_texts(container: Node, wrapper: re.Pattern[str], engines: dict[str, str]) -> Node:
    """The container with the wrapper's module (its first group names the engine) written as the engine's own."""

    def one(match: re.Match[str]) -> str:
        entry = ENTRIES[engines[match[1]]]
        return entry if match[0] == match.string or "-m" not in match[0] or "." not in entry else f"-m {entry}"

    changed = replace(container, entries=dict(container.entries))
    for key in ("command", "args"):
        node = container.get(key)
        if node is None:
            continue
        items = [replace(item, text=wrapper.sub(one, item.text)) for item in node.items]
        changed.entries[key] = replace(node, items=items, text=wrapper.sub(one, node.text))
    return changed


def list_words(nodes: Sequence[Node], source: Source, environment: dict[str, Expansion]) -> list[Word]:
    """One word an item, with ``$(NAME)`` filled in."""
    words = []
    for node in nodes:
        text, reason = filled_in(node.text, environment)
        words.append(Word(text, source.at(node.line), reason or open_reason(text)))
    return words


def option_text(engine: str, holder: Node, source: Source, environment: dict[str, Expansion]) -> Arguments:
    """The arguments in a text that a controller's shell puts behind the engine's command."""
    text, _ = filled_in(holder.text, environment)
    first_line = holder.line + 1 if holder.style in ("|", ">") else holder.line
    command = f"python3 -m {ENTRIES[engine]} " if "." in ENTRIES[engine] else f"{ENTRIES[engine]} "
    found = commands_in(command + text.strip().replace("\n", " \\\n"), source.path, first_line, environment)
    arguments = found[0].arguments if found else Arguments()
    if holder.style != "|":
        arguments.settings = {name: _on_own_line(item, holder, source) for name, item in arguments.settings.items()}
    return arguments


def _on_own_line(setting: Setting, holder: Node, source: Source) -> Setting:
    """Folded and quoted texts lose their line breaks: the value is looked for in the lines of the file."""
    lines = _lines(source.text)[holder.line - 1 : max(holder.end_line, holder.line)]
    flag = "--" + setting.name.replace("_", "-")
    for wanted in (flag, str(setting.value)):
        for index, line in enumerate(lines):
            if wanted in line:
                return replace(setting, place=source.at(holder.line + index))
    return replace(setting, place=source.at(holder.line))


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    """The lines of a file, which is asked for them once a container."""
    return text.split("\n")
