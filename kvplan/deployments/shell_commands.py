"""Commands in shell text that start an engine, by its own name or by ``docker run`` of its image.

Used for scripts and for the strings that manifests hand to ``bash -c``. Flags are read only behind the engine word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands import engine_of_match, engine_words
from kvplan.deployments.found import Place
from kvplan.deployments.shell_expansions import Expansion
from kvplan.deployments.shell_variables import Variables
from kvplan.deployments.shell_words import ShellReader

_SPEAKERS = {"echo", "printf", "pkill", "pgrep", "grep", "egrep", "kill", "cat", "which", "log", "info", "die", "pip",
             "warn", "error", "docker-compose", "sed", "awk", "help", "usage", "print", "pip3"}  # fmt: skip
_RUNNERS = {"bash", "sh", "zsh", "ssh", "docker", "podman", "srun", "tmux", "screen", "nohup", "exec", "sudo",
            "kubectl", "eval", "su", "timeout", "env", "script", "singularity", "apptainer", "enroot", "mpirun",
            "setsid", "nerdctl", "/bin/bash", "/bin/sh", "time", "numactl"}  # fmt: skip
_ASSIGNED_TEXT = re.compile(r"^(?:export[ \t]+)?\w+=$")
_PREFIX = re.compile(r"(?:^|[\s;&|])([A-Za-z_]\w*)=(\"[^\"$`]*\"|'[^']*'|[^\s\"'$`;&|]*)(?=\s)")
_NO_FLAGS = {"bash", "sh", "vllm", "python", "python3", "-c", "-lc"}
_SEPARATOR = re.compile(r"&&|\|\||[;|(]|\bthen\b|\bdo\b|\belse\b")
MOST_COMMANDS = 2000


@dataclass(frozen=True, slots=True)
class Command:
    """One command that starts an engine."""

    engine: str
    arguments: Arguments
    place: Place
    before: tuple[Word, ...]
    """The words of the statement up to the engine word: ``docker run --memory 64g ...``."""
    image: str | None
    environment: dict[str, Word] = field(default_factory=dict)


def commands_in(text: str, path: str, first_line: int, outer: dict[str, Expansion] | None = None) -> list[Command]:
    """Every engine command of a shell text, in order. ``outer`` are variables that its container sets.

    One more than ``MOST_COMMANDS`` at most, so that who reads them can say where reading ended.
    """
    variables = Variables(text, path, first_line, outer)
    reader = ShellReader(text, path, first_line, variables.lookup)
    found: list[Command] = []
    for match in engine_words().finditer(text):
        if len(found) > MOST_COMMANDS:
            break
        command = _command(text, match, reader, variables)
        if command is not None:
            found.append(command)
    return found


def _command(text: str, match: re.Match[str], reader: ShellReader, variables: Variables) -> Command | None:
    start = _line_start(text, match.start())
    before = text[start : match.start()]
    quote = _open_quote(before)
    if quote == "#" or not _is_run(before, quote):
        return None
    engine = engine_of_match(match)
    image = match[0] if engine.is_started_by(match[0].partition("$")[0].rstrip(":")) else None
    words = _words_after(text, match.end(), quote, reader, variables)
    bare = getattr(engine, "starts_bare", False) and (image is None or re.search(r"\b(?:run|create)\b", before))
    if image is not None and not bare and not _image_has_flags(words):
        return None
    arguments = engine.read(words, match[0])
    if not bare and not arguments.settings and not arguments.unresolved:
        return None
    ahead = reader.command(_statement_start(text, start, match.start())) if quote is None else []
    ahead = ahead[: next((i for i, word in enumerate(ahead) if word.text in match[0].split()), len(ahead))]
    environment = dict(variables.environment())
    place = reader.place(match.start())
    environment.update({name[1]: Word(name[2].strip("\"'"), place) for name in _PREFIX.finditer(before)})
    return Command(engine.engine, arguments, place, tuple(ahead), image, environment)


def _words_after(text: str, end: int, quote: str | None, reader: ShellReader, variables: Variables) -> list[Word]:
    """The engine's words; inside quotes they end with the quote, and are shell text of their own."""
    if quote is None:
        return reader.command(end)
    close = _closing(text, end, quote)
    inner = text[end:close]
    if quote == '"':
        inner = re.sub(r'\\(["\\$`])', r"\1", inner)
    nested = ShellReader(inner, reader.path, reader.place(end).line, variables.lookup)
    return nested.command(0)


def _closing(text: str, start: int, quote: str) -> int:
    for match in re.compile(r"\\.|[\"']", re.DOTALL).finditer(text, start):
        if match[0] == quote or (quote == "'" and match[0] == "\\'"):
            return match.end() - 1
    return len(text)


def _image_has_flags(words: list[Word]) -> bool:
    """Whether what follows an image goes to vLLM itself, and not to a shell inside the container."""
    return bool(words) and words[0].text.rsplit("/", 1)[-1] not in _NO_FLAGS


def _line_start(text: str, position: int) -> int:
    """The start of the logical line: lines that end in a backslash go on."""
    start = text.rfind("\n", 0, position) + 1
    while start >= 2 and text[:start].endswith(("\\\n", "\\\r\n")):
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def _open_quote(before: str) -> str | None:
    """The quote that is open at the end of a line's beginning; ``#`` inside a comment."""
    quote: str | None = None
    for match in re.finditer(r"\\.|[\"']|(?:^|(?<=\s))#", before, re.DOTALL):
        mark = match[0]
        if mark in ("'", '"'):
            quote = mark if quote is None else None if quote == mark else quote
        elif mark == "#" and quote is None:
            return "#"
    return quote


def _statement_start(text: str, line_start: int, position: int) -> int:
    last = [match.end() for match in _SEPARATOR.finditer(text[line_start:position])]
    return line_start + (last[-1] if last else 0)


def _is_run(before: str, quote: str | None) -> bool:
    """Whether the engine word is run here, rather than printed, searched for or installed."""
    segment = _SEPARATOR.split(before if quote is None else before.rsplit(quote, 1)[0])[-1]
    words = [word for word in segment.split() if not re.match(r"^[A-Za-z_]\w*=\S", word)]
    first = words[0].lstrip("@-") if words else ""
    if first in _SPEAKERS or (first.startswith("log") and len(words) == 1):
        return False
    if quote is None:
        return True
    return first in _RUNNERS or bool(_ASSIGNED_TEXT.match(segment.strip())) or (bool(words) and words[-1].endswith("c"))
