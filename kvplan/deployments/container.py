"""What a container runtime is told: environment, limits, GPUs. Shared by shell scripts and manifests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from kvplan.deployments.argv import Word
from kvplan.deployments.commands import all_commands, command_of_image, engine_of_match, engine_words
from kvplan.deployments.commands.interface import EngineCommand
from kvplan.deployments.found import Place, Setting

_CARD = r"(?:\d+|(?:GPU|MIG)-[\w/-]+)"
_DEVICES = re.compile(rf"^({_CARD}(?:,{_CARD})*)$")
_GIVEN_DEVICES = re.compile(rf"device=({_CARD}(?:,{_CARD})*)")
_RENDER = re.compile(r"/dev/dri/renderD\d+")
_QUANTITY = re.compile(r"^(\d+(?:\.\d+)?)[ ]?([kmgt]?)i?b?$", re.IGNORECASE)
_NUMBER = re.compile(r"^\d+(?:\.\d+)?$")
DEFAULT_SHM: Final = "64Mi"
"""/dev/shm of a container that says nothing: docker, podman and compose alike (docker run --shm-size, reference)."""
RUNTIMES: Final = frozenset({"docker", "podman", "nerdctl"})
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
"""Variables that list the GPUs of a process; the last is read by NVIDIA's container runtime."""
_SWITCHES = frozenset(
    """d i t P q detach interactive tty rm privileged init read-only publish-all no-healthcheck oom-kill-disable
    sig-proxy quiet replace no-hosts tls-verify disable-content-trust rmi env-host""".split()
)
"""Options of ``docker run`` and ``podman run`` that take no value."""
_GLOBAL_OPTIONS = frozenset({"-H", "--host", "-c", "--context", "-l", "--log-level", "--config", "--root", "--url"})
"""Options of ``docker`` itself that take a value."""


class Invocation(NamedTuple):
    """``docker run OPTIONS IMAGE ARGUMENTS`` taken apart."""

    options: list[tuple[str, Word]]
    image: Word
    arguments: int
    """Where the arguments begin among the words."""

    def last(self, *names: str) -> Word | None:
        """The value of an option by any of its names."""
        return next((word for name, word in reversed(self.options) if name in names), None)


def visible_gpus(environment: dict[str, Word]) -> list[Setting]:
    """GPUs that ``CUDA_VISIBLE_DEVICES`` and its like leave to a process."""
    for name in _VISIBLE:
        devices = environment.get(name)
        listed = _DEVICES.match(devices.text.replace(" ", "")) if devices else None
        if devices is not None and listed is not None and devices.unresolved is None:
            return [Setting("gpus", listed[1].count(",") + 1, devices.place)]
    return []


def threads_of(environment: dict[str, Word]) -> list[Setting]:
    """``OMP_NUM_THREADS``: without it OpenMP takes as many threads as the host has CPUs, whatever the limit."""
    threads = environment.get("OMP_NUM_THREADS")
    if threads is None or threads.unresolved is not None or not threads.text.isdecimal():
        return []
    return [Setting("omp_num_threads", int(threads.text), threads.place)]


def gpu_ids(environment: dict[str, Word], given: str | None = None) -> str | None:
    """The cards themselves, ``0,1``: those that a container is ``given``, of them those that its process sees."""
    own = next((environment[name] for name in _VISIBLE[:3] if name in environment), None)
    runtime = environment.get("NVIDIA_VISIBLE_DEVICES")
    if given is None and runtime is not None:
        listed = _DEVICES.match(runtime.text.replace(" ", ""))
        given = listed[1] if listed else None
    seen = _DEVICES.match(own.text.replace(" ", "")) if own is not None and own.unresolved is None else None
    if seen is None:
        return given
    if given is None:
        return seen[1]
    cards = given.split(",")
    if not all(at.isdecimal() for at in seen[1].split(",")):
        return seen[1]
    return ",".join(cards[int(at)] for at in seen[1].split(",") if int(at) < len(cards)) or None


def quantity_of(text: str) -> str | None:
    """Docker's ``64g`` or ``64gb`` -> ``64Gi``: all its units are binary. None for what it does not take."""
    match = _QUANTITY.match(text.strip().strip("\"'"))
    if match is None:
        return None
    return match[1] + (match[2].upper() + "i" if match[2] else "")


def invocation_of(words: Sequence[Word]) -> Invocation | None:
    """``docker run``, wherever it stands among the words of a command."""
    names = [word.text.rsplit("/", 1)[-1] for word in words]
    at = next((index for index, name in enumerate(names) if name in RUNTIMES), None)
    if at is None:
        return None
    verb = at + 1
    while verb < len(words) and (names[verb].startswith("-") or names[verb] == "container"):
        verb += 2 if names[verb] in _GLOBAL_OPTIONS else 1
    return _run_of(words, verb + 1) if verb < len(words) and names[verb] in ("run", "create") else None


def _run_of(words: Sequence[Word], index: int) -> Invocation | None:
    """The options from ``index`` on up to the image."""
    options: list[tuple[str, Word]] = []
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("-"):
            if word.optional:
                continue
            return Invocation(options, word, index)
        name, equals, text = word.text.partition("=")
        if equals and name.startswith("--"):
            options.append((name, Word(text, word.place, word.unresolved)))
        elif _is_switch(name) or word.unresolved is not None:
            options.append((name, Word("true", word.place)))
        elif not name.startswith("--") and len(word.text) > 2:
            options.append((word.text[:2], Word(word.text[2:].removeprefix("="), word.place, word.unresolved)))
        elif index < len(words):
            options.append((name, words[index]))
            index += 1
    return None


