"""Engine options written as keys and values of YAML -> the flags that they stand for.

``max_model_len: 8192`` is ``--max-model-len=8192``. A form that has options calls the engine's own reader with these
words, so that no form knows an engine's flags.
"""

from __future__ import annotations

import json
import re

from kvplan.deployments.argv import Word
from kvplan.deployments.config_words import plain
from kvplan.deployments.controllers.resources import is_placeholder
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node

MOST_OPTIONS = 20_000
_NOTHING = {"null", "~", ""}
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(options: Node | None, source: Source, *, without: tuple[str, ...] = ()) -> list[Word]:
    """One word for each option of a map, in the order of the file. Nested values become JSON, as the engines' own
    command lines take them; an option without a value is left out; false is ``--no-...``."""
    if options is None or options.kind != "map":
        return []
    entries = [(key, node) for key, node in options.entries.items() if key not in without]
    words = [flag(key, node, source) for key, node in entries[:MOST_OPTIONS]]
    if len(entries) > MOST_OPTIONS:
        reason = f"not read further: more than {MOST_OPTIONS:,} options"
        words.append(Word("--...", source.at(entries[MOST_OPTIONS][1].line), reason, cut=True))
    return [word for word in words if word is not None]


def flag(key: str, node: Node, source: Source) -> Word | None:
    """``--key=value``, or None where the value says "the default"."""
    place = source.at(node.line)
    name = _CAPITAL.sub("-", key).lower().replace("_", "-").lstrip("-") if "." not in key else key.lstrip("-")
    if node.kind != "scalar":
        return Word(f"--{name}={json.dumps(plain(node))}", place)
    if not node.style and node.text.lower() in _NOTHING:
        return None
    if not node.style and node.text.lower() == "false":
        return Word(f"--no-{name}", place)
    return Word(f"--{name}={node.text}", place, open_reason(node.text))


def option(name: str, value: str | int | float, place: Place) -> Word:
    """A flag that a controller adds by itself, with the line of what it follows from."""
    return Word(f"--{name}={value}", place)


def open_reason(text: str) -> str | None:
    """Why a text is not yet what the engine will see."""
    return "a placeholder is filled in later" if is_placeholder(text) else None
