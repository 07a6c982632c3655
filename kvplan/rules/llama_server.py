"""A llama-server that a file starts, judged: its model by name, its slots, and what it leaves to the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvplan.assess.frame import Frame
from kvplan.catalog.models import load_model
from kvplan.deployments.as_words import Translated
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.errors import CannotJudge, KvplanError
from kvplan.rules.context import Judged, Problem
from kvplan.rules.gguf_models import OWN_MIX, Named, is_llama_server, named_model, weights_of_name
from kvplan.rules.judging import judged_deployment
from kvplan.rules.llama_placement import (
    Placement,
    frame_of_server,
    placement_of,
    type_fault,
    type_without_effect,
    words_of_server,
)
from kvplan.rules.llama_slots import Slots, slots_of
from kvplan.rules.locking import locking_remedy
from kvplan.rules.named import settings_named_in

_NO_EFFECT = "KV416"
_ADVICE = "name the model of a catalog, or write its geometry into one: kvplan model import"


class LlamaServer:
    """One look-up of a deployment under llama.cpp or Ollama."""

    def __init__(self, found: FoundDeployment, translated: Translated, catalog: tuple[str, ...]) -> None:
        self._found, self._translated, self._catalog = found, translated, catalog
        self._engine = found.engine
        self._weights: str | None = None
        self._exact = True

    @classmethod
    def of(cls, found: FoundDeployment, translated: Translated, catalog: tuple[str, ...]) -> LlamaServer | None:
        """None where another engine is started."""
        return cls(found, translated, catalog) if is_llama_server(found.engine) else None

    def problems(self) -> Iterator[Problem]:
        """What the file says to no effect."""
        unused = type_without_effect(self._engine, self._translated)
        if unused is not None:
            remedy = "OLLAMA_FLASH_ATTENTION=1, and f16, q8_0 or q4_0"
            yield Problem(_NO_EFFECT, "warn", unused, self._found.where("kv_cache_dtype"), remedy)

    def model(self, text: str) -> Model | Problem:
        """The model that the name stands for, or the question that it leaves open."""
        named = named_model(self._engine, text, self._catalog)
        if isinstance(named, str):
            return self._question(named, locking_remedy(self._found, text))
        model = load_model(named.catalog_name, self._catalog)
        scheme, question = weights_of_name(named, model, self._engine)
        if question is not None:
            return self._question(question)
        self._weights = scheme
        self._exact = _is_exact(named)
        return model

    def length(self, model: Model, host: Host) -> tuple[int | None, str]:
        """The longest request, and what says so, in KV102's words."""
        slots = self._slots(model, host)
        return slots.each_tokens, "model" if slots.by == "model" else "max_model_len"

    def judged(self, words: Words, model: Model, host: Host, length: tuple[int | None, str]) -> Judged | Problem:
        """The whole judgement, or what keeps the server from starting."""
        fault = type_fault(self._engine, self._translated, official="engine" in self._found.settings)
        if fault is not None:
            return Problem("KV415", fault.level, fault.message, self._found.where(fault.setting))
        slots, host = self._slots(model, host), self._left(host)
        changed = words._replace(weights=words.weights or self._weights)
        try:
            deployment = resolve_on(words_of_server(changed, self._translated, model, host, slots), model, host)
            placement = placement_of(self._engine, self._translated, deployment, slots)
            return self._judged(frame_of_server(deployment, self._translated, placement), placement, *length)
        except KvplanError as error:
            level = "unknown" if isinstance(error, CannotJudge) else "fail"
            where = self._found.where(*settings_named_in(error.message))
            return Problem("KV416", level, error.message, where, error.help)

    def _judged(self, frame: Frame, placement: Placement, length: int | None, length_by: str) -> Judged:
        judged = judged_deployment(frame, self._translated, length, length_by, placement)
        if self._exact or judged.share is None:
            return judged
        return replace(judged, share=judged.share.with_weights(*OWN_MIX))

    def _slots(self, model: Model, host: Host) -> Slots:
        return slots_of(self._engine, self._translated, host, model.max_context_tokens)

    def _left(self, host: Host) -> Host:
        """The host without what ``OLLAMA_GPU_OVERHEAD`` keeps free on each GPU."""
        kept = self._translated.number("gpu_overhead_bytes") or 0.0
        if not kept or host.gpu is None or self._engine != "ollama":
            return host
        return host._replace(
            gpu=host.gpu._replace(hbm_bytes=host.gpu.hbm_bytes.map(lambda value: max(value - kept, 0.0)))
        )

    def _question(self, text: str, remedy: str | None = None) -> Problem:
        return Problem("KV412", "unknown", text, self._found.where("model"), remedy or _ADVICE)


def _is_exact(named: Named) -> bool:
    return named.gguf is None or named.gguf.exact
