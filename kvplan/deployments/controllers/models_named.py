"""Where a model comes from, as controllers write it: ``hf://org/name``, ``pvc://claim/path``, ``oci://registry/x``."""

from __future__ import annotations

import re

from kvplan.deployments.controllers.options import open_reason
from kvplan.deployments.found import Setting, Unresolved
from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_tree import Node
from kvplan.units import shorten

_HUB = re.compile(r"^(?:hf|huggingface|ollama|oci\+hf|ms)://")
_PVC_HUB = re.compile(r"^pvc\+hf://(?:.*/)?([^/]+/[^/]+?)/*$")
_SCHEME = re.compile(r"^[a-z0-9+]+://")
_HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+$")


def model_of(uri: Node | None, name: Node | None, source: Source) -> Setting | Unresolved | None:
    """The model that a URI names, or else the served name where that is an id of the Hub.

    A volume, a bucket or an image does not say what is in it: its own text is kept, for a configuration may map it.
    """
    named = name if name is not None and _HUB_ID.match(name.text) else None
    if uri is None or not uri.text:
        return _setting(named.text, named, source) if named is not None else None
    hub = _PVC_HUB.match(uri.text)
    if hub is not None:
        return _setting(hub[1], uri, source)
    text = hub_id(uri.text)
    if open_reason(text) is not None or (_SCHEME.match(text) and named is not None):
        if named is not None:
            return _setting(named.text, named, source)
        return Unresolved("model", shorten(uri.text), source.at(uri.line), "a placeholder is filled in later")
    return _setting(text, uri, source)


def hub_id(text: str) -> str:
    """``hf://org/name:revision`` -> ``org/name``; anything else as it is."""
    scheme = _HUB.match(text)
    if scheme is None:
        return text
    bare = text[scheme.end() :].strip("/").partition("?")[0]
    return bare if scheme[0].startswith("ollama") else bare.partition(":")[0].partition("@")[0]


def _setting(text: str, node: Node, source: Source) -> Setting:
    return Setting("model", text, source.at(node.line))
