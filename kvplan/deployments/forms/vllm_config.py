"""A file for ``vllm serve --config``: YAML whose keys are the long flags."""

from __future__ import annotations

import json
import re

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.container import settings_of_connector
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.vllm_flags import FLAGS, SETTINGS, flag_named, takes_value
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

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".yaml", ".yml", "") or _OTHER_FORM.search(source.text):
            return False
        keys = {match[1].replace("_", "-") for match in _KEY.finditer(source.text)}
        known = keys & FLAGS
        return bool((known & set(SETTINGS)) - _OWN) and len(known) * 2 >= len(keys)

    def read(self, source: Source) -> tuple[list[FoundDeployment], list[Unreadable]]:
        found, fault = documents(source.text)
        if fault is not None:
            return [], [Unreadable(source.at(fault.line), fault.message)]
        roots = [node for node in found if node.kind == "map"]
        return [_deployment(root, source) for root in roots[:1]], []


def _deployment(root: Node, source: Source) -> FoundDeployment:
    arguments = Arguments()
    for key, node in root.entries.items():
        flag = flag_named(f"--{key}")
        name = SETTINGS.get(flag or "")
        if flag is None or name is None:
            continue
        place = source.at(root.key_lines.get(key, node.line))
        text = json.dumps(_plain(node)) if node.kind != "scalar" else node.text
        plain = node.kind == "scalar" and not node.style
        if plain and text.lower() in _FALSE:
            continue  # vLLM drops a false without a word
        if takes_value(flag) is False:
            arguments.put(name, text.lower() in _TRUE, Word(text, place))
        else:
            arguments.put(name, text, Word(text, place, _unresolved(text)))
    settings, unresolved = arguments.settings, arguments.unresolved
    if "kv_transfer_config" in settings:
        offloaded, unknown = settings_of_connector(settings["kv_transfer_config"])
        settings = {item.name: item for item in offloaded} | settings
        unresolved += unknown
    return FoundDeployment(
        name=source.stem if source.path != "-" else "stdin",
        form=FORM.name,
        place=source.at(min(root.key_lines.values(), default=1)),
        settings=settings,
        unresolved=tuple(unresolved),
        complaints=tuple(arguments.complaints),
    )


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
