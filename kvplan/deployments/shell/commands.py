"""Commands in shell text that start an engine, by its own name or by ``docker run`` of its image.

Used for scripts and for the strings that manifests hand to ``bash -c``. Flags are read only behind the engine word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kvplan.deployments.argv import Word
from kvplan.deployments.commands import engine_words
from kvplan.deployments.container import RUNTIMES, invocation_of
from kvplan.deployments.embedded_sources import MOST_DOCUMENTS, Document, filled_in
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source
from kvplan.deployments.marks import Marks
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.simple import simple_command
from kvplan.deployments.shell.started import Command as Command
from kvplan.deployments.shell.started import container_environment, first_name, inside_of, started
from kvplan.deployments.shell.state import ShellState
from kvplan.deployments.shell.walk import MOST_DEPTH, Shared, Statement, Walker
from kvplan.deployments.shell.words import LONGEST_COMMAND, Heredoc, ShellReader

_SPEAKERS = {"echo", "printf", "pkill", "pgrep", "grep", "egrep", "kill", "cat", "which", "log", "info", "die", "pip",
             "warn", "error", "docker-compose", "sed", "awk", "help", "usage", "print", "pip3", "trap", "hash", "type",
             "alias", "fgrep", "tee", "write_command", "git", "curl", "apt-get", "apt"}  # fmt: skip
_ENDS_OTHERS = {"kill", "pkill", "killall", "wait"}
_RUNNERS = {"bash", "sh", "zsh", "ssh", "docker", "podman", "srun", "tmux", "screen", "nohup", "exec", "sudo",
            "kubectl", "eval", "su", "timeout", "env", "script", "singularity", "apptainer", "enroot", "mpirun",
            "setsid", "nerdctl", "/bin/bash", "/bin/sh", "time", "numactl", "sbatch", "parallel", "xargs",
            "watch"}  # fmt: skip
_SCRIPTS = re.compile(r"\.(?:sh|bash|slurm|sbatch)$")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_ONLY_VARIABLE = re.compile(r"^\"?\$\{?\w+\}?\"?$")
MOST_COMMANDS = 2000
_CHARACTERS_FOR_EACH = 20
"""A script may be read so many times over, by calls of its functions and texts within its texts."""


class _Collector:
    """The commands of one script, each once."""

    def __init__(self) -> None:
        self.found: list[Command] = []
        self.kept: dict[Place, tuple[str, Command]] = {}
        self.run: set[str] = set()
        self.documents: list[Document] = []
        self._ended = 0
        """Commands that have ended before the next one begins."""
        self._seen: set[tuple[Place, str, frozenset[tuple[str, object]]]] = set()

    def take(self, statement: Statement, walker: Walker) -> None:
        """A command that runs."""
        words, before = statement.words, len(self.found)
        if before > MOST_COMMANDS or not words:
            return
        first = first_name(words)
        if first in _ENDS_OTHERS or (first in RUNTIMES and {word.text for word in words[1:3]} & {"stop", "rm", "kill"}):
            self._ended = before
        if first in _SPEAKERS or (first == "command" and len(words) > 1 and words[1].text.startswith("-")):
            return
        if words[0].text == "eval" and any(re.search(r"[\"']", word.text) for word in words):
            _inside(" ".join(word.text for word in words[1:]), walker, words[-1].place.line, walker.state)
        elif (command := started(statement)) is not None:
            self._add(self.found, command, walker)
        else:
            self._nested(statement, walker)
        if len(self.found) > before:
            written = statement.reader.text[statement.start : statement.reader.position]
            self.run.update(_VARIABLE.findall(written[:LONGEST_COMMAND]))

    def keep(self, statement: Statement, walker: Walker) -> None:
        """A command that a variable holds; one that grows is kept as it is in the end."""
        command = started(statement) if len(self.kept) <= MOST_COMMANDS else None
        if command is not None:
            self.kept[command.place] = (statement.variable, command)

    def document(self, heredoc: Heredoc, walker: Walker, start: int, end: int, line: list[str]) -> None:
        """A text that a command is given: read where a shell runs it or a script is written; files are kept."""
        body = walker.text[start:end]
        names = {word.rsplit("/", 1)[-1] for word in line}
        scripts = any(_SCRIPTS.search(word) for word in line)
        first_line = walker.reader.place(start).line
        if not scripts and len(self.documents) <= MOST_DOCUMENTS:
            text = body if heredoc.literal else filled_in(body, walker.state.lookup)
            self.documents.append(Document(text, first_line))
        if not (names & _RUNNERS or scripts) or not engine_words().search(body):
            return
        if not heredoc.literal:
            body = re.sub(r"\\([$`\\])", r"\1", body)
        _inside(body, walker, first_line, ShellState() if heredoc.literal else walker.state)

    def all(self) -> list[Command]:
        """Every command in the order of the file; one that a variable holds where nothing seen here runs it."""
        places = {one.place for one in self.found}
        kept = self.kept.items()
        return [*self.found, *(one for place, (name, one) in kept if place not in places and name not in self.run)]

    def _add(self, where: list[Command], command: Command, walker: Walker) -> None:
        settings = {(item.name, item.value) for item in command.arguments.settings.values()}
        key = (command.place, command.engine, frozenset(settings))
        if key in self._seen:
            return
        self._seen.add(key)
        if where is self.found and self._ended:
            where[: self._ended] = [replace(one, background=False) for one in where[: self._ended]]
            self._ended = 0
        alone = walker.state.in_branch and not command.background
        where.append(replace(command, background=command.background and not alone))

    def _nested(self, statement: Statement, walker: Walker) -> None:
        """Shell texts among the words: ``bash -c '...'``, ``ssh host "..."``, ``eval "$CMD"``."""
        words = statement.words
        first = first_name(words)
        for index, word in enumerate(words):
            if not re.search(r"\s", word.text) or not engine_words().search(word.text):
                continue
            handed = index > 0 and words[index - 1].text.endswith("c") and words[index - 1].text.startswith("-")
            if first in _RUNNERS or handed:
                before = len(self.found)
                self._text(statement, index, walker)
                self.found[before:] = [inside_of(one, statement, index) for one in self.found[before:]]

    def _text(self, statement: Statement, index: int, walker: Walker) -> None:
        word, span = statement.words[index], statement.spans[index] if index < len(statement.spans) else None
        raw = statement.reader.text[span[0] : span[1]] if span is not None else ""
        line = statement.reader.place(span[0]).line if span is not None else word.place.line
        quote = raw[:1] if len(raw) > 1 and raw[0] == raw[-1] and not _ONLY_VARIABLE.match(raw) else ""
        if quote == "'":
            _inside(raw[1:-1], walker, line, _state_inside(statement, index, walker))
        elif quote == '"':
            _inside(re.sub(r'\\(["\\$`])', r"\1", raw[1:-1]), walker, line, walker.state)
        else:
            _inside(word.text, walker, word.place.line, walker.state)


def _state_inside(statement: Statement, index: int, walker: Walker) -> ShellState:
    """The variables of a shell in a container are the container's own."""
    container = invocation_of(statement.words[: index + 1])
    if container is None:
        return walker.state
    given = container_environment(statement, container)
    return ShellState(
        {name: Expansion(one.text, place=one.place, reason=one.unresolved) for name, one in given.items()}
    )


