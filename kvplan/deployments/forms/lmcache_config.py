"""LMCache's own file (``LMCACHE_CONFIG_FILE``) by itself: an engine's file says for which model and how many ranks."""

from __future__ import annotations

import re

from kvplan.deployments.argv import Arguments
from kvplan.deployments.commands.vllm_meaning import LMCACHE_GIB_PER_RANK
from kvplan.deployments.config_words import root_of
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.units import shorten

_KEY = re.compile(r"^([A-Za-z]\w*)[ \t]*:(?=\s|$)", re.MULTILINE)
_OWN = {
    "max_local_cpu_size",
    "local_cpu",
    "max_local_disk_size",
    "reserve_local_cpu_size",
    "local_disk",
    "remote_serde",
}
_NEW = {"local_cpu", "local_disk", "max_local_disk_size"}
"""Keys of the releases that hold ``max_local_cpu_size`` of host memory for each rank, whether or not it is set."""
_AMOUNTS = {"max_local_cpu_size": "lmcache_gib_per_rank", "max_local_disk_size": "lmcache_disk_gib_per_rank"}


class LmcacheConfig:
    """``max_local_cpu_size: 80`` and the like."""

    name = "lmcache-config"
    order = 27
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = (b"max_local_cpu_size", b"local_cpu", b"remote_serde")

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", ""):
            return False
        keys = {match[1] for match in _KEY.finditer(source.text)}
        return bool(keys & _OWN) and not keys & {"kind", "services", "apiVersion"}

    def read(self, source: Source) -> Reading:
        root = root_of(source)
        if root is None or isinstance(root, Unreadable):
            return Reading([], [root] if root is not None else [])
        place = source.at(min(root.key_lines.values(), default=1))
        settings: dict[str, Setting] = {}
        reason = "the file of the engine that loads this one names the model"
        unresolved = [Unresolved("model", source.name, place, reason)]
        for key, name in _AMOUNTS.items():
            node = root.get(key)
            if node is None or node.kind != "scalar":
                continue
            where = source.at(root.key_lines.get(key, node.line))
            if re.fullmatch(r"\d+(?:\.\d+)?(?:[eE]\d+)?", node.text):
                settings[name] = Setting(name, node.text, where)
            else:
                unresolved.append(Unresolved(name, shorten(node.text), where, "it is no number of GiB"))
        if root.entries.keys() & _NEW and "max_local_cpu_size" not in root.entries:
            settings["lmcache_gib_per_rank"] = Setting("lmcache_gib_per_rank", LMCACHE_GIB_PER_RANK, place)
        unresolved.append(
            Unresolved("tp", source.name, place, "each rank of the engine holds as much: how many are there?")
        )
        name = source.title
        launch = Launch("lmcache", Arguments(settings, unresolved), place)
        return Reading([deployment_of(launch, name=name, form=FORM.name)])


FORM = LmcacheConfig()
