"""What a container is given, and the node that its pod asks for: YAML nodes -> settings.

For every form that carries pieces of a pod template: resources, node labels, volumes, as Kubernetes names them. Device
plugins name GPUs, their slices and their shares: NVIDIA's (``nvidia.com/gpu``, ``nvidia.com/mig-1g.10gb``,
``nvidia.com/gpu.shared``), HAMi's (``nvidia.com/gpumem`` in MiB, ``nvidia.com/gpumem-percentage``), AMD's, Intel's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.found import Complaint, Unresolved
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node, maps_with
from kvplan.units import shorten

GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi")
GPU_LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name",
              "k8s.amazonaws.com/accelerator", "gpu.nvidia.com/class", "gpu.nvidia.com/model",
              "karpenter.k8s.aws/instance-gpu-name", "machine.cluster.vke.volcengine.com/gpu-name",
              "karpenter.azure.com/sku-gpu-name")  # fmt: skip
INSTANCE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
                   "cloud.google.com/compute-class", "karpenter.k8s.aws/instance-type")  # fmt: skip
CONTAINER_SHM = "64Mi"
"""``/dev/shm`` of a container with nothing mounted there: the default of containerd, CRI-O and Docker."""
_LIMITS = (("cpu_limit", "limits", "cpu"), ("memory_limit", "limits", "memory"),
           ("cpu_request", "requests", "cpu"), ("memory_request", "requests", "memory"))  # fmt: skip
_WHOLE = re.compile(r"[0-9]{1,9}")
_MIG = re.compile(r"^nvidia\.com/mig-(\d+g\.\d+gb)")


def given_by(container: Node, pod: Node | None, source: Source) -> Given:
    """Resources of a container, the node its pod asks for, and its shared memory."""
    given = Given()
    read_resources(container.get("resources"), source, given)
    if pod is not None:
        read_node_labels(pod, source, given)
        read_shared_memory(container, pod, source, given)
    return given


def read_resources(resources: Node | None, source: Source, given: Given, gpu_names: tuple[str, ...] = ()) -> None:
    """``requests`` and ``limits``. ``gpu_names`` are further names that a form has for whole GPUs."""
    if resources is None:
        return
    for part in ("requests", "limits"):
        listed = resources.get(part)
        for name, node in listed.entries.items() if listed is not None else ():
            if node.kind == "scalar":
                read_device(name, node, source, given, gpu_names)
    for name, part, key in _LIMITS:
        amount = resources.get(part, key)
        if amount is not None and amount.kind == "scalar" and amount.text:
            put_text(name, amount, source, given)


def read_device(name: str, node: Node, source: Source, given: Given, gpu_names: tuple[str, ...] = ()) -> None:
    """One resource: GPUs, slices of them, or shares of their memory."""
    slice_of = _MIG.match(name)
    if name in GPU_RESOURCES or name in gpu_names or slice_of or name == "nvidia.com/gpu.shared":
        put_count("gpus", name, node, source, given)
    if slice_of:
        given.put("mig_profile", slice_of[1], source.at(node.line))
    elif name == "nvidia.com/gpu.shared":
        reason = "a shared GPU has other users' memory on it"
        given.unresolved.append(Unresolved("gpu_fraction", f"{name}: {node.text[:20]}", source.at(node.line), reason))
    elif name in ("nvidia.com/gpumem", "volcano.sh/vgpu-memory") and _WHOLE.fullmatch(node.text):
        given.put("gpu_memory_limit", f"{node.text}Mi", source.at(node.line))
    elif name == "nvidia.com/gpumem-percentage" and _WHOLE.fullmatch(node.text):
        given.put("gpu_fraction", int(node.text) / 100, source.at(node.line))


def put_count(name: str, called: str, node: Node, source: Source, given: Given) -> None:
    """A whole number; a placeholder is filled in later, and anything else is refused where it is applied."""
    if _WHOLE.fullmatch(node.text):
        given.put(name, int(node.text), source.at(node.line))
        return
    open_text = not node.text or is_placeholder(node.text)
    message = f"{called} must be a whole number (it is {shorten(node.text)!r})"
    level = "unknown" if open_text else "fail"
    given.complaints.append(Complaint(message, source.at(node.line), level=level, stops=True))


def put_text(name: str, node: Node, source: Source, given: Given) -> None:
    """A text such as ``64Gi``; a placeholder is a question."""
    if is_placeholder(node.text):
        where = source.at(node.line)
        given.unresolved.append(Unresolved(name, shorten(node.text), where, "a placeholder is filled in later"))
    else:
        given.put(name, node.text, source.at(node.line))


def read_node_labels(pod: Node, source: Source, given: Given) -> None:
    """``nodeSelector`` and required node affinity: the GPU or the instance that the pod asks for by name."""
    selector = pod.get("nodeSelector")
    for label, node in selector.entries.items() if selector is not None else ():
        _put_label(label, [node], source, given)
    required = pod.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        read_node_terms(required, source, given)


def read_node_terms(terms: Node, source: Source, given: Given) -> None:
    """``matchExpressions`` anywhere below: several values or terms are alternatives."""
    asked: dict[str, list[Node]] = {}
    for holder in maps_with(terms, "matchExpressions"):
        for term in holder.entries["matchExpressions"].items:
            values = term.get("values")
            if term.scalar("operator") == "In" and values is not None:
                asked.setdefault(term.scalar("key"), []).extend(values.items)
    for label, nodes in asked.items():
        _put_label(label, nodes, source, given)


def _put_label(label: str, nodes: list[Node], source: Source, given: Given) -> None:
    name = "gpu_product" if label in GPU_LABELS else "instance_type" if label in INSTANCE_LABELS else ""
    nodes = [node for node in nodes if node.kind == "scalar" and node.text]
    if not name or not nodes:
        return
    if len(nodes) == 1:
        put_text(name, nodes[0], source, given)
    elif name == "gpu_product":
        given.put("gpu_alternatives", tuple(node.text for node in nodes), source.at(nodes[0].line))
    else:
        text = shorten(" or ".join(node.text for node in nodes))
        where = source.at(nodes[0].line)
        given.unresolved.append(Unresolved(name, text, where, "the pod may run on any of several instances"))


def read_shared_memory(container: Node, pod: Node, source: Source, given: Given) -> None:
    """``/dev/shm``: the volume mounted there, or the host's own with ``hostIPC``.

    Without ``sizeLimit`` the kubelet bounds it by the container's memory limit, and without that by the node's memory.
    """
    host_ipc = pod.get("hostIPC")
    if host_ipc is not None and host_ipc.text.lower() == "true":
        given.put("shm_size", "host", source.at(host_ipc.line))
    for volume in _memory_volumes(container, pod):
        limit_node = volume.get("emptyDir", "sizeLimit")
        limit = given.settings.get("memory_limit")
        if limit_node is not None and limit_node.text:
            put_text("shm_size", limit_node, source, given)
        else:
            given.put("shm_size", str(limit.value) if limit is not None else "host", source.at(volume.line))


def _memory_volumes(container: Node, pod: Node) -> Iterator[Node]:
    mounts, volumes = container.get("volumeMounts"), pod.get("volumes")
    mounted = {item.scalar("name") for item in _items(mounts) if item.scalar("mountPath").rstrip("/") == "/dev/shm"}
    for volume in _items(volumes):
        name = volume.scalar("name")
        guessed = not _items(mounts) and "shm" in name  # a controller's own template mounts it
        if volume.scalar("emptyDir", "medium") == "Memory" and (name in mounted or guessed):
            yield volume


def is_placeholder(text: str) -> bool:
    """Whether a template's or a shell's mark is still in a text."""
    return re.search(r"\$[({]|\{\{", text) is not None


def _items(node: Node | None) -> list[Node]:
    return node.items if node is not None else []
