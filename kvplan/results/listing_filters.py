"""What ``kvplan model list`` and ``kvplan host list`` are asked for -> which rows are meant, or one clear line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvplan.catalog.hardware import HostListing
from kvplan.catalog.models import ModelRow
from kvplan.errors import InputError, UnknownName
from kvplan.units import gib, parse_bytes, shorten

ATTENTION_KINDS = ("MHA", "GQA", "MQA", "MLA", "sliding", "MoE")
LAYER_KINDS = (
    "full", "sliding", "chunked", "cross", "mla", "compressed", "indexer", "shared", "mamba", "mamba1", "mamba2", "gdn",
    "kda", "lightning", "conv",
)  # fmt: skip
"""Kinds of layers by what they keep of a sequence, rows may have others too; ``mamba`` is either of the two."""
_BILLIONS = {"m": 0.001, "b": 1.0, "t": 1000.0}


def layer_kinds(row: ModelRow) -> tuple[str, ...]:
    """What its layers keep, each kind once: ``full``, ``gdn`` ..."""
    return tuple(dict.fromkeys(layers.kind for layers in row.model.kv))


def words_of(row: HostListing) -> tuple[str, ...]:
    """What a search of hosts looks into."""
    gpu = row.host.gpu
    return (row.host.name, row.host.title, *row.aliases, gpu.name if gpu else "")


def known_word(kind: str, text: str, known: Sequence[str]) -> str:
    """The filter's value as kvplan spells it."""
    for word in known:
        if word.lower() == text.strip().lower():
            return word
    raise UnknownName.of(kind, text, known, listing="known: " + ", ".join(known))


def searched(kind: str, text: str, texts: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Names of the entries in whose texts every word of ``text`` is found."""
    wanted = text.lower().split()
    found = {name for name, words in texts.items() if all(word in " ".join(words).lower() for word in wanted)}
    if not found:
        raise UnknownName.of(kind, text, texts, listing=f"kvplan {kind} list")
    return found


def attending(rows: list[ModelRow], kinds: Sequence[str]) -> list[ModelRow]:
    """Rows with such attention, or with layers of this kind: all of the kinds that are asked for."""
    attention = (word.lower() for word in ATTENTION_KINDS)
    known = list(dict.fromkeys([*attention, *LAYER_KINDS, *(kind for row in rows for kind in layer_kinds(row))]))
    wanted = {known_word("attention kind", kind, known) for kind in kinds}
    return [row for row in rows if wanted <= _attention_words(row)]


def _attention_words(row: ModelRow) -> set[str]:
    kinds = set(layer_kinds(row))
    return {word.lower() for word in row.attention} | kinds | ({"mamba"} if kinds & {"mamba1", "mamba2"} else set())


def billions(text: str) -> float:
    """``8B``, ``500M``, ``1.2T`` as thousands of millions, which a bare number is too."""
    word = text.strip().lower()
    number, unit = (word[:-1], _BILLIONS[word[-1]]) if word[-1:] in _BILLIONS else (word, 1.0)
    if not (number.isascii() and number.replace(".", "", 1).isdigit()):
        raise InputError(f"--max-parameters must look like 8B or 500M (it is {shorten(text)!r})")
    return float(number) * unit


def of_family(rows: list[ModelRow], family: str) -> list[ModelRow]:
    """Rows of a family or a model_type by its whole name, else by a part of the family's."""
    wanted = family.lower()
    found = [row for row in rows if wanted in (row.family.lower(), row.model.model_type.lower())]
    part = _squeezed(wanted)
    found = found or [row for row in rows if part and part in _squeezed(row.family)]
    if not found:
        known = sorted({row.family for row in rows} | {row.model.model_type for row in rows})
        raise UnknownName.of("family", family, known, listing="kvplan model list --families")
    return found


def _squeezed(text: str) -> str:
    """``Qwen 2.5`` and ``qwen2.5`` are the same family."""
    return "".join(character for character in text.lower() if character.isalnum() or character == ".")


def least_hbm_bytes(text: str) -> float:
    """``80GB``, ``24GiB``; a bare number is GiB."""
    if text.isascii() and text.strip().replace(".", "", 1).isdigit():
        return gib(float(text))
    try:
        return float(parse_bytes(text))
    except InputError:
        raise InputError(f"--min-hbm must look like 80GB, 48GiB or 48 (it is {shorten(text)!r})") from None
