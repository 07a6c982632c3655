"""What a container is given of its host: GPUs or parts of them, CPUs, memory, huge pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kvplan.deployments.found import Complaint, Setting
from kvplan.deployments.given import Given
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

WHOLE_GPUS: Final = frozenset({
    "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi", "google.com/tpu",
    "aws.amazon.com/neuron", "nvidia.com/pgpu", "volcano.sh/vgpu-number", "aliyun.com/gpu-count",
})  # fmt: skip
"""Extended resources that count accelerators. Sources: the device plugins of NVIDIA, AMD, Intel, Habana and AWS, GKE
(TPU), KubeVirt (``pgpu``); Volcano vGPU and Alibaba gpushare count the cards that a part is taken of."""
_OTHER_GPUS = re.compile(r"^[\w.-]+/gpu$|^huawei\.com/Ascend\w+$")
"""Vendors without a plugin above; Ascend names the card in the resource (Huawei device plugin)."""
_MIG = re.compile(r"^nvidia\.com/mig-(\d+g\.\d+gb(?:\+me)?)(\.shared)?$")
_MEBIBYTES: Final = frozenset({"nvidia.com/gpumem", "volcano.sh/vgpu-memory"})
"""GPU memory of the container in MiB on each card. Sources: HAMi and Volcano vGPU user guides."""
_GIBIBYTES: Final = frozenset({"aliyun.com/gpu-mem"})
"""The same in GiB. Source: Alibaba gpushare-scheduler-extender."""
_PERCENT = "nvidia.com/gpumem-percentage"
_HUGE = "hugepages-"
_WHOLE = re.compile(r"[0-9]{1,9}")
_FRACTIONS: Final = frozenset({"gpu-fraction", "run.ai/gpu-fraction"})
"""Pod annotations with the share of one GPU. Source: KAI scheduler and Run:ai, "GPU fractions"."""


def resources_of(container: Node, pod: Node) -> Given:
    """GPUs, CPUs and memory of one container; where it says nothing of CPU or memory, those of the whole pod hold."""
    given = Given()
    for holder in (pod, container):  # a container's own limits hold over its pod's
        for kind in ("requests", "limits"):
            for name, node in _listed(holder, kind):
                _amount(name, node, kind.removesuffix("s"), given)
    for kind in ("requests", "limits"):
        for name, item in _listed(container, kind):
            _accelerator(name, item, given)
    return given


def fraction_of(template: Node, given: Given) -> None:
    """A share of one GPU that an annotation of the pod asks a scheduler for."""
    listed = template.get("metadata", "annotations")
    for name, node in listed.entries.items() if listed is not None else ():
        if name in _FRACTIONS and re.fullmatch(r"0?\.\d+|1(?:\.0+)?", node.text):
            given.put("gpu_fraction", float(node.text), node.place())
            given.settings.setdefault("gpus", Setting("gpus", 1, node.place()))


def _listed(holder: Node, kind: str) -> Iterator[tuple[str, Node]]:
    listed = holder.get("resources", kind)
    for name, node in listed.entries.items() if listed is not None and listed.kind == "map" else ():
        yield name.strip(), node


def _amount(name: str, node: Node, kind: str, given: Given) -> None:
    if not node.is_text or not (name in ("cpu", "memory") or name.startswith(_HUGE)):
        return
    setting = "hugepages" if name.startswith(_HUGE) else f"{name}_{kind}"
    if is_placeholder(node.text):
        given.ask(setting, node.text, node.place(), "a placeholder is filled in later", stops=kind == "limit")
    else:
        given.put(setting, node.text, node.place())


def _accelerator(name: str, node: Node, given: Given) -> None:
    mig = _MIG.match(name)
    if name in WHOLE_GPUS or _OTHER_GPUS.match(name) or mig or name == "nvidia.com/gpu.shared":
        count = _count(name, node, given)
        if count is None:
            return
        given.put("gpus", count, node.place())
        if mig and count:
            given.put("mig_profile", mig[1], node.place())
        if count and name.endswith(".shared"):
            _shared(name, node, given)
    elif _WHOLE.fullmatch(node.text) and name in _MEBIBYTES | _GIBIBYTES:
        given.put("gpu_memory_limit", node.text + ("Mi" if name in _MEBIBYTES else "Gi"), node.place())
        given.settings.setdefault("gpus", Setting("gpus", 1, node.place()))
    elif name == _PERCENT and _WHOLE.fullmatch(node.text):
        given.put("gpu_fraction", int(node.text) / 100, node.place())


def _shared(name: str, node: Node, given: Given) -> None:
    if any(item.name == "gpu_fraction" for item in given.unresolved):
        return  # requests and limits are equal
    reason = "turns on one card are shared: how many processes use its memory is set on the node (give gpu_fraction)"
    given.ask("gpu_fraction", f"{name}: {node.text}", node.place(), reason)


def _count(name: str, node: Node, given: Given) -> int | None:
    """A count of accelerators. Kubernetes refuses one that is no whole number."""
    if _WHOLE.fullmatch(node.text):
        return int(node.text)
    if any(item.name == "gpus" for item in given.unresolved) or any(item.stops for item in given.complaints):
        return None
    if not node.text or is_placeholder(node.text) or "$(" in node.text:
        given.ask("gpus", node.text or name, node.place(), f"the number of {name} is filled in later")
    else:
        message = f"{name} must be a whole number (it is {shorten(node.text)!r})"
        given.complaints.append(Complaint(message, node.place(), level="fail", stops=True))
    return None
