"""A preset file of llama-server's router (``--models-preset``): INI, one section a model.

``[*]`` holds for all of them, a section goes before it, and the router's own arguments before both. Keys are long
names, short ones or environment variables. Source: tools/server/README.md of llama.cpp, "Model presets".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands.llama_cpp import renamed, setting_of_variable, switch_value
from kvplan.deployments.commands.llama_cpp_flags import PRESET_ONLY, TABLE
from kvplan.deployments.found import Complaint, FoundDeployment, Setting
from kvplan.deployments.interface import Reading, Source, Unreadable
from kvplan.deployments.launch import Launch, deployment_of
from kvplan.units import shorten

_SECTION = re.compile(r"^[ \t]*\[([^\]\n]+)\][ \t]*(?:[#;].*)?$")
_ENTRY = re.compile(r"^[ \t]*([A-Za-z_-][\w.-]*)[ \t]*=(.*)$")
_COMMENT = re.compile(r"(?:^|\s)[#;].*$")
_OWN = {"model", "hf-repo", "ctx-size", "gpu-layers", "parallel", "cache-type-k", "mmproj", "batch-size"}
"""Arguments of which a file has at least one to be such a file."""
_PLACEHOLDER = re.compile(r"\$\{|\{\{|^\$\w|<[A-Z_]+>")
MOST_SECTIONS = 2000


@dataclass(slots=True)
class _Section:
    name: str
    line: int
    entries: dict[str, Word] = field(default_factory=dict)
    """Key as written -> its value."""


class LlamaPresets:
    """``models.ini`` or ``presets.ini``."""

    name = "llama-presets"
    order = 26
    names = ("*.ini",)
    traces = (b"ctx-size", b"n-gpu-layers", b"hf-repo", b".gguf")

    def recognises(self, source: Source) -> bool:
        if source.suffix not in (".ini", ".conf", "") or "[" not in source.text or "=" not in source.text:
            return False
        sections = _sections(source)
        known = {_flag(key) for section in sections for key in section.entries} & TABLE.flags
        keys = [key for section in sections for key in section.entries]
        ours = sum(1 for key in keys if _is_known(key))
        named = any(section.name for section in sections)
        return (
            named and bool({TABLE.settings.get(flag, "") for flag in known} & _own_settings()) and ours * 2 > len(keys)
        )

    def read(self, source: Source) -> Reading:
        sections = _sections(source)
        shared = [section for section in sections if section.name in ("*", "")]
        models = [section for section in sections if section.name not in ("*", "")]
        found = [_deployment(section, shared, len(models), source) for section in models[:MOST_SECTIONS]]
        message = f"not read further: more than {MOST_SECTIONS:,} models"
        rest = [
            Unreadable(source.at(one.line), message, "split the file", "fail") for one in models[MOST_SECTIONS:][:1]
        ]
        return Reading(found, rest)


def _own_settings() -> set[str]:
    return {TABLE.settings[flag] for flag in _OWN}


def _sections(source: Source) -> list[_Section]:
    """Entries before the first section are in one without a name."""
    found = [_Section("", 1)]
    for number, line in enumerate(source.text.split("\n"), start=1):
        section, entry = _SECTION.match(line), _ENTRY.match(line)
        if section is not None:
            found.append(_Section(section[1].strip(), number))
        elif entry is not None and not line.lstrip().startswith(("#", ";")):
            text = _COMMENT.sub("", entry[2].strip()).strip()
            unresolved = "a placeholder is filled in later" if _PLACEHOLDER.search(text) else None
            found[-1].entries[entry[1]] = Word(text, source.at(number), unresolved)
    return found


def _flag(key: str) -> str:
    """The argument that a key stands for: ``c``, ``ctx_size`` and ``--ctx-size`` are one."""
    bare = key.lstrip("-")
    if bare in TABLE.short:
        return TABLE.short[bare]
    return bare.replace("_", "-")


def _is_known(key: str) -> bool:
    flag = _flag(key)
    return (
        key.startswith("LLAMA_ARG_") or key == "version" or flag in PRESET_ONLY or TABLE.takes_value(flag) is not None
    )


def _deployment(section: _Section, shared: list[_Section], models: int, source: Source) -> FoundDeployment:
    arguments = Arguments()
    for part in (*shared, section):
        for key, word in part.entries.items():
            _put(arguments, key, word)
    named = any(name in arguments.settings for name in ("model_file", "hf_repo", "docker_repo", "model_url"))
    if not named and not any(item.name in ("model_file", "hf_repo") for item in arguments.unresolved):
        arguments.put("hf_repo" if "/" in section.name else "model", section.name, Word("", source.at(section.line)))
    surroundings = [Setting("preset_models", models, source.at(section.line))] if models > 1 else []
    return deployment_of(
        Launch("llama.cpp", renamed(arguments), source.at(section.line)),
        name=section.name, form=FORM.name, surroundings=surroundings,
    )  # fmt: skip


def _put(arguments: Arguments, key: str, word: Word) -> None:
    if key.startswith("LLAMA_ARG_"):
        for setting in setting_of_variable(key, word):
            arguments.put(setting.name, setting.value, word)
        return
    flag = _flag(key)
    name = TABLE.settings.get(flag.removeprefix("no-"), TABLE.settings.get(flag))
    if name is None:
        if TABLE.takes_value(flag) is None and flag not in PRESET_ONLY and key != "version":
            message = f"{shorten(key)} is no argument of llama-server that kvplan knows"
            arguments.complaints.append(Complaint(message, word.place, level="warn"))
        return
    if TABLE.takes_value(flag) is not False:
        arguments.put(name, word.text, word)
    else:
        value = switch_value(word.text)
        if value is not None or word.unresolved is not None:
            arguments.put(name, bool(value) is not flag.startswith("no-"), word)


FORM = LlamaPresets()
