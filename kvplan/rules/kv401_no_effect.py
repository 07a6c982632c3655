"""KV401: a setting that the engine never reads, so that another value holds than the file seems to say.

Only where nothing else in the file sets what the name promises: then a default holds unseen. A warning for Ollama,
which then fits layers and context to the memory that is free.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.commands.flag_history import ignored_variables
from kvplan.rules.context import Context
from kvplan.rules.host_caches import is_default_lmcache
from kvplan.rules.interface import Finding, finding

ID = "KV401"
TITLE = "a setting has no effect"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    found = context.found
    default = ("lmcache_gib_per_rank",) if is_default_lmcache(context) else ()
    given = {name: item for name, item in found.settings.items() if name not in default}
    known = list(ignored_variables(found.engine, found.variables, given))
    for item in known:
        yield Finding(
            ID,
            "warn" if item.fits_itself else LEVEL,
            found.name,
            str(found.variables[item.name]),
            f"{found.engine} does not read {item.name}, so {item.setting} is its default ({item.source})",
            figures={"name": item.name, "setting": item.setting, "source": item.source},
            remedy=item.instead,
        )
    others = context.translated.values.get("ignored_variables")
    names = [
        name for name in (others if isinstance(others, tuple) else ()) if name not in {item.name for item in known}
    ]
    if names:
        message = f"{found.engine} reads no variable {', '.join(names)}: it has no effect"
        remedy = "num_gpu, num_ctx and the like are parameters of a Modelfile or of the request"
        yield finding(ID, "warn", context, ("ignored_variables",), message, remedy=remedy)
