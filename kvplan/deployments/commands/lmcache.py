"""LMCache's own server, which engines on the same host share. It serves no model and needs no GPU of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.flag_table import FlagTable
from kvplan.deployments.found import Setting, Unresolved
from kvplan.units import gib

_MODULES = ("lmcache.v1.multiprocess.server", "lmcache.v1.multiprocess.http_server")
TABLE: Final = FlagTable(
    settings={"l1-size-gb": "lmcache_server_gib", "cpu-buffer-size": "lmcache_server_gib",
              "max-workers": "lmcache_workers"},
    short={},
    switches=frozenset(("help", "disable-l1", "l1-use-lazy", "l1-use-hugepages")),
    engine="LMCache",
)  # fmt: skip
"""``--cpu-buffer-size`` until 0.4, ``--l1-size-gb`` since: GiB of the whole server, pinned.
Source: lmcache/v1/multiprocess/server.py 0.3.15, lmcache/v1/distributed/config.py 0.5.6."""


class LmcacheServer:
    """``lmcache server`` and the module that it was before."""

    engine = "lmcache"
    words = re.compile(
        r"-m[ \t]+lmcache\.v1\.multiprocess\.(?:http_)?server(?=[\s\"'\\]|$)"
        r"|(?<![\w./-])(?:[\w./-]+/)?lmcache[ \t]+server(?=[\s\"'\\]|$)"
    )
    traces = (b"lmcache",)

    def is_started_by(self, image: str) -> bool:
        return False

    def version_of(self, image: str) -> str | None:
        return None

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words):
            if word in _MODULES:
                return index + 1
            if word == "server" and index and words[index - 1].rsplit("/", 1)[-1] == "lmcache":
                return index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        found = read_arguments(words, TABLE)
        if words and not any(item.name == "model" for item in found.unresolved):
            reason = "an LMCache server has none: the engines that it serves do"
            found.unresolved.append(Unresolved("model", "LMCache", words[0].place, reason))
        return found

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        return []

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        pool = settings.get("lmcache_server_gib")
        try:
            return ([Setting("offload_bytes", gib(float(str(pool.value))), pool.place)] if pool is not None else []), []
        except ValueError:
            return [], []


COMMAND = LmcacheServer()