def settings_of_docker(run: Invocation) -> list[Setting]:
    """``docker run --gpus 2 --memory 64g --cpus 8 --shm-size 16g --ipc=host --ulimit memlock=-1``."""
    found: dict[str, Setting] = {}
    for name, word in run.options:
        item = _setting_of_option(name, word)
        if item is not None:
            found[item.name] = item
    cards = {word.text for name, word in run.options if name == "--device" and _RENDER.search(word.text)}
    if cards and "gpus" not in found:
        found["gpus"] = Setting("gpus", len(cards), next(w.place for n, w in run.options if n == "--device"))
    shared = _hosts_shared_memory(run)
    if shared is not None:
        found["shm_size"] = shared
    elif "shm_size" not in found:
        found["shm_size"] = Setting("shm_size", DEFAULT_SHM, run.image.place)
    return list(found.values())


def gpus_of_docker(run: Invocation) -> str | None:
    """Cards by number: ``--gpus '"device=0,1"'``, ``--device nvidia.com/gpu=0``."""
    word = run.last("--gpus")
    listed = _GIVEN_DEVICES.search(word.text) if word is not None and word.unresolved is None else None
    if listed is not None:
        return listed[1]
    cards = [word.text.partition("=")[2] for name, word in run.options if name == "--device" and "/gpu=" in word.text]
    return ",".join(cards) if cards and all(card.isdecimal() for card in cards) else None


def environment_of_docker(run: Invocation) -> dict[str, Word]:
    """``-e NAME=value``; ``-e NAME`` hands the caller's own on, so that it has an empty text here."""
    found = {}
    for name, word in run.options:
        if name in ("-e", "--env"):
            variable, equals, text = word.text.partition("=")
            if equals:
                found[variable] = Word(text, word.place, word.unresolved)
    return found


def engine_for(image: str, words: Sequence[Word]) -> EngineCommand | None:
    """The engine of a container that is given arguments alone: by its image, or by an image that is named for an
    engine while the arguments are flags of that engine (people build their own, such as ``me/vllm-patched``)."""
    own = command_of_image(image)
    if own is not None:
        return own
    if not words or not words[0].text.startswith("-"):
        return None
    name = re.sub(r"[^a-z0-9]", "", image.lower())
    program = engine_words().search(image.rsplit("/", 1)[-1].partition(":")[0] + " ")
    for command in all_commands():
        named = re.sub(r"[^a-z0-9]", "", command.engine) in name
        named = named or (program is not None and engine_of_match(program) is command)
        if named and command.read(words).settings:
            return command
    return None


def shm_of(text: str, place: Place) -> Setting:
    """``shm_size`` as docker, compose and quadlets write it."""
    return Setting("shm_size", quantity_of(text) or text, place)


def _hosts_shared_memory(run: Invocation) -> Setting | None:
    """``--ipc=host``, or the host's /dev/shm mounted: then ``--shm-size`` counts for nothing."""
    for name, word in run.options:
        mounts = name in ("-v", "--volume") and word.text.strip("\"'").startswith("/dev/shm:/dev/shm")
        if mounts or (name == "--ipc" and word.text == "host"):
            return Setting("shm_size", "host", word.place)
    return None


def _setting_of_option(name: str, word: Word) -> Setting | None:
    text = word.text.strip("\"'")
    if word.unresolved is not None:
        return None
    if name == "--gpus":
        listed = _GIVEN_DEVICES.search(text)
        count = listed[1].count(",") + 1 if listed else int(text) if re.fullmatch(r"\d{1,6}", text) else None
        return Setting("gpus", count, word.place) if count is not None else None
    if name in ("--memory", "-m") and quantity_of(text):
        return Setting("memory_limit", str(quantity_of(text)), word.place)
    if name == "--cpus" and _NUMBER.match(text):
        return Setting("cpu_limit", text, word.place)
    if name == "--cpuset-cpus" and cpus_listed(text):
        return Setting("cpu_limit", str(cpus_listed(text)), word.place)
    if name == "--shm-size":
        return shm_of(text, word.place)
    if name == "--ulimit" and text.startswith("memlock="):
        return Setting("memlock", memlock_of(text.partition("=")[2]), word.place)
    return None


def memlock_of(text: str) -> str:
    """``-1``, ``-1:-1`` and ``infinity`` are no limit; anything else is bytes, the soft limit first."""
    soft = text.partition(":")[0].strip()
    return "unlimited" if soft in ("-1", "infinity", "unlimited") else soft


def cpus_listed(text: str) -> int:
    """How many CPUs ``0-7,16`` lists; 0 for anything else."""
    total = 0
    for part in re.split(r"[,\s]+", text.strip()):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if match is None:
            return 0
        total += max(0, int(match[2] or match[1]) - int(match[1]) + 1)
    return total


def _is_switch(name: str) -> bool:
    plain = name.lstrip("-")
    return plain in _SWITCHES or (not name.startswith("--") and len(plain) > 1 and set(plain) <= set("ditPq"))
