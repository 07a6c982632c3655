"""An Ollama Modelfile: ``FROM`` and its parameters. The server's own settings stand elsewhere, in its environment.

Source: docs/modelfile.mdx of ollama: instructions in any case, ``#`` comments, texts in three quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Reading, Source
from kvplan.deployments.launch import Launch, deployment_of

_INSTRUCTION = re.compile(r"^[ \t]*([A-Za-z]+)[ \t]+(.*)$")
_OWN = {"from", "parameter", "template", "system", "adapter", "license", "message", "requires", "renderer", "parser"}
_DOCKER = {"run", "copy", "add", "cmd", "entrypoint", "workdir", "expose", "user", "volume", "arg", "env", "label",
           "shell", "healthcheck", "stopsignal", "onbuild", "maintainer"}  # fmt: skip
_PARAMETERS = {"num_ctx": "max_model_len", "num_gpu": "n_gpu_layers", "num_batch": "batch_size_tokens",
               "num_thread": "threads", "main_gpu": "main_gpu"}  # fmt: skip
_QUOTES = '"""'


class OllamaModelfile:
    """``Modelfile``."""

    name = "ollama-modelfile"
    order = 41
    names = ("modelfile*", "*.modelfile", "*-modelfile", "*_modelfile")
    traces = (b"FROM ", b"from ", b"PARAMETER")

    def recognises(self, source: Source) -> bool:
        words = [word for word, _, _ in _instructions(source)]
        if "from" not in words or _DOCKER & set(words):
            return False
        named = "modelfile" in source.name.lower()
        return named or (words[0] == "from" and set(words) <= _OWN and len(set(words)) > 1)

    def read(self, source: Source) -> Reading:
        return Reading([_deployment(source)])


def _deployment(source: Source) -> FoundDeployment:
    arguments, first = Arguments(), 1
    for word, text, line in _instructions(source):
        place = source.at(line)
        if word == "from" and "model" not in arguments.settings:
            first = line
            arguments.put("model", text, Word(text, place, _placeholder(text)))
        elif word == "parameter":
            key, _, value = text.partition(" ")
            value = value.strip().strip("\"'")
            name = _PARAMETERS.get(key.lower())
            if name is not None:
                arguments.put(name, value, Word(value, place, _placeholder(value)))
            elif key.lower() == "use_mmap":
                arguments.put("no_mmap", value.lower() == "false", Word(value, place))
    name = source.name if source.name.lower() != "modelfile" else source.folder.rsplit("/", 1)[-1] or "Modelfile"
    return deployment_of(Launch("ollama", arguments, source.at(first)), name=name, form=FORM.name)


def _placeholder(text: str) -> str | None:
    return "a placeholder is filled in later" if re.search(r"\$\{|\{\{|\$\w", text) else None


def _instructions(source: Source) -> Iterator[tuple[str, str, int]]:
    """(instruction in lower case, its text, line); texts in three quotes are passed over."""
    inside = False
    for number, line in enumerate(source.text.split("\n"), start=1):
        if inside:
            inside = line.count(_QUOTES) % 2 == 0
            continue
        match = _INSTRUCTION.match(line)
        inside = line.count(_QUOTES) % 2 == 1
        if match is not None and not line.lstrip().startswith("#"):
            yield match[1].lower(), match[2].strip(), number


FORM = OllamaModelfile()
