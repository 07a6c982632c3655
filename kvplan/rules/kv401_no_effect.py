"""KV401: a setting that the engine never reads, so that another value holds than the file seems to say."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.commands.flag_history import ignored
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV401"
TITLE = "a setting has no effect"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    found = context.found
    known = ignored(found.engine)
    for name, place in {**found.variables, **found.flags}.items():
        if name not in known:
            continue
        why, source = known[name]
        shown = f"--{name}" if name in found.flags else name
        message = f"{shown} has no effect: {why} ({source})"
        figures = {"setting": name, "source": source}
        yield Finding(ID, LEVEL, found.name, str(place), message, figures=figures, remedy=f"take {shown} out")
