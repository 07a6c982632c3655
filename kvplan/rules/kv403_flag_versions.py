"""KV403: a flag that this version of the engine does not have: it was removed before, or came later.

Engines refuse to start with an argument that they do not know. Where the file names no version, a flag that the newest
one lacks is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.commands.flag_history import NotThere, not_there
from kvplan.engines import find_engine
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV403"
TITLE = "a flag is not in this version of the engine"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    found = context.found
    named = str(context.translated.values.get("engine", "")).partition("@")[2]
    try:
        version = named or find_engine(found.engine).newest_version
        missing = list(not_there(found.engine, version, found.flags))
    except InputError:
        return  # KV414 and KV416 have said what is wrong with the engine or its version
    for item in missing:
        yield Finding(
            ID,
            LEVEL if named else "warn",
            found.name,
            str(found.flags[item.flag]),
            _message(item, found.engine, named),
            figures={"flag": item.flag, "added": item.added, "removed": item.removed, "source": item.source},
            formula="added <= version < removed",
            remedy=item.instead or _remedy(item),
        )


def _message(item: NotThere, engine: str, named: str) -> str:
    why = f"was removed in {engine} {item.removed}" if item.removed else f"came with {engine} {item.added}"
    who = f"and {named} is named: it refuses to start" if named else "so the newest versions refuse to start with it"
    return f"--{item.flag} {why}, {who} ({item.source})"


def _remedy(item: NotThere) -> str:
    take = f", or take version {item.added}" if item.added and not item.removed else ""
    return f"take --{item.flag} out{take}"
