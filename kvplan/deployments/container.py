"""What a container runtime is told: environment, limits, GPUs. Shared by shell scripts and manifests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Setting

_DEVICES = re.compile(r"^(?:device=)?(\d+(?:,\d+)*)$")


def visible_gpus(environment: dict[str, Word]) -> list[Setting]:
    """GPUs that ``CUDA_VISIBLE_DEVICES`` leaves to a process."""
    devices = environment.get("CUDA_VISIBLE_DEVICES")
    listed = _DEVICES.match(devices.text) if devices else None
    if devices is None or listed is None:
        return []
    return [Setting("gpus", listed[1].count(",") + 1, devices.place)]


def settings_of_docker(before: Sequence[Word]) -> list[Setting]:
    """``docker run --gpus 2 --memory 64g --cpus 8``. Docker's ``64g`` is GiB."""
    if not any(word.text.rsplit("/", 1)[-1] in ("docker", "podman", "nerdctl") for word in before):
        return []
    found = []
    for name, word in _options(before):
        if name == "--gpus":
            listed = _DEVICES.match(word.text.strip("\"'"))
            if listed:
                several = "device=" in word.text or "," in listed[1]
                found.append(Setting("gpus", listed[1].count(",") + 1 if several else int(listed[1]), word.place))
        elif name in ("--memory", "-m") and re.match(r"^\d+(?:\.\d+)?[bkmgBKMG]?$", word.text):
            suffix = word.text[-1].lower()
            text = word.text[:-1] + suffix.upper() + "i" if suffix in "kmg" else word.text.rstrip("bB")
            found.append(Setting("memory_limit", text, word.place))
        elif name == "--cpus" and re.match(r"^\d+(?:\.\d+)?$", word.text):
            found.append(Setting("cpu_limit", word.text, word.place))
    return found


def environment_of_docker(before: Sequence[Word]) -> dict[str, Word]:
    """``-e NAME=value``."""
    found = {}
    for name, word in _options(before):
        if name in ("-e", "--env") and "=" in word.text and word.unresolved is None:
            variable, _, text = word.text.partition("=")
            found[variable] = Word(text, word.place)
    return found


def _options(before: Sequence[Word]) -> list[tuple[str, Word]]:
    pairs = []
    for index, word in enumerate(before):
        name, equals, text = word.text.partition("=")
        if equals and name.startswith("--"):
            pairs.append((name, Word(text, word.place, word.unresolved)))
        elif word.text.startswith("-") and index + 1 < len(before):
            pairs.append((word.text, before[index + 1]))
    return pairs
