"""The words behind an engine's name -> settings. Only these are flags: what stands before belongs to others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kvplan.deployments.flag_table import FlagTable
from kvplan.deployments.found import Complaint, Place, Setting, Unresolved, Value
from kvplan.deployments.json_values import add_entry
from kvplan.deployments.unknown_flags import complaint_of
from kvplan.units import shorten

_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command line. ``unresolved`` says why its text is not what the engine will see."""

    text: str
    place: Place
    unresolved: str | None = None
    optional: bool = False
    """It stands for words that are usually none, such as ``"$@"``."""
    cut: bool = False
    """It stands for the rest of a command that is too long to be read."""
    branch: str | None = None
    """Why it may not be there at all: only one branch of a script adds it."""


@dataclass(slots=True)
class Arguments:
    """What the words say. Filled as they are read; as in argparse the last of equal flags holds."""

    settings: dict[str, Setting] = field(default_factory=dict)
    unresolved: list[Unresolved] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    flags: dict[str, Place] = field(default_factory=dict)
    """Every long flag that was met, in full and without dashes, whether or not it fills a setting."""
    files: tuple[str, ...] = ()
    """Other files that some of this was read from."""

    def met(self, table: FlagTable, written: str, flag: str | None, wants: bool | None, place: Place) -> None:
        """Keep a flag's name; doubt one that the engine does not have."""
        if flag is not None:
            self.flags.setdefault(flag.removeprefix("no-"), place)
        doubt = complaint_of(table, written, flag, place) if wants is None else None
        if doubt is not None:
            self.complaints.append(doubt)

    def put(self, name: str, value: Value, word: Word) -> None:
        """Keep a setting, or say why it has no value."""
        reason = word.unresolved or word.branch
        if reason is not None:
            self.settings.pop(name, None)
            self.unresolved.append(Unresolved(name, shorten(word.text), word.place, reason))
            return
        self.unresolved = [item for item in self.unresolved if item.name != name]
        self.settings[name] = Setting(name, value, word.place)


def read_arguments(words: Sequence[Word], table: FlagTable, *, positional_model: bool = False) -> Arguments:
    """Settings of a command with this engine's flags.

    With ``positional_model`` the first plain word is the model: ``vllm serve MODEL``.
    """
    found = Arguments()
    entries: dict[str, _Entries] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word.cut:
            advice = "split the file, or move the flags to the front"
            found.complaints.append(Complaint(str(word.unresolved), word.place, advice, stops=True))
        elif word.unresolved is not None and word.text.startswith("-") and "=" not in word.text:
            found.unresolved.append(_extra_words(word))
        elif word.text.startswith("-") and len(word.text) > 1 and not _is_number(word.text):
            index = _read_flag(table, words, index, found, entries)
        elif word.unresolved is not None and (word.optional or not positional_model or "model" in found.settings):
            found.unresolved.append(_extra_words(word))
        elif positional_model and "model" not in found.settings and not _named(found, "model"):
            found.put("model", word.text, word)
    for flag, parts in entries.items():
        found.put(table.settings[flag], json.dumps(parts.value), replace(parts.word, unresolved=parts.unresolved))
    return found


@dataclass(slots=True)
class _Entries:
    """The object that ``--flag.key value`` words make, and the first of those words."""

    word: Word
    value: dict[str, Any] = field(default_factory=dict)
    unresolved: str | None = None


def _read_flag(
    table: FlagTable, words: Sequence[Word], index: int, found: Arguments, entries: dict[str, _Entries]
) -> int:
    """The flag before ``index`` with its value; returns where to go on."""
    word = words[index - 1]
    written, equals, text = word.text.partition("=")
    flag = table.named(written)
    wants = table.takes_value(flag) if flag else None
    found.met(table, written, flag, wants, word.place)
    values: list[Word] = [replace(word, text=text)] if equals else []
    if not equals and wants is False:
        if index < len(words) and words[index].text.lower() in _TRUTHS:
            values.append(words[index])
            index += 1
    elif not equals:
        several = flag in table.several
        while index < len(words) and _is_value(words[index]) and (several or not values):
            values.append(words[index])
            index += 1
    if flag is None or flag.removeprefix("no-") not in table.settings:
        return index
    if "." in written:
        _add_entry(entries.setdefault(flag, _Entries(word)), written, values, found)
    else:
        _put(found, table, flag, values, word)
    return index


def _add_entry(entries: _Entries, written: str, values: list[Word], found: Arguments) -> None:
    """One entry of a JSON flag. As in vLLM the entries together take the place of a whole value given elsewhere."""
    if not values:
        found.complaints.append(Complaint(f"{written} has no value", entries.word.place, stops=True))
        return
    entries.unresolved = entries.unresolved or values[0].unresolved
    add_entry(entries.value, written, values[0].text)


def _put(found: Arguments, table: FlagTable, flag: str, values: list[Word], word: Word) -> None:
    name = table.settings.get(flag.removeprefix("no-"), "")
    if table.takes_value(flag) is False:
        said = _TRUTHS.get(values[0].text.lower(), True) if values else True
        found.put(name, said is not flag.startswith("no-"), replace(word, unresolved=None))
    elif not values:
        found.complaints.append(Complaint(f"--{flag} has no value", word.place, stops=True))
    elif name == "config":
        found.unresolved.append(
            Unresolved("config", values[0].text, word.place, f"more flags come from {shorten(values[0].text)}")
        )
    else:
        unresolved = next((value for value in values if value.unresolved is not None), values[0])
        found.put(name, " ".join(value.text for value in values), replace(values[0], unresolved=unresolved.unresolved))


def _extra_words(word: Word) -> Unresolved:
    return Unresolved("arguments", shorten(word.text), word.place, str(word.unresolved), stops=not word.optional)


def _named(found: Arguments, name: str) -> bool:
    return any(item.name == name for item in found.unresolved)


def _is_value(word: Word) -> bool:
    return not word.cut and not word.text.startswith("-") or _is_number(word.text) or word.text == "-"


def _is_number(text: str) -> bool:
    return text[:1] == "-" and text[1:2].isdigit()
