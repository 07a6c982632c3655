"""An argument list that starts a container or a unit -> the engine commands in it.

The engine may be the first word, stand in a text for a shell, be what the image starts by itself, or be in a script of
the same tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kvplan.deployments.argv import Word
from kvplan.deployments.commands import command_of_image
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.container import engine_for, invocation_of
from kvplan.deployments.found import Place
from kvplan.deployments.interface import Source
from kvplan.deployments.marks import Marks
from kvplan.deployments.shell.commands import read_shell
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.shell.started import Command, engine_in, started
from kvplan.deployments.shell.state import ShellState
from kvplan.deployments.shell.walk import Statement
from kvplan.deployments.shell.words import ShellReader
from kvplan.deployments.variable_files import environment_words

_SHELLS = {"bash", "sh", "zsh", "dash", "ash"}
_FROM_TOP = 3
"""Folders above the file in which a script that is named by its place in the container is looked for."""


@dataclass(frozen=True, slots=True)
class Argv:
    """What is started, and what is known around it."""

    words: list[Word]
    source: Source
    place: Place
    environment: dict[str, Expansion] = field(default_factory=dict)
    image: str | None = None
    own_entry: bool = True
    """The image's own entry point gets the words."""
    marks: Marks | None = None
    texts: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Word -> its text on its own lines, and the first of them; for words that are texts for a shell."""


@dataclass(frozen=True, slots=True)
class Started:
    """The engine commands, and the paths of the scripts they were found in."""

    commands: list[Command]
    scripts: tuple[str, ...] = ()


def started_by(argv: Argv) -> Started:
    """Every engine command that these words start."""
    words = argv.words
    text = _shell_text(words)
    if text is not None:
        word, lined = words[text], argv.texts.get(text)
        body, line = lined if lined is not None else (word.text, word.place.line)
        path = word.place.path
        found = read_shell(body, path, line, argv.environment, source=argv.source, marks=argv.marks,
                           arguments=words[text + 2 :])  # fmt: skip
        return Started([replace(one, image=one.image or argv.image) for one in found.commands])
    environment = environment_words(argv.environment)
    container = _container(argv)
    if container is not None:
        return Started([container])
    direct = engine_in(words)
    if direct is not None:
        engine, start = direct
        arguments = engine.read(words[start:], words[start - 1].text)
        place = words[max(0, start - 1)].place
        return Started([Command(engine.engine, arguments, place, (), argv.image, environment)])
    script = _script(argv)
    if script is not None:
        return script
    own = _own_engine(argv)
    if own is None:
        return Started([])
    arguments = own.read(words)
    place = words[0].place if words else argv.place
    return Started([Command(own.engine, arguments, place, (), argv.image, environment)])


def _container(argv: Argv) -> Command | None:
    """``docker run`` as a unit has it."""
    if invocation_of(argv.words) is None:
        return None
    state = ShellState(argv.environment)
    reader = ShellReader("", argv.place.path, argv.place.line, state.lookup)
    return started(Statement(argv.words, reader, state, {}, 0, source=argv.source))


def _own_engine(argv: Argv) -> EngineCommand | None:
    if argv.image is None or not argv.own_entry:
        return None
    if argv.words and not argv.words[0].text.startswith("-"):
        other = argv.words[0].text.rsplit("/", 1)[-1] in _SHELLS | {"python", "python3", "env", "sleep", "tail"}
        return None if other else command_of_image(argv.image)
    return engine_for(argv.image, argv.words)


def _shell_text(words: Sequence[Word]) -> int | None:
    """The text behind ``bash -lc``."""
    for index, word in enumerate(words[:-1]):
        name = word.text.rsplit("/", 1)[-1]
        if name in _SHELLS:
            for at in range(index + 1, min(len(words) - 1, index + 4)):
                if words[at].text.startswith("-") and words[at].text.endswith("c"):
                    return at + 1
    return None


def _script(argv: Argv) -> Started | None:
    """A script that the words start, where it is in the tree: under its own path, or beside the file."""
    words = list(argv.words)
    while words and (
        words[0].text.rsplit("/", 1)[-1] in _SHELLS | {"env", "exec", "sudo", "nohup", "tini", "--", "-g"}
    ):
        words = words[1:]
    if not words or words[0].unresolved is not None:
        return None
    found = script_of(argv.source, words[0].text)
    if found is None:
        return None
    read = read_shell(found.text, found.path, 1, argv.environment, source=found, marks=argv.marks, arguments=words[1:])
    commands = [replace(one, image=one.image or argv.image) for one in read.commands]
    return Started(commands, (found.path,)) if commands else None


def script_of(source: Source, path: str) -> Source | None:
    """A script by its path on the host or in the container: the longest end of the path that is there."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or "." not in parts[-1] and path.count("/") < 1:
        return None
    for up in range(_FROM_TOP):
        for cut in range(max(0, len(parts) - 4), len(parts)):
            found = source.beside("../" * up + "/".join(parts[cut:]))
            if isinstance(found, Source) and (found.text.startswith("#!") or found.suffix in (".sh", ".bash", "")):
                return found
    return None
