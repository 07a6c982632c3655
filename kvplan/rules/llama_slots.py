"""Slots of llama-server: how many, and how many tokens each of them may take.

``-c`` counts the tokens of all slots. Ollama's length is that of one request, and it asks its runner for as many times
``OLLAMA_NUM_PARALLEL``. Source: llama.cpp PRs 16736 (four slots that share one cache unless told otherwise, November
2025) and 16653 (``--fit``, ``-c 0`` by default, December 2025); docs/context-length.mdx of ollama 0.30 and later.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kvplan.deployments.as_words import Translated
from kvplan.domain.host import Host
from kvplan.engines import find_engine
from kvplan.engines.versions import release
from kvplan.errors import KvplanError
from kvplan.units import gib

AUTO_SLOTS_BUILD: Final = 6924
FIT_BUILD: Final = 7410
ALL_LAYERS_BUILD: Final = 6325
"""Since then (PR 15434, August 2025) all layers go to the GPU unless told otherwise; none before, Metal aside."""
_OLD_CONTEXT: Final = 4096
_BY_DEVICE: Final = ((gib(47), 262144), (gib(23), 32768), (0.0, 4096))
"""(GPU memory from which, Ollama's context): "24 GiB" and "48 GiB" cards report a little less."""


class Slots(NamedTuple):
    """What the server promises."""

    each_tokens: int | None
    """None where the server takes as many as fit, or the model's own limit."""
    slots: int
    unified: bool
    """They share one cache, so that one of them may take all of it."""
    by: str
    """What says so: a setting's name, ``default`` or ``model``."""

    @property
    def reserved(self) -> int:
        """Sequences of ``each_tokens`` whose cells are there from the start."""
        return 1 if self.unified else self.slots


def slots_of(engine: str, translated: Translated, host: Host | None = None, model_tokens: int | None = None) -> Slots:
    """Slots under llama-server's or Ollama's own defaults."""
    return (_of_ollama if engine == "ollama" else _of_llama_cpp)(translated, host, model_tokens)


def build_of(translated: Translated) -> int:
    """llama.cpp's build; the newest modelled one where the file names none, or one that is not known."""
    engine = find_engine("llama.cpp")
    version = (translated.words.engine or "").partition("@")[2] or engine.newest_version
    try:
        return release(version.strip().lower().removeprefix("b"))[0]
    except (KvplanError, IndexError):
        return int(engine.newest_version.removeprefix("b"))


def _of_llama_cpp(translated: Translated, host: Host | None, model_tokens: int | None) -> Slots:
    build = build_of(translated)
    asked, context = int(translated.number("parallel") or -1), int(translated.number("ctx_size") or 0)
    auto = asked < 1 and build >= AUTO_SLOTS_BUILD
    slots = asked if asked >= 1 else 4 if auto else 1
    unified = translated.is_on("kv_unified") or auto or slots == 1
    by = "ctx_size"
    if context <= 0:
        fits = build >= FIT_BUILD and str(translated.values.get("fit", "on")) != "off"
        if fits:
            return Slots(None, slots, unified, "default")
        context, by = (model_tokens or 0, "model") if "ctx_size" in translated.values else (_OLD_CONTEXT, "default")
    if context <= 0:
        return Slots(None, slots, unified, by)
    return Slots(context if unified else max(context // slots, 1), slots, unified, by)


def _of_ollama(translated: Translated, host: Host | None, model_tokens: int | None) -> Slots:
    slots = max(int(translated.number("parallel") or 1), 1)
    given = translated.values.get("max_model_len")
    length, by = (int(str(given)), "max_model_len") if given is not None and str(given).isdigit() else (0, "default")
    if not length:
        if host is None or host.gpu is None:
            return Slots(None, slots, slots == 1, by)
        device = 0.0 if host.gpu.kernel_class == "cpu" else host.gpu.hbm_bytes.best * host.gpus
        length = next(tokens for least, tokens in _BY_DEVICE if device >= least)
    return Slots(min(length, model_tokens or length), slots, slots == 1, by)
