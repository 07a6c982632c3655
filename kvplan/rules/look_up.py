"""A found deployment -> a Context: everything looked up that can be, and a Problem for everything that can't."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from kvplan.assess import build_frame, with_compute_device
from kvplan.assess.frame import Frame
from kvplan.deployments.as_words import Translated, translate, weights_of
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.names.quantized import LEAST, MOST
from kvplan.deployments.resolve import DEFAULT_CONTEXT_TOKENS, resolve_on
from kvplan.deployments.words import AUTO_LENGTHS, Words
from kvplan.domain.host import Host
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import NOT_QUANTIZED
from kvplan.errors import CannotJudge, InputError, KvplanError
from kvplan.rules.context import LENGTHENING, Context, Judged, Problem
from kvplan.rules.judging import judged_deployment
from kvplan.rules.kv_types import missing_kernel
from kvplan.rules.llama_server import LlamaServer
from kvplan.rules.named import settings_named_in
from kvplan.rules.spread import Spread, spread_of
from kvplan.rules.surroundings import contained, several
from kvplan.rules.unresolved import unresolved_problems
from kvplan.rules.which_engine import which_engine
from kvplan.rules.which_host import Around, NoHost, which_host
from kvplan.rules.which_model import which_model

_FORMS_WITH_PATHS = ("kvplan", "vllm-config")
MOST_NODES = 1024
"""Hosts that one replica is judged over."""
T = TypeVar("T")


def look_up(found: FoundDeployment, around: Around) -> Context:
    """Everything about one found deployment. Paths that its file names begin in the folder of ``around``."""
    return _LookUp(found, around).context()


class _LookUp:
    """One look-up; ``problems`` grows, and ``stopped`` says that a verdict would be a guess."""

    def __init__(self, found: FoundDeployment, around: Around) -> None:
        folder = around.folder if found.form in _FORMS_WITH_PATHS else ""
        self.found, self.around = found, replace(around, folder=folder)
        self.translated: Translated = translate(found)
        self.problems: list[Problem] = []
        self.spread: Spread | None = None
        self.declared: Model | None = None
        self.stopped = False
        self.by_name: str | None = None
        self.llama = LlamaServer.of(found, self.translated, around.catalog)

    def context(self) -> Context:
        self._settings()
        model = self._model()
        host = self._host()
        words = self._engine(host)
        judged = None
        if model is not None and host is not None and not self.stopped:
            judged = self._judged(words, model, host)
        lengths = self.spread.lengths if self.spread is not None else None
        return Context(
            self.found, self.translated, tuple(self.problems), model, host, judged, lengths, self.declared,
            self.around.mates,
        )  # fmt: skip

    def _problem(self, rule: str, level: str, message: str, *settings: str, remedy: str | None = None) -> None:
        self.problems.append(Problem(rule, level, message, self.found.where(*settings), remedy))

    def _stop(self, rule: str, level: str, message: str, *settings: str, remedy: str | None = None) -> None:
        self._problem(rule, level, message, *settings, remedy=remedy)
        self.stopped = True

    def _settings(self) -> None:
        """What the file leaves open, and what it says wrongly."""
        self.problems += unresolved_problems(self.found.unresolved)
        self.stopped = any(item.stops and item.name != "max_model_len" for item in self.found.unresolved)
        for complaint in (*self.found.complaints, *self.translated.complaints):
            self.problems.append(
                Problem("KV416", complaint.level, complaint.message, complaint.place, complaint.remedy)
            )
            self.stopped = self.stopped or complaint.stops
        if self.llama is not None:
            self.problems += self.llama.problems()
        try:
            self.spread = spread_of(self.translated.values.get("context"), self.around.folder)
        except InputError as error:
            self._stop("KV416", "fail", str(error), "context", remedy=error.help)

    def _model(self) -> Model | None:
        name = str(self.translated.values.get("model", ""))
        if not name:
            if not any(item.name in ("model", "arguments") and item.stops for item in self.found.unresolved):
                self._stop("KV412", "unknown", "no model is named", remedy="name it in the file")
            return None
        model = self._named(name)
        self.declared = model
        if model is None:
            return None
        if self.translated.is_on("disable_hybrid_kv_cache_manager") or "hybrid_manager_off_by" in self.found.settings:
            model = model._replace(kv=tuple(layers._replace(window_tokens=None) for layers in model.kv))
        return model

    def _named(self, name: str) -> Model | None:
        if self.llama is not None:
            return self._kept(self.llama.model(self.around.facts.model(name) or name))
        chosen = which_model(self.found, name, self.around)
        self.problems += [chosen.problem] if chosen.problem is not None else []
        self.stopped, self.by_name = self.stopped or chosen.model is None, chosen.weights
        return chosen.model

    def _kept(self, found: T | Problem) -> T | None:
        """What was found; a problem instead stops the verdict."""
        if isinstance(found, Problem):
            self.problems.append(found)
            self.stopped = True
            return None
        return found

    def _host(self) -> Host | None:
        try:
            host = which_host(self.found, self.translated, self.around)
        except NoHost as error:
            self._stop("KV411", "unknown", error.message, *error.settings, remedy=error.remedy)
            return None
        return self._limited(host)

    def _limited(self, host: Host) -> Host | None:
        values = self.translated.values
        nodes = self._nodes()
        if nodes > MOST_NODES:
            self._stop("KV416", "fail", f"one replica over {nodes:,} hosts can't be", "nodes")
            return None
        asked = int(self.translated.number("gpus") or 0)
        if asked > host.gpus:
            self._stop("KV301", "fail", f"asks for {asked} GPUs, and {host.name} has {host.gpus}", "gpus")
            return None
        limits = [str(values[name]) if name in values else None for name in ("cpu_limit", "memory_limit")]
        try:
            return several(contained(with_compute_device(host), limits[0], limits[1]), nodes)
        except InputError as error:
            self._stop("KV416", "fail", error.message, "memory_limit", "cpu_limit")
        except CannotJudge as error:
            self._stop("KV411", "unknown", error.message, "host")
        return None

    def _nodes(self) -> int:
        """Hosts that one replica spreads over; with a count of local replicas one host is judged by itself."""
        return 1 if "dp_local" in self.translated.values else max(int(self.translated.number("nodes") or 1), 1)

    def _engine(self, host: Host | None) -> Words:
        chosen = which_engine(self.found, self.translated.words, host)
        if chosen.problem is not None:
            self.problems.append(chosen.problem)
        self.stopped = self.stopped or chosen.stops
        return chosen.words

    def _judged(self, words: Words, model: Model, host: Host) -> Judged | None:
        values = self.translated.values
        weights = self._weights(words, model)
        length, by = self._length(words, model) if self.llama is None else self.llama.length(model, host)
        if any(name in values for name in LENGTHENING) and length is not None:
            model = model._replace(max_context_tokens=max(length, model.max_context_tokens or 0))
        limit = model.max_context_tokens
        capped = min(length, limit) if length is not None and limit is not None else length
        context = self._context(capped, limit)
        gpus = self._gpus(words, host)
        changed = words._replace(weights=weights, max_model_len=None, context=context, gpus=gpus)
        if isinstance(context, int) and not _holds(words, context):
            changed = changed._replace(prompt_tokens=None, output_tokens=None)
        if self.llama is not None:
            server = changed._replace(gpus=words.gpus)
            return None if self.stopped else self._kept(self.llama.judged(server, model, host, (capped, by)))
        missing = missing_kernel(changed, model, host)
        if missing is not None:
            self._stop("KV415", missing[0], missing[1], "kv_cache_dtype", remedy=missing[2])
        if self.stopped:
            return None
        try:
            return self._framed(build_frame(resolve_on(changed, model, host)), model, capped, by)
        except KvplanError as error:
            level = "unknown" if isinstance(error, CannotJudge) else "fail"
            self._stop("KV416", level, error.message, *settings_named_in(error.message), remedy=error.help)
            return None

    def _framed(self, frame: Frame, model: Model, length: int | None, by: str) -> Judged | None:
        if frame.deployment.layout.dp > 1 and model.experts is not None and "dp" in self.translated.values:
            message = "experts spread over data-parallel ranks are not modelled, so weights for each GPU are not known"
            self._stop("KV417", "unknown", message, "dp")
            return None
        judged = judged_deployment(frame, self.translated, length, by)
        if self.by_name is None or judged.share is None:
            return judged
        return replace(judged, share=judged.share.with_weights(LEAST, MOST))

    def _weights(self, words: Words, model: Model) -> str | None:
        """``--quantization`` of a 16-bit checkpoint makes other weights; of a quantized one it only confirms them."""
        quantization = str(self.translated.values.get("quantization", ""))
        if str(self.translated.values.get("dtype", "")).lower() in ("float32", "float", "fp32"):
            self._stop("KV417", "unknown", "32-bit weights and caches are not modelled for serving", "dtype")
        if self.by_name is not None and not words.weights:
            return self.by_name
        if words.weights or not quantization or model.dtype not in NOT_QUANTIZED:
            return words.weights
        scheme = weights_of(quantization)
        if scheme is None:
            message = f"quantization {quantization[:40]!r} of a {model.dtype} checkpoint is not modelled"
            self._stop("KV417", "unknown", message, "quantization")
        return scheme

    def _length(self, words: Words, model: Model) -> tuple[int | None, str]:
        """The longest request that the engine promises to hold, and what says so."""
        given = self.translated.values.get("max_model_len")
        if given is not None:
            return (None, "max_model_len") if given in AUTO_LENGTHS else (int(str(given)), "max_model_len")
        if any(item.name == "max_model_len" for item in self.found.unresolved):
            return None, "max_model_len"
        if words.context is not None:
            return self.spread.lengths.longest_tokens if self.spread else int(words.context), "context"
        if self.found.engine:
            return model.max_context_tokens, "model"
        return min(model.max_context_tokens or DEFAULT_CONTEXT_TOKENS, DEFAULT_CONTEXT_TOKENS), "model"

    def _context(self, length: int | None, limit: int | None) -> int | str:
        if self.spread is not None:
            return self.spread.context(limit)
        stated = self.translated.values.get("context")
        context = int(str(stated)) if stated is not None else length or DEFAULT_CONTEXT_TOKENS
        return min(context, limit) if limit is not None else context

    def _gpus(self, words: Words, host: Host) -> int | None:
        """GPUs in use; vLLM takes as many as its ranks unless the container has more."""
        nodes = self._nodes()
        if words.gpus:
            return words.gpus * nodes
        if not self.found.engine:
            return None
        return max(1, min((words.tp or 1) * (words.pp or 1) * (words.dp or 1), host.gpus))


def _holds(words: Words, context: int) -> bool:
    """Whether prompt and output are inside a context that was cut to the model's limit; KV413 has said that."""
    return int(words.prompt_tokens or 0) + int(words.output_tokens or 0) <= context
