"""A file for ``vllm serve --config``: YAML whose keys are the long flags."""

from __future__ import annotations

import json
import re

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands.vllm_flags import TABLE
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.deployments.yaml_tree import Node, documents

_KEY = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?=\s|$)", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:kind|services)[ \t]*:", re.MULTILINE)
_OWN = {"model", "dtype", "task", "runner", "config", "quantization", "host", "port", "seed", "revision", "tokenizer"}
"""Keys that files of other programs have as well."""
_TRUE = {"true", "yes", "on"}
_FALSE = {"false", "no", "off", "null", "~", ""}


class VllmConfig:
    """``max-model-len: 8192`` and the like; dashes and underscores alike."""

    name = "vllm-config"
    order = 30
    names = ("*.yaml", "*.yml")
    traces: tuple[bytes, ...] = ()

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", "") or _OTHER_FORM.search(source.text):
            return False
        keys = {match[1].replace("_", "-") for match in _KEY.finditer(source.text)}
        known = keys & TABLE.flags
        return bool((known & set(TABLE.settings)) - _OWN) and len(known) * 2 >= len(keys)

    def read(self, source: Source) -> Reading:
        found, fault = documents(source.text)
        if fault is not None:
            return Reading([], [Unreadable(source.at(fault.line), fault.message)])
        roots = [node for node in found if node.kind == "map"]
        return Reading([_deployment(root, source) for root in roots[:1]], [])


def _deployment(root: Node, source: Source) -> FoundDeployment:
    arguments = Arguments()
    for key, node in root.entries.items():
        flag = TABLE.named(f"--{key}")
        name = TABLE.settings.get(flag or "")
        place = source.at(root.key_lines.get(key, node.line))
        if flag is not None:
            arguments.flags[flag.removeprefix("no-")] = place
        if flag is None or name is None:
            continue
        text = json.dumps(_plain(node)) if node.kind != "scalar" else node.text
        plain = node.kind == "scalar" and not node.style
        if plain and text.lower() in _FALSE:
            continue  # vLLM drops a false without a word
        if TABLE.takes_value(flag) is False:
            arguments.put(name, text.lower() in _TRUE, Word(text, place))
        else:
            arguments.put(name, text, Word(text, place, _unresolved(text)))
    launch = Launch("vllm", arguments, source.at(min(root.key_lines.values(), default=1)))
    return deployment_of(launch, name=source.stem if source.path != "-" else "stdin", form=FORM.name)


def _unresolved(text: str) -> str | None:
    """vLLM reads no variables here: a placeholder is filled in by something else first."""
    if re.search(r"\$\{|\{\{|^\$\w", text):
        return "a placeholder is filled in later"
    return None


def _plain(node: Node, depth: int = 0) -> object:
    """A nested map as vLLM hands it on: JSON."""
    if node.kind == "map" and depth < 20:
        return {key: _plain(value, depth + 1) for key, value in node.entries.items()}
    if node.kind == "list" and depth < 20:
        return [_plain(item, depth + 1) for item in node.items]
    if not node.style:
        try:
            return json.loads(node.text.lower() if node.text.lower() in ("true", "false", "null") else node.text)
        except ValueError:
            return node.text
    return node.text


FORM = VllmConfig()
