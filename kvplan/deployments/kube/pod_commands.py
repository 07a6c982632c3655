"""The engine command of one container: argv lists, strings for a shell, scripts that a ConfigMap holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import all_commands, command_of_engine, command_of_image, engine_words, flags_in
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.found import Complaint
from kvplan.deployments.interface import Source
from kvplan.deployments.kube.environment import MOST_ITEMS as MOST_ITEMS
from kvplan.deployments.kube.environment import (
    REFERENCE,
    OpenFile,
    items_of,
    substituted,
    text_line,
    variables_of,
)
from kvplan.deployments.kube.objects import Objects
from kvplan.deployments.launch_files import with_config_file, with_lmcache_file
from kvplan.deployments.shell.commands import commands_in
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node

_SHELL_REFERENCE = re.compile(r"(?<!\$)\$(?:\{|[A-Za-z_])")
_SCRIPT = re.compile(r"^/[\w./-]+$")
FEWEST_FLAGS = 2
"""Of a command that nothing else names, for its engine to be told by its flags."""


@dataclass(frozen=True, slots=True)
class PodCommand:
    """What a container runs."""

    engine: str
    arguments: Arguments
    line: int
    environment: dict[str, Word]
    source: Source | None = None
    """The file with the command, where it is another one."""


def command_of(
    container: Node,
    source: Source,
    environment: dict[str, Expansion],
    files: OpenFile | None = None,
    *,
    by_flags: bool = False,
) -> PodCommand | None:
    """The container's engine command: ``command`` and ``args``, or ``args`` alone under the engine's own image.

    With ``by_flags`` a command that names no engine is that of the engine whose flags it has: a part of a container
    whose rest is not at hand.
    """
    open_file = files or (lambda path: None)
    given = {name: Word(item.text, item.place) for name, item in environment.items() if item.place and not item.reason}
    given, _ = with_lmcache_file(given, open_file)
    command, args = items_of(container.get("command")), items_of(container.get("args"))
    nodes = [*command, *args]
    for text in _shell_texts(nodes, open_file):
        found = _of_shell(text, source, environment, given)
        if found is not None:
            return _with_files(found, open_file)
    words = [_word(node, source, environment) for node in nodes]
    started = flags_in([word.text for word in words])
    if started is not None:
        engine, start = started
        arguments = engine.read(words[start:], words[start - 1].text if start else "")
        line = words[max(start - 1, 0)].place.line
        own = nodes[max(start - 1, 0)].source
        return _with_files(PodCommand(engine.engine, arguments, line, given, own), open_file)
    if command:
        return None
    image = container.scalar("image")
    own_engine = command_of_image(image) or _by_flags(words, None if by_flags else image)
    if own_engine is None:
        return None
    first = nodes[0] if nodes else container
    found = PodCommand(own_engine.engine, own_engine.read(words), first.line, given, first.source)
    return _with_files(found, open_file)


def environment_of(container: Node, roots: list[Node], source: Source) -> dict[str, Expansion]:
    """Variables of a container: literal values, and those of ConfigMaps in these documents or elsewhere in the tree."""
    return variables_of(container, Objects(roots, source), source)


def unread_items(container: Node, source: Source) -> list[Complaint]:
    """One complaint for each list that is longer than what is read of it."""
    found = []
    for key in ("command", "args", "env", "envFrom"):
        rest = getattr(container.get(key), "items", [])[MOST_ITEMS:]
        message = f"not read further: more than {MOST_ITEMS:,} items of {key}"
        found += [Complaint(message, node.place(source), stops=True) for node in rest[:1]]
    return found


def _with_files(found: PodCommand, open_file: OpenFile) -> PodCommand:
    arguments = with_config_file(found.arguments, command_of_engine(found.engine), open_file)
    return PodCommand(found.engine, arguments, found.line, found.environment, found.source)


def _shell_texts(nodes: Sequence[Node], open_file: OpenFile) -> Iterator[Node]:
    """Texts that a shell reads: arguments with blanks in them, and scripts of a ConfigMap that are run."""
    for node in nodes:
        if engine_words().search(node.text) and re.search(r"\s", node.text.strip()):
            yield node
    for node in nodes[:20]:
        script = open_file(node.text) if _SCRIPT.match(node.text) else None
        if script is not None and engine_words().search(script.text):
            yield Node("scalar", 0, script.text, "|", source=script)


def _of_shell(
    node: Node, source: Source, environment: dict[str, Expansion], given: dict[str, Word]
) -> PodCommand | None:
    own = node.source or source
    found = commands_in(_filled_in(node.text, environment), own.path, text_line(node), environment)
    if not found:
        return None
    line = found[0].place.line
    line = line if node.style == "|" else min(line, node.end_line or line)
    arguments = _on_own_lines(found[0].arguments, node, own)
    return PodCommand(found[0].engine, arguments, line, {**given, **found[0].environment}, own)


def _by_flags(words: Sequence[Word], image: str | None) -> EngineCommand | None:
    """The engine that knows the most of these flags, of those that the image is named after; none for a draw."""
    asked = [engine for engine in all_commands() if image is None or engine.engine in image.lower()]
    if not any(word.text.startswith("--") for word in words):
        return None
    scores = [(len(engine.read(words).settings), engine) for engine in asked]
    best = max(scores, key=lambda score: score[0], default=None)
    if best is None or best[0] < FEWEST_FLAGS or [score for score, _ in scores].count(best[0]) > 1:
        return None
    return best[1]


def _word(node: Node, source: Source, environment: Mapping[str, Expansion]) -> Word:
    """One argument with ``$(NAME)`` filled in; other dollars stay as they are, for no shell reads them."""
    text, reason = substituted(node.text, environment)
    named = [environment.get(match[1]) for match in REFERENCE.finditer(node.text) if match[1]]
    places = [known.place for known in named if known is not None and known.place is not None]
    place = places[-1] if places else node.place(source)  # what a variable says is changed where the variable is set
    if reason is None and _SHELL_REFERENCE.search(text):
        reason = f"{text[:40]} is not substituted without a shell"
    if reason is None and is_placeholder(text):
        reason = "a placeholder is filled in later"
    return Word(text, place, reason)


def _filled_in(text: str, environment: Mapping[str, Expansion]) -> str:
    """A shell text with the ``$(NAME)`` that Kubernetes fills in before any shell reads it, on the same lines."""

    def one(match: re.Match[str]) -> str:
        known = environment.get(match[1] or "")
        return match[0] if known is None or known.reason is not None else known.text.replace("\n", " ")

    return REFERENCE.sub(one, text)


def _on_own_lines(arguments: Arguments, node: Node, source: Source) -> Arguments:
    """Folded and quoted texts lose their line breaks: look for each value in the lines of the file."""
    if node.style == "|":
        return arguments
    lines = source.text.split("\n")[node.line - 1 : node.end_line]
    for name, setting in list(arguments.settings.items()):
        at = next(_lines_with(lines, name, str(setting.value)), None)
        if at is not None and setting.place.path == source.path and setting.place.line >= node.line:
            arguments.settings[name] = type(setting)(name, setting.value, source.at(node.line + at))
    return arguments


def _lines_with(lines: list[str], name: str, value: str) -> Iterator[int]:
    flag = name.replace("_", "[-_]")
    for index, line in enumerate(lines):
        if re.search(rf"--{flag}\b", line):
            yield index
    for index, line in enumerate(lines):
        if value in line:
            yield index
