"""A configuration of llama-swap: a command for each model, and which of them may run beside each other.

Macros are filled in, first those of the model, then those of the file; ``${env.NAME}`` and ``${PORT}`` are known when
it runs. Source: config.example.yaml of mostlygeek/llama-swap, and its legacy groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.llama_swap_sets import together
from kvplan.deployments.shell.commands import Command, commands_in
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node, documents

_MACRO = re.compile(r"\$\{([A-Za-z0-9_.-]{1,80})\}")
_MODELS = re.compile(r"^models[ \t]*:", re.MULTILINE)
_COMMAND = re.compile(r"^[ \t].*?(?<![\w-])cmd[\"']?[ \t]*:", re.MULTILINE)
MOST_MODELS = 2000
_DEEPEST_MACRO = 10
_LONGEST_COMMAND = 200_000


class LlamaSwap:
    """``config.yaml`` of llama-swap."""

    name = "llama-swap"
    order = 24
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", ""):
            return False
        return _MODELS.search(source.text) is not None and _COMMAND.search(source.text) is not None

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        unread = [] if fault is None else [Unreadable(source.at(fault.line), fault.message)]
        found = [item for root in roots for item in _deployments(root, source)]
        message = f"not read further: more than {MOST_MODELS:,} models"
        unread += [Unreadable(item.place, message, "split the file", "fail") for item in found[MOST_MODELS:][:1]]
        return Reading(found[:MOST_MODELS], unread)


def _deployments(root: Node, source: Source) -> Iterator[FoundDeployment]:
    models = root.get("models")
    if models is None or models.kind != "map":
        return
    beside = together(root)
    for name, node in models.entries.items():
        command = node.get("cmd")
        if command is None or command.kind != "scalar":
            continue
        macros = {**_macros(root.get("macros")), **_macros(node.get("macros")), "MODEL_ID": name}
        started = _started(command, macros, _environment(node, source), source)
        if started is None:
            continue
        yield _deployment(name, started, beside.get(name, ()))


def _deployment(name: str, started: Command, beside: tuple[str, ...]) -> FoundDeployment:
    launch = Launch(
        engine=started.engine,
        arguments=started.arguments,
        place=started.place,
        environment=started.environment,
        image=started.image,
    )
    surroundings = []
    if beside:
        surroundings = [
            Setting("runners", len(beside) + 1, started.place),
            Setting("runs_beside", beside, started.place),
        ]
    return deployment_of(launch, name=name, form=FORM.name, surroundings=surroundings)


def _started(node: Node, macros: dict[str, str], environment: dict[str, Expansion], source: Source) -> Command | None:
    """The engine that a command starts. Its lines are one command, lines that begin with ``#`` are comments."""
    text = re.sub(r"(?m)^[ \t]*#.*$", "", _filled_in(node.text, macros))
    text = re.sub(r"\\?\n", " \\\\\n", text.rstrip())
    first = node.line + 1 if node.style in ("|", ">") else node.line
    found = commands_in(text, source.path, first, environment)
    if not found:
        return None
    if node.style != "|":
        _find_lines(found[0], node, source)
    return found[0]


def _filled_in(text: str, macros: dict[str, str]) -> str:
    """The command with its macros in place, on as many lines as before; what would be too long stays as it is."""
    room = _LONGEST_COMMAND

    def one(match: re.Match[str]) -> str:
        nonlocal room
        name = match[1]
        if name.startswith("env."):
            return "${" + name.removeprefix("env.") + "}"
        value = "5800" if name == "PORT" else macros.get(name)
        if value is None or len(value) > room:
            return match[0]
        room -= len(value)
        return " ".join(re.sub(r"(?m)^[ \t]*#.*$", "", value).split("\n")).strip()

    for _ in range(_DEEPEST_MACRO):
        filled = _MACRO.sub(one, text)
        if filled == text:
            break
        text = filled
    return text


def _macros(node: Node | None) -> dict[str, str]:
    entries = node.entries if node is not None else {}
    return {name: value.text for name, value in entries.items() if value.kind == "scalar"}


def _environment(node: Node, source: Source) -> dict[str, Expansion]:
    listed = node.get("env")
    found = {}
    for item in listed.items if listed is not None else ():
        name, equals, text = item.text.partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", name):
            found[name] = Expansion(text, place=source.at(item.line))
    return found


def _find_lines(command: Command, node: Node, source: Source) -> None:
    """A folded text has lost its lines: each value is looked for in those of the file.

    Of several lines with the value it is the one with most of the setting's name.
    """
    lines = source.text.split("\n")[node.line - 1 : node.end_line]
    settings = command.arguments.settings
    for name, setting in list(settings.items()):
        value = re.compile(rf"(?<![\w.-]){re.escape(str(setting.value))}(?![\w-])")
        parts = [part for part in name.split("_") if len(part) > 2]
        there = [index for index, line in enumerate(lines) if value.search(line)]
        if there:
            at = max(there, key=lambda index: sum(part in lines[index].lower() for part in parts))
            settings[name] = Setting(name, setting.value, source.at(node.line + at))


FORM = LlamaSwap()
