"""What a container runtime is told: environment, limits, GPUs. Shared by shell scripts and manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from kvplan.deployments.argv import Word
from kvplan.deployments.found import Place, Setting, Unresolved

_DEVICES = re.compile(r"^(?:device=)?(\d+(?:,\d+)*)$")
_VARIABLES = {
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "lmcache_gib_per_rank",
    "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "allow_long_max_model_len",
}


def settings_of_environment(environment: dict[str, Word]) -> list[Setting]:
    """Settings that a container or a script gives by environment variables."""
    found = [
        Setting(name, environment[variable].text, environment[variable].place)
        for variable, name in _VARIABLES.items()
        if variable in environment and environment[variable].text
    ]
    devices = environment.get("CUDA_VISIBLE_DEVICES")
    listed = _DEVICES.match(devices.text) if devices else None
    if devices is not None and listed is not None:
        found.append(Setting("gpus", listed[1].count(",") + 1, devices.place))
    return found


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


def settings_of_connector(transfer: Setting) -> tuple[list[Setting], list[Unresolved]]:
    """Host memory that ``--kv-transfer-config`` asks for: OffloadingConnector's bytes are for the whole server,
    SimpleCPUOffloadConnector's may be for each rank (8 GiB in all by default), LMCache's are for each rank (5 GiB)."""
    try:
        config = json.loads(str(transfer.value))
    except (ValueError, RecursionError):
        reason = "--kv-transfer-config is not valid JSON"
        return [], [Unresolved("kv_transfer_config", str(transfer.value)[:60], transfer.place, reason)]
    found: list[Setting] = []
    for connector in _connectors(config):
        extra = connector.get("kv_connector_extra_config")
        extra = extra if isinstance(extra, dict) else {}
        name = str(connector.get("kv_connector", ""))
        if name.startswith("LMCache"):
            found.append(Setting("lmcache_gib_per_rank", extra.get("lmcache.max_local_cpu_size", "5"), transfer.place))
        elif name in ("OffloadingConnector", "SimpleCPUOffloadConnector"):
            found += _offloading(name, extra, transfer.place)
    return found, []


def _offloading(name: str, extra: dict[str, object], place: Place) -> list[Setting]:
    whole, rank = extra.get("cpu_bytes_to_use"), extra.get("cpu_bytes_to_use_per_rank")
    if isinstance(rank, int | float):
        return [Setting("offload_bytes_per_rank", float(rank), place)]
    if isinstance(whole, int | float):
        return [Setting("offload_bytes", float(whole), place)]
    return [Setting("kv_offloading_size", "8", place)] if name == "SimpleCPUOffloadConnector" else []


def _connectors(config: object, depth: int = 0) -> list[dict[str, object]]:
    """The connector, or the children of a MultiConnector."""
    if not isinstance(config, dict) or depth > 3:
        return []
    extra = config.get("kv_connector_extra_config")
    children = extra.get("connectors") if isinstance(extra, dict) else None
    if config.get("kv_connector") == "MultiConnector" and isinstance(children, list):
        return [item for child in children[:20] for item in _connectors(child, depth + 1)]
    return [config]
