"""Which nodes a pod asks for: the GPU's name, the machine's type, or several of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.found import Place
from kvplan.deployments.given import Given
from kvplan.deployments.kube.environment import items_of
from kvplan.deployments.kube.labels import (
    BUILT_IN_CLASSES,
    COMPUTE_CLASS,
    CONFIDENTIAL,
    CONFIDENTIAL_RUNTIME,
    FAMILY_AND_SIZE,
    GPU_PRODUCTS,
    INSTANCE_TYPES,
    MIG_SIZES,
    SHARING,
    is_own_gpu_label,
)
from kvplan.deployments.yaml_placeholders import is_placeholder
from kvplan.deployments.yaml_tree import Node

_MIG_PRODUCT = re.compile(r"^(?P<card>.+)-MIG-(?P<profile>\d+g\.\d+gb(?:\+me)?)$")
_SHARED_SUFFIX = "-SHARED"
"""GPU feature discovery adds it to the product of a card that is shared by time slices."""

Asked = dict[str, list[tuple[str, Place]]]
"""Label -> values, any of which will do, each with its place."""


def nodes_of(pod: Node, given: Given) -> None:
    """Adds what the pod says of its nodes: ``gpu_product``, ``instance_type``, ``mig_profile`` or alternatives."""
    asked = _asked(pod)
    for label in MIG_SIZES:
        for value, place in asked.get(label, [])[:1]:
            given.put("mig_profile", value, place)
    for label in SHARING:
        for value, place in asked.get(label, [])[:1]:
            reason = "several pods share the memory of one card (give gpu_fraction)"
            given.ask("gpu_fraction", f"{label}: {value}", place, reason)
    _confidential(pod, asked, given)
    machines = _machines(asked)
    products = _products(asked)
    _put("instance_type", machines, given)
    _put("gpu_product", products, given)


def _confidential(pod: Node, asked: Asked, given: Given) -> None:
    """Whether the pod is for confidential virtual machines, by its runtime class or its node's labels."""
    runtime = pod.get("runtimeClassName")
    if runtime is not None and CONFIDENTIAL_RUNTIME.search(runtime.text):
        given.put("confidential_computing", True, runtime.place())
    for label, words in CONFIDENTIAL.items():
        for value, place in asked.get(label, [])[:1]:
            if value.lower() in words:
                given.put("confidential_computing", True, place)


def _put(name: str, values: list[tuple[str, Place]], given: Given) -> None:
    if not values:
        return
    text, place = values[0]
    different = tuple(dict.fromkeys(value for value, _ in values))
    if any(is_placeholder(value) or "$(" in value for value in different):
        given.ask(name, text, place, "a placeholder is filled in later", stops=False)
    elif len(different) > 1:
        given.put("gpu_alternatives", different, place)
    elif name == "gpu_product":
        _product(text, place, given)
    else:
        given.put(name, text, place)


def _product(text: str, place: Place, given: Given) -> None:
    mig = _MIG_PRODUCT.match(text)
    if mig:
        given.put("mig_profile", mig["profile"], place)
        text = mig["card"]
    elif text.endswith(_SHARED_SUFFIX):
        text = text.removesuffix(_SHARED_SUFFIX)
        given.ask("gpu_fraction", text + _SHARED_SUFFIX, place, "the card is shared by time slices (give gpu_fraction)")
    given.put("gpu_product", text, place)


def _products(asked: Asked) -> list[tuple[str, Place]]:
    """Values of the plainest label: a product before a class that is only named after one."""
    for label in GPU_PRODUCTS:
        if label in asked:
            return asked[label]
    for label, values in asked.items():
        if label not in INSTANCE_TYPES and all(is_own_gpu_label(label, value) for value, _ in values):
            return values
    classes = asked.get(COMPUTE_CLASS, [])
    return [item for item in classes if item[0].lower() not in BUILT_IN_CLASSES]


def _machines(asked: Asked) -> list[tuple[str, Place]]:
    for label in INSTANCE_TYPES:
        if label in asked:
            return asked[label]
    for family, size_label in FAMILY_AND_SIZE:
        if family in asked:
            sizes = [value for value, _ in asked.get(size_label, [])] or [""]
            return [(f"{name}.{end}" if end else name, place) for name, place in asked[family] for end in sizes]
    return []


def _asked(pod: Node) -> Asked:
    """Labels that a node must have. Of ``nodeSelectorTerms`` one is enough, so their values are alternatives."""
    asked: Asked = {}
    required = pod.get("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in items_of(required.get("nodeSelectorTerms") if required is not None else None):
        for label, values in _of_term(term):
            asked.setdefault(label, []).extend(values)
    selector = pod.get("nodeSelector")
    for name, node in selector.entries.items() if selector is not None else ():
        if node.is_text:
            asked[name] = [(node.text, node.place())]
    return asked


def _of_term(term: Node) -> Iterator[tuple[str, list[tuple[str, Place]]]]:
    for expression in items_of(term.get("matchExpressions")):
        values = expression.get("values")
        if expression.scalar("operator") == "In" and values is not None:
            texts = [(value.text, value.place()) for value in items_of(values) if value.is_text]
            if texts:
                yield expression.scalar("key"), texts
