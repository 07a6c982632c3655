"""KV401: a setting that the engine never reads, so that another value holds than the file seems to say.

Only where nothing else in the file sets what the name promises: then a default holds unseen. A warning for Ollama,
which then fits layers and context to the memory that is free.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.commands.flag_history import ignored_variables
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV401"
TITLE = "a setting has no effect"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    found = context.found
    for item in ignored_variables(found.engine, found.variables, found.settings):
        yield Finding(
            ID,
            "warn" if item.fits_itself else LEVEL,
            found.name,
            str(found.variables[item.name]),
            f"{found.engine} does not read {item.name}, so {item.setting} is its default ({item.source})",
            figures={"name": item.name, "setting": item.setting, "source": item.source},
            remedy=item.instead,
        )
