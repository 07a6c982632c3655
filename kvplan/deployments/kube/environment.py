"""Variables of a container: literal ones, and those of ConfigMaps, wherever in the tree these are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kvplan.deployments.interface import Source
from kvplan.deployments.kube.objects import MISSING, Objects
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

MOST_ITEMS = 20_000
"""Arguments and variables of one container."""
MOST_VOLUMES = 500
REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_MODEL_IN_A_BUCKET = re.compile(r"(?:^|=)(?:[a-z0-9]+://|/)?\$\([\w.-]+\)/[\w.-]+(?:/[\w.-]+)*/?$")
"""``gs://$(BUCKET)/org/model``: which model it is does not hang on the bucket."""


def variables_of(
    container: Node, objects: Objects, source: Source, given: Mapping[str, Node] | None = None
) -> dict[str, Expansion]:
    """Every variable of the container. ``given`` are those that a controller adds."""
    found = {name: Expansion(node.text, place=node.place(source)) for name, node in (given or {}).items()}
    for entry in items_of(container.get("envFrom")):
        found.update(_whole_map(entry, objects, source))
    for entry in items_of(container.get("env")):
        name = entry.scalar("name")
        if name:
            found[name] = _variable(name, entry, objects, source, found)
    return found


def _whole_map(entry: Node, objects: Objects, source: Source) -> dict[str, Expansion]:
    name = entry.scalar("configMapRef", "name")
    config = objects.find("ConfigMap", name) if name else ""
    if isinstance(config, str):
        return {}
    prefix = entry.scalar("prefix")
    data = config.get("data")
    entries = data.entries if data is not None and data.kind == "map" else {}
    return {
        prefix + key: Expansion(node.text, place=node.place(source), reason=_unfilled(node.text))
        for key, node in entries.items()
        if node.kind == "scalar"
    }


def _variable(name: str, entry: Node, objects: Objects, source: Source, known: Mapping[str, Expansion]) -> Expansion:
    value = entry.get("value")
    if value is not None:
        text, reason = substituted(value.text, known)
        return Expansion(text, place=value.place(source), reason=reason or _unfilled(value.text))
    reference = entry.get("valueFrom", "configMapKeyRef")
    if reference is None:
        return Expansion(place=entry.place(source), reason=_other_source(name, entry))
    node = entry_of(objects, reference.scalar("name"), reference.scalar("key"))
    if isinstance(node, str):
        return Expansion(place=entry.place(source), reason=f"$({name}): {node}")
    return Expansion(node.text, place=node.place(source), reason=_unfilled(node.text))


def _unfilled(text: str) -> str | None:
    return "a placeholder is filled in later" if is_placeholder(text) and "$(" not in text else None


def _other_source(name: str, entry: Node) -> str:
    for kind, what in (("secretKeyRef", "a Secret"), ("fieldRef", "the pod"), ("resourceFieldRef", "the pod's limits")):
        if entry.get("valueFrom", kind) is not None:
            return f"$({name}) comes from {what}, which this file does not say"
    return f"$({name}) has no value in this file"


def entry_of(objects: Objects, name: str, key: str) -> Node | str:
    """One entry of a ConfigMap, or why there is none."""
    config = objects.find("ConfigMap", name)
    if isinstance(config, str):
        return config
    node = config.get("data", key)
    if node is not None and node.kind == "scalar":
        return node
    missing = config.scalar(MISSING)
    return f"{key} would be in {missing}, which is not in the tree" if missing else f"ConfigMap {name} has no {key}"


def from_elsewhere(container: Node, objects: Objects) -> str | None:
    """Why a variable that nothing here sets may still have a value: a whole ConfigMap or Secret that is not at hand."""
    for entry in items_of(container.get("envFrom")):
        name = entry.scalar("configMapRef", "name")
        config = objects.find("ConfigMap", name) if name else ""
        if isinstance(config, str) and config:
            return config
        secret = entry.scalar("secretRef", "name")
        if secret:
            return f"it may be in the Secret {shorten(secret, 60)}"
    return None


def items_of(node: Node | None) -> list[Node]:
    """The entries of a list, or the one text that stands for it."""
    if node is None:
        return []
    return node.items[:MOST_ITEMS] if node.kind == "list" else [node] if node.kind == "scalar" else []


def substituted(text: str, environment: Mapping[str, Expansion]) -> tuple[str, str | None]:
    """As ``filled_in``; a model whose bucket alone is open is known by the rest of its path."""
    filled, reasons = _filled(text, environment)
    if len(reasons) == 1 and _MODEL_IN_A_BUCKET.search(filled):
        return filled, None
    return filled, reasons[0] if reasons else None


def filled_in(text: str, environment: Mapping[str, Expansion]) -> tuple[str, str | None]:
    """A text with the ``$(NAME)`` that Kubernetes fills in, and why it is not what the engine will see."""
    filled, reasons = _filled(text, environment)
    return filled, reasons[0] if reasons else None


def _filled(text: str, environment: Mapping[str, Expansion]) -> tuple[str, list[str]]:
    reasons: list[str] = []

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        known = environment.get(match[1])
        if known is None or known.reason is not None:
            reasons.append(known.reason if known and known.reason else f"$({match[1]}) has no value in this file")
            return match[0]
        return known.text

    return REFERENCE.sub(one, text), reasons


OpenFile = Callable[[str], Source | None]
"""Path inside the container -> the file that a ConfigMap puts there, on the lines that it has in the manifest."""


def text_line(node: Node) -> int:
    """The line of the file in which a text begins."""
    return node.line + 1 if node.style in ("|", ">") else node.line


def files_of(container: Node, pod: Node, objects: Objects, source: Source) -> OpenFile:
    """Files that ConfigMap volumes put into a container, found when they are asked for."""

    volumes = {item.scalar("name"): item for item in items_of(pod.get("volumes"))[:MOST_VOLUMES]}

    def find(path: str) -> Source | None:
        for mount in items_of(container.get("volumeMounts"))[:MOST_VOLUMES]:
            folder, part = mount.scalar("mountPath").rstrip("/"), mount.scalar("subPath")
            if part and path == folder:
                key = part
            elif not part and folder and path.startswith(folder + "/"):
                key = path[len(folder) + 1 :]
            else:
                continue
            volume = volumes.get(mount.scalar("name"))
            found = _file_in(volume, key, objects) if volume is not None else None
            if found is not None:
                own = found.source or source
                return Source(own.path, "\n" * (text_line(found) - 1) + found.text)
        return None

    return find


def _file_in(volume: Node, key: str, objects: Objects) -> Node | None:
    name = volume.scalar("configMap", "name")
    if not name:
        return None
    for item in items_of(volume.get("configMap", "items")):
        if item.scalar("path") == key:
            key = item.scalar("key")
    node = entry_of(objects, name, key)
    return None if isinstance(node, str) else node
