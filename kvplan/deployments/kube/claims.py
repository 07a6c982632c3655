"""Dynamic resource allocation: a pod's claims, and the templates that say how many devices they are."""

from __future__ import annotations

import re

from kvplan.deployments.given import Given
from kvplan.deployments.kube.environment import items_of
from kvplan.deployments.kube.objects import Objects
from kvplan.deployments.yaml_tree import Node, maps_with

_WHOLE = re.compile(r"[0-9]{1,9}")
_ASK = "how many GPUs is it? They are counted by the claim, not by the pod"


def claims_of(container: Node, pod: Node, objects: Objects, given: Given) -> None:
    """Adds ``gpus`` of the container's claims; asks where the claim is not at hand or counts no fixed number.

    Source: Kubernetes, "Dynamic Resource Allocation" (resource.k8s.io v1beta1 to v1).
    """
    total, counted = 0, None
    for claim in items_of(container.get("resources", "claims")):
        name = claim.scalar("name")
        entry = next((item for item in items_of(pod.get("resourceClaims")) if item.scalar("name") == name), None)
        template = _template(entry, objects) if entry is not None else f"the pod has no resource claim {name}"
        if isinstance(template, str):
            given.ask("gpus", name, claim.place(), f"{template}; {_ASK}")
            continue
        count = _count(template, claim.scalar("request"))
        if count is None:
            given.ask("gpus", name, template.place(), f"the claim asks for no fixed number of devices; {_ASK}")
        elif count:
            total, counted = total + count, template
    if counted is not None:
        given.put("gpus", total, counted.place())


def _template(entry: Node, objects: Objects) -> Node | str:
    template, claim = entry.scalar("resourceClaimTemplateName"), entry.scalar("resourceClaimName")
    if template:
        return objects.find("ResourceClaimTemplate", template)
    return objects.find("ResourceClaim", claim)


def _count(template: Node, request: str) -> int | None:
    """GPUs of a claim; None where the number is not fixed, 0 where it is about other devices."""
    total = 0
    for devices in maps_with(template, "requests"):
        for item in items_of(devices.entries["requests"]):
            exact = item.get("exactly") or item
            if request and item.scalar("name") != request:
                continue
            if item.get("firstAvailable") is not None or exact.scalar("allocationMode") == "All":
                return None
            if "gpu" not in exact.scalar("deviceClassName"):
                continue
            text = exact.scalar("count") or "1"
            if not _WHOLE.fullmatch(text):
                return None
            total += int(text)
    return total
