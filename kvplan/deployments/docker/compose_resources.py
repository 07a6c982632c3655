"""What a compose service is given of the host: GPUs, memory, CPUs, ``/dev/shm``, locked memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.argv import Word
from kvplan.deployments.container import DEFAULT_SHM, cpus_listed, memlock_of, quantity_of
from kvplan.deployments.docker.compose_services import Service
from kvplan.deployments.docker.interpolation import Interpolation
from kvplan.deployments.found import Complaint, Place, Setting, Unresolved
from kvplan.deployments.yaml_tree import Node

_NUMBER = re.compile(r"^\d+(?:\.\d+)?$")
_AMOUNTS = (
    ("memory_limit", ("mem_limit",)),
    ("memory_limit", ("deploy", "resources", "limits", "memory")),
    ("memory_request", ("mem_reservation",)),
    ("memory_request", ("deploy", "resources", "reservations", "memory")),
    ("shm_size", ("shm_size",)),
)
_CPUS = (("cpus",), ("deploy", "resources", "limits", "cpus"))
_RENDER = re.compile(r"/dev/dri/renderD\d+")


class Resources:
    """The settings of one service, what of them is not known, and what cannot be right."""

    def __init__(self, service: Service, interpolation: Interpolation) -> None:
        self._service, self._interpolation = service, interpolation
        self.settings: dict[str, Setting] = {}
        self.unresolved: list[Unresolved] = []
        self.complaints: list[Complaint] = []
        self.cards: str | None = None
        self.all_cards = False
        self._amounts()
        self._cpus()
        self._shared_memory()
        self._memlock()
        self._gpus()

    def _scalar(self, *path: str) -> Word | None:
        found = self._service.get(*path)
        if found is None or found[0].kind != "scalar" or not found[0].text:
            return None
        node, source = found
        return self._interpolation.word(node.text, source.at(node.line))

    def _put(self, name: str, word: Word, value: str | int | None) -> None:
        if word.unresolved is not None:
            self.unresolved.append(Unresolved(name, word.text[:60], word.place, word.unresolved))
        elif value is None:
            self.complaints.append(Complaint(f"{name} can't be {word.text[:40]!r}", word.place, stops=True))
        else:
            self.settings.setdefault(name, Setting(name, value, word.place))

    def _amounts(self) -> None:
        for name, path in _AMOUNTS:
            word = self._scalar(*path)
            if word is not None and name not in self.settings and word.text not in ("0", "-1"):
                self._put(name, word, quantity_of(word.text))

    def _cpus(self) -> None:
        for path in _CPUS:
            word = self._scalar(*path)
            if word is not None and float(word.text if _NUMBER.match(word.text) else 1) > 0:
                self._put("cpu_limit", word, word.text if _NUMBER.match(word.text) else None)
        word = self._scalar("cpuset")
        if word is not None and "cpu_limit" not in self.settings:
            listed = cpus_listed(word.text)
            self._put("cpu_limit", word, str(listed) if listed else None)

    def _shared_memory(self) -> None:
        """``ipc: host`` has the host's, whatever ``shm_size`` says; without either Docker gives 64 MiB."""
        ipc = self._scalar("ipc")
        mounted = next((item for item in self._listed("volumes") if item.text.startswith("/dev/shm:/dev/shm")), None)
        if ipc is not None and ipc.text == "host":
            self.settings["shm_size"] = Setting("shm_size", "host", ipc.place)
        elif mounted is not None:
            self.settings["shm_size"] = Setting("shm_size", "host", mounted.place)
        elif "shm_size" not in self.settings and not any(item.name == "shm_size" for item in self.unresolved):
            place = self._service.source.at(self._service.line)
            self.settings["shm_size"] = Setting("shm_size", DEFAULT_SHM, place)

    def _memlock(self) -> None:
        word = self._scalar("ulimits", "memlock") or self._scalar("ulimits", "memlock", "soft")
        if word is not None:
            self._put("memlock", word, memlock_of(word.text))
        replicas = self._scalar("deploy", "replicas")
        if replicas is not None and replicas.text.isdecimal():
            self._put("replicas", replicas, int(replicas.text))

    def _listed(self, *path: str) -> Iterator[Word]:
        found = self._service.get(*path)
        for item in found[0].items[:200] if found is not None else ():
            if found is not None and item.kind == "scalar":
                yield self._interpolation.word(item.text, found[1].at(item.line))

    def _gpus(self) -> None:
        """``devices`` with the capability ``gpu``, ``gpus:``, or device files."""
        gpus = self._service.get("gpus")
        if gpus is not None and gpus[0].kind == "scalar":
            self._count(self._interpolation.word(gpus[0].text, gpus[1].at(gpus[0].line)))
        for node, place in self._requests():
            self._request(node, place)
        files = {item.text for item in self._listed("devices") if _RENDER.search(item.text)}
        if files and not self.settings.keys() & {"gpus"}:
            place = next(item.place for item in self._listed("devices"))
            self.settings["gpus"] = Setting("gpus", len(files), place)

    def _requests(self) -> Iterator[tuple[Node, Place]]:
        for path in (("deploy", "resources", "reservations", "devices"), ("gpus",)):
            found = self._service.get(*path)
            for node in found[0].items[:50] if found is not None else ():
                wanted = [item.text for item in (node.get("capabilities") or node).items]
                if found is not None and node.kind == "map" and (not wanted or {"gpu", "nvidia", "amd"} & set(wanted)):
                    yield node, found[1].at(node.line)

    def _request(self, node: Node, place: Place) -> None:
        ids, count = node.get("device_ids"), node.get("count")
        if ids is not None and ids.items:
            words = [self._interpolation.word(item.text, Place(place.path, item.line)) for item in ids.items[:64]]
            unknown = next((word for word in words if word.unresolved), None)
            if unknown is not None:
                self._put("gpus", unknown, None)
                return
            cards = [card.strip().rpartition("=")[2] for word in words for card in word.text.split(",")]
            if "all" not in cards:
                self.settings["gpus"] = Setting("gpus", len(cards), words[0].place)
                self.cards = ",".join(cards)
            return
        if count is not None:
            self._count(self._interpolation.word(count.text, Place(place.path, count.line)))
        else:
            self.all_cards = True

    def _count(self, word: Word) -> None:
        """So many cards, the first ones of the host: Docker hands NVIDIA's runtime the numbers from 0 on."""
        if word.text == "all" or word.text == "-1":
            self.all_cards = True
        elif word.unresolved is not None or not word.text.isdecimal():
            self._put("gpus", word, None)
        else:
            self.settings["gpus"] = Setting("gpus", int(word.text), word.place)
            self.cards = ",".join(str(card) for card in range(min(int(word.text), 64)))
