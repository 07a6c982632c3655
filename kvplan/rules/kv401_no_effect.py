"""KV401: a setting that the engine never reads, so that another value holds than the file seems to say.

Only where nothing else in the file sets what the name promises: then a default holds unseen.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.commands.flag_history import ignored_variables
from kvplan.rules.context import Context
from kvplan.rules.host_caches import is_default_lmcache
from kvplan.rules.interface import Finding

ID = "KV401"
TITLE = "a setting has no effect"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    found = context.found
    default = ("lmcache_gib_per_rank",) if is_default_lmcache(context) else ()
    given = {name: item for name, item in found.settings.items() if name not in default}
    for item in ignored_variables(found.engine, found.variables, given):
        yield Finding(
            ID,
            LEVEL,
            found.name,
            str(found.variables[item.name]),
            f"{found.engine} does not read {item.name}, so {item.setting} is its default ({item.source})",
            figures={"name": item.name, "setting": item.setting, "source": item.source},
            remedy=item.instead,
        )
