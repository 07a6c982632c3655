"""Files that a command line or a variable names: their settings beside those of the command line itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands.interface import EngineCommand, ReadsFiles
from kvplan.deployments.config_words import root_of
from kvplan.deployments.interface import Source, Unreadable

LMCACHE_FILE = "LMCACHE_CONFIG_FILE"
OpenFile = Callable[[str], Source | Unreadable | None]


def with_config_file(arguments: Arguments, engine: EngineCommand, open_file: OpenFile) -> Arguments:
    """The arguments and those of the file that ``--config`` names. What cannot be opened stays unresolved."""
    named = next((item for item in arguments.unresolved if item.name == "config"), None)
    if named is None or not isinstance(engine, ReadsFiles):
        return arguments
    file = open_file(named.text)
    if not isinstance(file, Source):
        return arguments
    root = root_of(file)
    if root is None or isinstance(root, Unreadable):
        why = root.message if root is not None else "holds no flags"
        return _for_another_reason(arguments, named.text, f"{named.text} {why}")
    inner = engine.of_file(root, file)
    first, second = (arguments, inner) if engine.file_wins else (inner, arguments)
    return replace(_joined(first, second, without=named.text), files=(*arguments.files, file.path))


def _for_another_reason(arguments: Arguments, text: str, reason: str) -> Arguments:
    """The same arguments with another reason why the file could not be read."""
    unresolved = [
        replace(item, reason=reason) if item.name == "config" and item.text == text else item
        for item in arguments.unresolved
    ]
    return replace(arguments, unresolved=unresolved)


def with_lmcache_file(environment: dict[str, Word], open_file: OpenFile) -> tuple[dict[str, Word], tuple[str, ...]]:
    """The keys of LMCache's file as the variables that they also are, and the file: ``max_local_cpu_size`` is
    LMCACHE_MAX_LOCAL_CPU_SIZE. A variable that is set goes before the file (LMCache since 0.3.15)."""
    named = environment.get(LMCACHE_FILE)
    file = open_file(named.text) if named is not None and named.unresolved is None else None
    root = root_of(file) if isinstance(file, Source) else None
    if root is None or isinstance(root, Unreadable) or not isinstance(file, Source):
        return environment, ()
    found = {
        f"LMCACHE_{key.upper()}": Word(node.text, file.at(root.key_lines.get(key, node.line)))
        for key, node in root.entries.items()
        if node.kind == "scalar"
    }
    return found | {name: word for name, word in environment.items() if name != LMCACHE_FILE}, (file.path,)


def _joined(first: Arguments, second: Arguments, *, without: str) -> Arguments:
    """Both, where the second goes before the first."""
    open_names = {item.name for item in second.unresolved}
    settings = {name: item for name, item in first.settings.items() if name not in open_names} | second.settings
    kept = [item for item in first.unresolved if item.name not in second.settings and item.name not in open_names]
    unresolved = [item for item in (*kept, *second.unresolved) if not (item.name == "config" and item.text == without)]
    complaints = [*first.complaints, *second.complaints]
    return Arguments(settings, unresolved, complaints, first.flags | second.flags)
