"""KV416: a setting that nobody reads, has the wrong type, or that this engine version does not have."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.engines.versions import release
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding, reported

ID = "KV416"
TITLE = "a setting is unknown, malformed or gone"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    if not context.has("swap_space") or context.found.form == "kvplan":
        return
    version = str(context.translated.values.get("engine", "")).partition("@")[2]
    try:
        gone = not version or release(version) >= (0, 18)
    except InputError:
        return
    if gone:
        level = LEVEL if version else "warn"
        given = f"vLLM {version}" if version else "newer versions"
        message = f"--swap-space was removed in vLLM 0.18, so {given} will not start with it"
        yield finding(ID, level, context, ("swap_space",), message, remedy="leave --swap-space out")