class ShellReading(NamedTuple):
    """What a shell text holds."""

    commands: list[Command]
    """In order; one more than ``MOST_COMMANDS`` at most, so that who reads them can say where reading ended."""
    documents: list[Document]
    """Files that it writes."""
    exhausted: bool
    """It calls itself, or parts of itself, so often that reading was given up."""


def commands_in(text: str, path: str, first_line: int, outer: dict[str, Expansion] | None = None) -> list[Command]:
    """Every engine command of a shell text, in order. ``outer`` are variables that its container sets."""
    return read_shell(text, path, first_line, outer).commands


def read_shell(
    text: str,
    path: str,
    first_line: int,
    outer: dict[str, Expansion] | None = None,
    *,
    source: Source | None = None,
    marks: Marks | None = None,
    arguments: Sequence[Word] | None = None,
) -> ShellReading:
    """The same, where ``source`` is the file, so that others of its tree can be read; ``marks`` stand for what was not
    known when the text was put together; ``arguments`` are those of a script that is called."""
    state = ShellState(outer)
    if arguments is not None:
        state.enter(tuple(arguments))
    collector = _Collector()
    budget = (len(text) + 10_000) * _CHARACTERS_FOR_EACH
    shared = Shared(simple_command, collector.take, collector.keep, collector.document, budget, source)
    reader = ShellReader(text, path, first_line, state.lookup)
    reader.marks = marks
    walker = Walker(reader, state, shared)
    walker.walk()
    for name in list(shared.functions):
        if name not in shared.called:
            walker.call(name, None)
    return ShellReading(collector.all(), collector.documents, shared.exhausted)


def _inside(text: str, walker: Walker, line: int, state: ShellState) -> None:
    shared = walker.shared
    if shared.depth >= MOST_DEPTH:
        return
    shared.depth += 1
    reader = ShellReader(text, walker.reader.path, line, state.lookup)
    reader.marks = walker.reader.marks
    Walker(reader, state, shared).walk()
    shared.depth -= 1
