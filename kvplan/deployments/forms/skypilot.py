"""SkyPilot's tasks: a machine by its accelerators, and shell texts that set up and run.

``accelerators`` as a map or a list, and ``any_of``, are alternatives: SkyPilot takes whichever it gets, so that each of
them is a deployment of its own. ``A100`` is the card with 40 GB. ``cpus: 32+`` and ``memory: 1000+`` (GiB) are what the
machine has at least. Source: SkyPilot's YAML specification, 0.5 to 0.12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.deployments.commands import command_of_engine
from kvplan.deployments.controllers.custom_resources import unread_rest
from kvplan.deployments.controllers.resources import put_count
from kvplan.deployments.found import FoundDeployment, Setting
from kvplan.deployments.given import Given
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.shell.commands import MOST_COMMANDS, Command, commands_in
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.yaml_tree import Node, documents

_TOP = re.compile(r"^([a-z_]+)[ \t]*:", re.MULTILINE)
_PINNED = r"\b{package}(?:\[[\w,-]*\])?==(\d+\.\d+(?:\.\w+)*)"
_COUNTED = re.compile(r"^\s*([\w .-]+?)\s*(?::\s*(\d{1,4}))?\s*$")
_LONGEST_CARD = 100
_AMOUNT = re.compile(r"^(\d+(?:\.\d+)?)\s*(?:GB|G)?\+?$", re.IGNORECASE)
_FORTY_GB = "A100-40GB"
_MOST_ALTERNATIVES = 50


class _Machine(NamedTuple):
    """One alternative: a card, how many of it, and where that is written."""

    card: str
    cards: int
    node: Node
    resources: Node


class SkyPilot:
    """``resources`` and ``run``."""

    name = "skypilot"
    order = 16
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", "") or "apiVersion" in source.text:
            return False
        keys = {match[1] for match in _TOP.finditer(source.text)}
        if "run" not in keys or "resources" not in keys:
            return False
        words = r"(?m)^[ \t]*-?[ \t]*(?:accelerators|gpus|instance_type|cpus|any_of|infra|cloud)[ \t]*:"
        return re.search(words, source.text) is not None

    def read(self, source: Source) -> Reading:
        roots, fault = documents(source.text)
        found = [item for root in roots if root.kind == "map" for item in _of_task(root, source)]
        return Reading(found, unread_rest(source, fault))


def _of_task(task: Node, source: Source) -> Iterator[FoundDeployment]:
    run = task.get("run")
    if run is None or run.kind != "scalar" or not run.text:
        return
    machines: list[_Machine | None] = [*_machines(task.get("resources"))]
    for machine in machines or [None]:
        variables = _variables(task, machine, source)
        first_line = run.line + 1 if run.style in ("|", ">") else run.line
        commands = commands_in(run.text, source.path, first_line, variables)[:MOST_COMMANDS]
        for number, command in enumerate(commands, start=1):
            name = task.scalar("name") or source.title
            name += f"-{number}" if len(commands) > 1 else ""
            name += f" on {machine.card}:{machine.cards}" if machine is not None and len(machines) > 1 else ""
            yield _deployment(task, machine, command, name, source)


def _deployment(task: Node, machine: _Machine | None, command: Command, name: str, source: Source) -> FoundDeployment:
    given = _given(task, machine, source)
    image = _image(task, machine)
    engine = command_of_engine(command.engine)
    launch = Launch(
        engine=command.engine,
        arguments=command.arguments,
        place=command.place,
        environment=command.environment,
        image=image.text.removeprefix("docker:") if image is not None else command.image,
        image_place=source.at(image.line) if image is not None else None,
        version=_pinned(task, engine.engine),
    )
    return deployment_of(
        launch, name=name, form=FORM.name, surroundings=given.settings.values(),
        unresolved=given.unresolved, complaints=given.complaints,
    )  # fmt: skip


def _machines(resources: Node | None) -> list[_Machine]:
    """Every alternative in the order of the file."""
    found: list[_Machine] = []
    if resources is None:
        return found
    listed = resources.get("any_of") or resources.get("ordered")
    for choice in [resources, *(listed.items if listed is not None and listed.kind == "list" else [])]:
        accelerators = choice.get("accelerators") or choice.get("gpus")
        if accelerators is not None:
            found += _cards(accelerators, choice if choice is not resources else resources)
    seen: set[tuple[str, int]] = set()
    once = []
    for machine in found:
        if (machine.card, machine.cards) not in seen:
            seen.add((machine.card, machine.cards))
            once.append(machine)
    return once[:_MOST_ALTERNATIVES]


def _cards(accelerators: Node, resources: Node) -> Iterator[_Machine]:
    """``H100:8``, ``[A100:1, L4:4]``, ``{A100: 1}`` and, as YAML reads it without blanks, ``{A100:1}``."""
    pairs: list[tuple[str, Node]] = []
    if accelerators.kind == "map":
        for key, node in accelerators.entries.items():
            pairs.append((key if ":" in key or not node.text else f"{key}:{node.text}", node))
    else:
        pairs = [(node.text, node) for node in accelerators.items or [accelerators]]
    for text, node in pairs:
        match = _COUNTED.match(text) if len(text) <= _LONGEST_CARD else None
        if match is not None and match[1]:
            card = match[1].strip()
            yield _Machine(_FORTY_GB if card.upper() == "A100" else card, int(match[2] or 1), node, resources)


def _variables(task: Node, machine: _Machine | None, source: Source) -> dict[str, Expansion]:
    """``envs``, and what SkyPilot tells a task about its machines. A null is given at the launch."""
    found: dict[str, Expansion] = {}
    for part in ("envs", "secrets"):
        listed = task.get(part)
        for name, node in listed.entries.items() if listed is not None else ():
            empty = not node.style and node.text.lower() in ("", "null", "~")
            reason = f"${name} is given at the launch" if empty or node.kind != "scalar" else None
            found[name] = Expansion(node.text, place=source.at(node.line), reason=reason)
    if machine is not None:
        place = source.at(machine.node.line)
        found["SKYPILOT_NUM_GPUS_PER_NODE"] = Expansion(str(machine.cards), place=place)
    nodes = task.get("num_nodes")
    place = source.at(nodes.line) if nodes is not None else source.at(task.line)
    found["SKYPILOT_NUM_NODES"] = Expansion(nodes.text if nodes is not None else "1", place=place)
    return found


def _given(task: Node, machine: _Machine | None, source: Source) -> Given:
    given = Given()
    resources = task.get("resources")
    if machine is not None:
        given.put("gpu_product", machine.card, source.at(machine.node.line))
        given.put("gpus", machine.cards, source.at(machine.node.line))
    for holder in (resources, machine.resources if machine is not None else None):
        for name, key, unit in (("cpu_request", "cpus", ""), ("memory_request", "memory", "Gi")):
            node = holder.get(key) if holder is not None else None
            amount = _AMOUNT.match(node.text) if node is not None else None
            if node is not None and amount is not None:
                given.put(name, amount[1] + unit, source.at(node.line))
        instance = holder.get("instance_type") if holder is not None else None
        if instance is not None and instance.text:
            given.put("instance_type", instance.text, source.at(instance.line))
    nodes = task.get("num_nodes")
    if nodes is not None and nodes.text != "1":
        put_count("nodes", "num_nodes", nodes, source, given)
    replicas = task.get("service", "replicas")
    if replicas is not None and replicas.text.isdigit():
        given.settings["replicas"] = Setting("replicas", int(replicas.text), source.at(replicas.line))
    return given


def _image(task: Node, machine: _Machine | None) -> Node | None:
    """``image_id: docker:...`` is the container that the task runs in."""
    for holder in (machine.resources if machine is not None else None, task.get("resources")):
        image = holder.get("image_id") if holder is not None else None
        if image is not None and image.text.startswith("docker:"):
            return image
    return None


def _pinned(task: Node, engine: str) -> str | None:
    """The version that ``setup`` or ``run`` installs."""
    text = task.scalar("setup") + "\n" + task.scalar("run")
    lines = (line for line in text.split("\n") if "install" in line and not line.lstrip().startswith("#"))
    pinned = (re.search(_PINNED.format(package=re.escape(engine)), line) for line in lines)
    return next((match[1] for match in pinned if match is not None), None)


FORM = SkyPilot()
