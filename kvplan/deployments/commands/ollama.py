"""``ollama serve``, which is told by environment variables, and ``ollama run MODEL``.

``OLLAMA_CONTEXT_LENGTH`` is for each request, and llama-server gets it ``OLLAMA_NUM_PARALLEL`` times. Variables of
llama-server that Ollama does not set itself are inherited by every runner.
Source: envconfig/config.go, docs/faq.mdx, docs/context-length.mdx and llm/llama_server.go of ollama 0.30 to 0.33.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvplan.deployments.argv import Arguments, Word
from kvplan.deployments.commands.flag_history import IGNORED_NAMES
from kvplan.deployments.commands.llama_cpp import setting_of_variable, switch_value
from kvplan.deployments.commands.llama_cpp_meaning import derived_settings
from kvplan.deployments.found import Setting, Unresolved

_COUNTS = {
    "OLLAMA_CONTEXT_LENGTH": "max_model_len",
    "OLLAMA_NUM_PARALLEL": "parallel",
    "OLLAMA_MAX_LOADED_MODELS": "runners",
    "OLLAMA_GPU_OVERHEAD": "gpu_overhead_bytes",
}
"""0 is "as Ollama thinks fit", which is what it does without them."""
_WORDS = {"OLLAMA_KV_CACHE_TYPE": "kv_cache_dtype", "OLLAMA_FLASH_ATTENTION": "flash_attention"}
_NOT_READ = frozenset(
    """OLLAMA_GPU_LAYERS OLLAMA_NUM_GPU_LAYERS OLLAMA_N_GPU_LAYERS OLLAMA_NUM_CTX OLLAMA_CTX_SIZE OLLAMA_NUM_THREADS
    OLLAMA_CONTEXT_SIZE OLLAMA_MAX_CONTEXT OLLAMA_MAX_CONTEXT_LENGTH OLLAMA_NUM_THREAD OLLAMA_NUM_BATCH
    OLLAMA_BATCH_SIZE OLLAMA_MAX_MODELS OLLAMA_MEMORY_LIMIT OLLAMA_GPU_MEMORY OLLAMA_QUANTIZATION""".split()
)
"""Variables that people set and no release has read: what they mean is a parameter of the model or of the request."""
_OWN_ARGUMENTS = {"ctx_size", "parallel", "model_file", "hf_repo", "hf_file", "docker_repo", "model_url",
                  "cache_type_k", "cache_type_v", "flash_attention", "ubatch_tokens", "batch_size_tokens",
                  "models_preset", "models_dir", "models_max"}  # fmt: skip
"""What Ollama tells its runners itself, whatever is inherited."""
_IMAGE = re.compile(r"(?:^|/)ollama/ollama(?::([\w.+-]+))?(?:@sha256:[0-9a-f]+)?$")
_RELEASE = re.compile(r"^v?(\d+\.\d+\.\d+)(?=$|[-+_])")
_VERBS = ("serve", "start", "run")


class OllamaCommand:
    """Ollama's server."""

    engine = "ollama"
    starts_bare = True
    """It is started without any argument."""
    words = re.compile(
        r"(?<![\w./~-])(?:[\w.~-]*/(?:[\w.~-]+/)*)?ollama(?:\.exe)?[ \t]+(?:serve|start|run)(?=[\s\"'\\;&|)]|$)"
        r"|(?<![\w/.-])(?:[\w.-]+(?::\d+)?/)*ollama/ollama(?::[\w.${}:-]+)?(?:@sha256:[0-9a-f]+)?(?=[\s\\\"']|$)"
    )
    traces = (b"ollama", b"OLLAMA_")

    def is_started_by(self, image: str) -> bool:
        return _IMAGE.search(image) is not None

    def version_of(self, image: str) -> str | None:
        named = _IMAGE.search(image)
        release = _RELEASE.match(named[1] or "") if named else None
        return release[1] if release else None

    def flags_from(self, words: Sequence[str]) -> int | None:
        for index, word in enumerate(words[:-1]):
            if word.rsplit("/", 1)[-1] in ("ollama", "ollama.exe") and words[index + 1] in _VERBS:
                return index + 1
        return None

    def read(self, words: Sequence[Word], entry: str = "") -> Arguments:
        """The model of ``ollama run``; ``serve`` has no arguments, so that it is kept itself."""
        found = Arguments()
        verb, rest = entry.split()[-1:], list(words)
        if rest and rest[0].text in _VERBS:
            found.put("subcommand", rest[0].text, rest[0])
            verb, rest = [rest[0].text], rest[1:]
        model = next((word for word in rest if not word.text.startswith("-")), None)
        if verb == ["run"] and model is not None:
            found.put("model", model.text, model)
        return found

    def of_environment(self, environment: dict[str, Word]) -> list[Setting]:
        found: list[Setting] = []
        for variable, word in environment.items():
            text = word.text.strip().strip("\"'")
            if not text or word.unresolved is not None:
                continue
            name = _COUNTS.get(variable)
            if name is not None and re.fullmatch(r"\d+", text) and int(text):
                found.append(Setting(name, text, word.place))
            elif variable in _WORDS:
                found.append(Setting(_WORDS[variable], text.lower(), word.place))
            elif variable == "OLLAMA_SCHED_SPREAD":
                found.append(Setting("sched_spread", switch_value(text) is not False, word.place))
            else:
                found += [one for one in setting_of_variable(variable, word) if one.name not in _OWN_ARGUMENTS]
        return [*found, *_not_read(environment)]

    def derived(self, settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
        """Tokens of all slots together, beside what llama-server's own arguments come to."""
        inherited = {name: item for name, item in settings.items() if name != "kv_cache_dtype"}
        found, unresolved = derived_settings(inherited)
        each, slots = settings.get("max_model_len"), settings.get("parallel")
        counts = [str(item.value) for item in (each, slots) if item is not None]
        if each is not None and len(counts) == 2 and all(re.fullmatch(r"\d{1,12}", count) for count in counts):
            found.append(Setting("ctx_size", int(counts[0]) * int(counts[1]), each.place))
        return found, unresolved


def _not_read(environment: dict[str, Word]) -> list[Setting]:
    """Names that look like Ollama's and are not, beside those that KV401 knows."""
    names = tuple(sorted(_NOT_READ & set(environment) - IGNORED_NAMES))
    return [Setting("ignored_variables", names, environment[names[0]].place)] if names else []


COMMAND = OllamaCommand()
