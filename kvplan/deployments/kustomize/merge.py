"""Strategic merge patches: maps are merged, lists replaced, but for those whose entries have a key of their own.

Sources: Kubernetes, "Update API Objects in Place Using kubectl patch"; patch merge keys of the core and apps APIs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvplan.deployments.yaml_tree import Node

MERGE_KEYS: Final = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name", "env": "name", "volumes": "name",
    "volumeMounts": "mountPath", "volumeDevices": "devicePath", "ports": "containerPort", "imagePullSecrets": "name",
    "resourceClaims": "name", "claims": "name", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey",
}  # fmt: skip
"""List -> the key by which its entries are the same; all other lists are replaced as a whole."""
BUILT_IN: Final = frozenset(
    "Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob Pod PodTemplate".split()
)
"""Kinds whose lists kustomize knows; of any other kind it replaces every list."""
_NULL = frozenset({"", "~", "null", "Null", "NULL"})


def merged(base: Node, patch: Node, *, by_key: bool) -> Node | None:
    """A map with a patch laid over it; None where the patch deletes it. Neither is changed.

    ``by_key``: whether entries of lists are merged by their key.
    """
    directive = patch.scalar("$patch")
    if directive == "delete":
        return None
    if directive == "replace":
        base = replace(base, entries={}, key_lines={})
    entries, key_lines = dict(base.entries), dict(base.key_lines)
    for key, value in patch.entries.items():
        if key.startswith("$"):
            continue
        new = _entry(key, entries.get(key), value, by_key)
        if new is None:
            entries.pop(key, None)
            continue
        entries[key] = new
        key_lines[key] = patch.key_lines.get(key, value.line)
    return replace(base, entries=entries, key_lines=key_lines)


def _entry(key: str, old: Node | None, new: Node, by_key: bool) -> Node | None:
    if is_null(new):
        return None
    if new.kind == "map":
        start = old if old is not None and old.kind == "map" else replace(new, entries={}, key_lines={})
        return merged(start, new, by_key=by_key)
    if new.kind == "list" and by_key and key in MERGE_KEYS:
        items = old.items if old is not None and old.kind == "list" else []
        return replace(new, items=_list(items, new.items, MERGE_KEYS[key]))
    return new


def _list(base: list[Node], patch: list[Node], key: str) -> list[Node]:
    """Entries that the base has keep their places; new ones come first, as kustomize puts them."""
    if any(item.scalar("$patch") == "replace" and len(item.entries) == 1 for item in patch):
        base, patch = [], [item for item in patch if "$patch" not in item.entries]
    changes = {item.scalar(key): item for item in patch}
    old = {item.scalar(key) for item in base}
    kept: list[Node] = []
    for item in base:
        change = changes.get(item.scalar(key))
        now = item if change is None else merged(item, change, by_key=True)
        if now is not None:
            kept.append(now)
    empty = [item for item in patch if item.scalar(key) not in old]
    added = [merged(replace(item, entries={}, key_lines={}), item, by_key=True) for item in empty]
    return [*(item for item in added if item is not None), *kept]


def is_null(node: Node) -> bool:
    """Whether a value is YAML's null: in a patch it deletes."""
    return node.kind == "scalar" and not node.style and node.text in _NULL
