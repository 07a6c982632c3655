"""The model that a deployment names, as ``kvplan lock`` needs it: a catalog's, a file's, one of the Hub, or a question.

Looked up in the order of ``which_model`` and ``LlamaServer``, so that what is locked is what ``check`` will ask for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.catalog.models import model_table
from kvplan.checkpoints.hub_id import looks_like_hub_id
from kvplan.deployments.as_words import translate
from kvplan.deployments.found import FoundDeployment, Place
from kvplan.errors import UnknownName
from kvplan.rules.gguf_models import is_llama_server, named_model
from kvplan.rules.named import hub_id_of_cache, model_in_path
from kvplan.rules.unresolved import unresolved_problems
from kvplan.rules.which_host import Around
from kvplan.units import shorten

_HUB_PREFIX = re.compile(r"^(?:hf\.co|huggingface\.co)/")
_PATH_ENDINGS = (".json", ".gguf", ".safetensors")
_WHERE_IT_IS = 'run kvplan lock where it is, or say in .kvplan.toml what it is: [models] "{}" = "OWNER/NAME"'
_NAME_IT = 'name it in the file, or in .kvplan.toml: [paths."GLOB"] model = "OWNER/NAME"'


class NamedModel(NamedTuple):
    """What one deployment names."""

    text: str
    """The name that has to mean the model; empty where none is said."""
    place: Place
    row: str | None = None
    """The row of a catalog that has it."""
    path: str | None = None
    """The config.json, the checkpoint folder or the GGUF file that is here."""
    hub: str | None = None
    """``owner/name``, where it may be on the Hub."""
    question: str = ""
    """What is asked where none of them settles it."""
    remedy: str | None = None


def models_named(found: FoundDeployment, around: Around) -> Iterator[NamedModel]:
    """The model of one deployment, or what keeps its name from being known. Nothing is read but the catalogs."""
    found = around.facts.added_to(found)
    text = str(translate(found).values.get("model", ""))
    if not text:
        yield from _unsaid(found)
        return
    place, said = found.where("model"), around.facts.model(text)
    if is_llama_server(found.engine):
        yield _of_llama(found.engine, said or text, place, around)
        return
    table = model_table(around.catalog)
    for word in (text, said or text):
        row, path = table.find(word), path_of(word, around.folder)
        if row is not None or path is not None:
            yield NamedModel(word, place, row, None if row is not None else path)
            return
    word = said or text
    called = None if said else model_in_path(text, around.catalog)
    if called is not None and not os.path.exists(text):
        yield NamedModel(text, place, table.find(called))
        return
    yield _asked(hub_id_of_cache(word) or word, place, hub_part(found.engine, word), around)


def path_of(text: str, folder: str) -> str | None:
    """What a name means on this machine: beside the file that has it, else from the current folder on.

    A folder without a config.json is a checkpoint only by a name that can't be a hub id.
    """
    paths = [text] if os.path.isabs(text) else [os.path.join(folder, text), text]
    for path in map(os.path.normpath, paths if text else []):
        try:
            there = os.path.isfile(path) or os.path.isfile(os.path.join(path, "config.json"))
            if there or (os.path.isdir(path) and text.startswith((".", "/", "~"))):
                return path
        except ValueError:
            return None
    return None


def hub_part(engine: str, text: str) -> str | None:
    """``owner/name`` of a name that may be one of the Hub; under Ollama only what says so is."""
    cached = hub_id_of_cache(text)
    if cached is not None:
        return cached
    bare = _HUB_PREFIX.sub("", text)
    if is_llama_server(engine):
        bare = bare.partition(":")[0] if engine != "ollama" or bare != text else ""
    return bare if looks_like_hub_id(bare) and not bare.lower().endswith(_PATH_ENDINGS) else None


def is_path(text: str) -> bool:
    """Whether a name can only be that of a file or a folder, perhaps of a bucket."""
    ending = text.lower().endswith(_PATH_ENDINGS)
    return ending or text.startswith(("/", ".", "~")) or "://" in text or text.count("/") > 1


def _of_llama(engine: str, text: str, place: Place, around: Around) -> NamedModel:
    named = named_model(engine, text, around.catalog)
    if not isinstance(named, str):
        return NamedModel(text, place, named.catalog_name)
    hub = hub_part(engine, text)
    asked = _asked(text, place, hub, around)
    question = asked.question if hub is not None or is_path(text) else named
    return asked._replace(path=path_of(text, around.folder), question=question)


def _asked(text: str, place: Place, hub: str | None, around: Around) -> NamedModel:
    """A name that no catalog has and nothing here is called."""
    if hub is None and is_path(text):
        return NamedModel(
            text, place, question="there is no such file or folder here", remedy=_WHERE_IT_IS.format(shorten(text))
        )
    table = model_table(around.catalog)
    likely = UnknownName.of("model", text, [*table.names(), *table.aliases()]).help
    question = "no catalog has it" if hub is None else "no catalog has it, and the Hub was not asked"
    advice = "--fetch reads it from the Hugging Face Hub" if hub is not None else _WHERE_IT_IS.format(shorten(text))
    return NamedModel(text, place, hub=hub, question=question, remedy=f"{advice}; {likely}" if likely else advice)


def _unsaid(found: FoundDeployment) -> Iterator[NamedModel]:
    """A variable without a value, arguments that are not all there, or nothing at all."""
    open_ones = [item for item in found.unresolved if item.name in ("model", "arguments")]
    for problem in unresolved_problems(open_ones):
        remedy = f'{problem.remedy}, or in .kvplan.toml: [paths."GLOB"] model = "OWNER/NAME"'
        yield NamedModel("", problem.place, question=problem.message, remedy=remedy)
    if not open_ones:
        yield NamedModel("", found.place, question="no model is named", remedy=_NAME_IT)
