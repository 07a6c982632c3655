"""Host memory that a container may share or pin: ``/dev/shm`` and locked pages."""

from __future__ import annotations

from typing import Final

from kvplan.deployments.given import Given
from kvplan.deployments.kube.environment import MOST_VOLUMES, items_of
from kvplan.deployments.yaml_tree import Node

CONTAINER_SHM: Final = "64 MiB"
"""``/dev/shm`` of a container that is given none: the default of containerd, CRI-O and Docker."""
_LOCKING: Final = frozenset({"IPC_LOCK", "CAP_IPC_LOCK", "ALL"})
"""Capabilities that lift RLIMIT_MEMLOCK. Source: capabilities(7), mlock(2)."""


def shm_of(container: Node, pod: Node, given: Given) -> str | None:
    """Adds ``shm_size``, where the pod says it; returns what is to be said of it.

    ``host`` is the host's own, half of its memory unless somebody changed it (tmpfs(5)). An ``emptyDir`` in memory
    without ``sizeLimit`` may grow as far, so it is read as that.
    """
    if pod.scalar("hostIPC") == "true":
        given.put("shm_size", "host", pod.entries["hostIPC"].place())
        return None
    for mount in items_of(container.get("volumeMounts")):
        if mount.scalar("mountPath").rstrip("/") == "/dev/shm":
            return _of_volume(mount, pod, given)
    return f"nothing is mounted at /dev/shm, so that it has {CONTAINER_SHM} as every container"


def _of_volume(mount: Node, pod: Node, given: Given) -> str | None:
    name = mount.scalar("name")
    volumes = items_of(pod.get("volumes"))[:MOST_VOLUMES]
    volume = next((item for item in volumes if item.scalar("name") == name), None)
    if volume is None:
        given.ask(
            "shm_size", name or "/dev/shm", mount.place(), f"the volume {name} is not in these files", stops=False
        )
        return None
    limit = volume.get("emptyDir", "sizeLimit")
    if limit is not None and limit.is_text:
        given.put("shm_size", limit.text, limit.place())
    elif volume.get("hostPath") is not None:
        given.put("shm_size", "host", volume.place())
    elif volume.scalar("emptyDir", "medium") == "Memory":
        given.put("shm_size", "host", volume.place())
        return "an emptyDir in memory without sizeLimit: up to half of the node's memory"
    elif volume.get("emptyDir") is not None:
        given.put("shm_size", "host", volume.place())
        return "an emptyDir on disk at /dev/shm has no limit of its own"
    return None


def memlock_of(container: Node, given: Given) -> None:
    """Adds ``memlock`` where a privilege lifts the limit of locked memory; the limit itself is the node's."""
    context = container.get("securityContext")
    if context is None:
        return
    if context.scalar("privileged") == "true":
        given.put("memlock", "unlimited", context.entries["privileged"].place())
    for capability in items_of(context.get("capabilities", "add")):
        if capability.text in _LOCKING:
            given.put("memlock", "unlimited", capability.place())
