"""``kvplan kv``: what a model's KV cache is made of, and how many tokens a pool holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kvplan import __version__
from kvplan.assess import build_frame, numbers
from kvplan.assess.frame import Frame
from kvplan.assess.topology import topology_excuse
from kvplan.catalog.models import load_model
from kvplan.core.kv_cache import bounded_bytes, growing_bytes_per_token, sequence_bytes
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.deployment import Deployment, Layout
from kvplan.domain.kv_format import NATIVE_16_BIT, KvFormat
from kvplan.domain.model import KvLayers, Model
from kvplan.engines import find_engine
from kvplan.engines.kv_layout import KvLayout
from kvplan.errors import CannotJudge, InputError
from kvplan.results import kv_layouts
from kvplan.results.json_shapes import Json, gpu_memory_json, layout_json, whole
from kvplan.results.kv_layouts import NOWHERE
from kvplan.results.kv_pool import NO_GROWTH_LIMIT, KvPool, asked_bytes, pool_of
from kvplan.results.kv_predicted import Prediction, predict

SCHEMA = "kvplan.kv/1"
_NOTHING_SAID = Words()


@dataclass(frozen=True, slots=True)
class KvLayerBytes:
    """One kind of layer on one GPU, all its layers together."""

    kind: str
    layers: int
    bytes_per_token: float
    window_tokens: int | None
    bytes_per_sequence: float


@dataclass(frozen=True, slots=True)
class KvResult:
    """The answer of one ``kv``. Bytes are per GPU unless the name says otherwise."""

    deployment: Deployment
    kv_cache_dtype: str
    block_tokens: int
    kv_bytes_per_token: float
    """What one more token costs once every window is full."""
    kv_bytes_per_token_all_gpus: float
    kv_bytes_fixed_per_sequence: float
    """States and full windows."""
    kv_bytes_per_sequence: float
    layers: tuple[KvLayerBytes, ...]
    weight_bytes: float | None
    """None where the checkpoint does not tell how they are stored."""
    pool: KvPool | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """Rules of the engine's layout where settings or sources leave a choice."""
    predicted: Prediction | None = None
    """On a named host, where no pool was given: its ``pool`` is the one above."""

    @property
    def exit_code(self) -> int:
        """Always 0: nothing is judged."""
        return 0

    def to_json(self) -> Json:
        """The envelope ``kvplan.kv/1``."""
        deployment, pool = self.deployment, self.pool
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "model": deployment.model.name,
            "engine": {"name": deployment.engine.name, "version": deployment.engine.version},
            "layout": layout_json(deployment),
            "kv_cache_dtype": self.kv_cache_dtype,
            "block_tokens": self.block_tokens,
            "context_tokens": deployment.workload.context_tokens,
            "kv_bytes_per_token": whole(self.kv_bytes_per_token),
            "kv_bytes_per_token_all_gpus": whole(self.kv_bytes_per_token_all_gpus),
            "kv_bytes_fixed_per_sequence": whole(self.kv_bytes_fixed_per_sequence),
            "kv_bytes_per_sequence": whole(self.kv_bytes_per_sequence),
            "layers": [layer_json(row) for row in self.layers],
            "weight_bytes": whole(self.weight_bytes),
            "gpu_memory": None if self.predicted is None else gpu_memory_json(self.predicted.split),
            "pool": None if pool is None else {
                "pool_bytes": pool.pool_bytes, "blocks": pool.blocks, "tokens": pool.tokens,
                "max_concurrency": pool.max_concurrency, "log_line": pool.log_line,
            },
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }  # fmt: skip


def kv(words: Words, *, pool_gib: float | None = None, pool_bytes: int | None = None) -> KvResult:
    """What the KV cache of a model is made of. ``words.host`` matters to an engine whose layout depends on the card."""
    if not words.model:
        raise InputError("no model was named", help="--model NAME, e.g. llama3-8b, or a path to a config.json")
    wanted_bytes = asked_bytes(pool_gib, pool_bytes)
    engine = find_engine((words.engine or "generic").partition("@")[0])
    if engine.name != "generic" and not kv_layouts.lays_out(engine):
        raise CannotJudge(
            f"kvplan kv does not show the KV layout of engine {engine.name} yet",
            help="--engine generic shows the architecture itself; kvplan fit judges the engine's whole memory",
        )
    model = load_model(words.model, words.catalog, fetch=words.fetch)
    if engine.name == "generic":
        return kv_of(model, words, wanted_bytes)
    deployment, layout = kv_layouts.laid_out(model, words, wanted_bytes)
    if wanted_bytes is not None or not words.host:
        pool = None if layout.pool is None or wanted_bytes is None else KvPool(wanted_bytes, *layout.pool)
        return _as_laid_out(deployment, layout, pool)
    predicted = predict(model, words, deployment)
    answer = _as_laid_out(deployment, layout, predicted.pool)
    warnings = tuple(dict.fromkeys((*answer.warnings, *predicted.warnings)))
    return replace(answer, weight_bytes=predicted.split.weight_bytes, predicted=predicted, warnings=warnings)


def _as_laid_out(deployment: Deployment, layout: KvLayout, pool: KvPool | None) -> KvResult:
    replica = deployment.layout.tp * deployment.layout.pp
    return KvResult(
        deployment=deployment,
        kv_cache_dtype=layout.kv_cache_dtype,
        block_tokens=layout.block_tokens,
        kv_bytes_per_token=layout.bytes_per_token,
        kv_bytes_per_token_all_gpus=layout.bytes_per_token * replica,
        kv_bytes_fixed_per_sequence=layout.fixed_bytes_per_sequence,
        kv_bytes_per_sequence=layout.bytes_per_sequence,
        layers=tuple(KvLayerBytes(*row) for row in layout.layers),
        weight_bytes=_weight_bytes(deployment),
        pool=pool,
        warnings=_warnings(deployment),
        notes=layout.notes,
    )


def kv_of(model: Model, words: Words = _NOTHING_SAID, pool_bytes: int | None = None) -> KvResult:
    """The same for a model that is loaded, as engine ``generic`` has it."""
    frame = build_frame(_deployment(model, words))
    deployment = frame.deployment
    model, layout, policy = deployment.model, deployment.layout, frame.situation.policy
    kv_format = _format(frame)
    growths = numbers.kv_growths(model, kv_format, layout, policy)
    context = float(deployment.workload.context_tokens)
    return KvResult(
        deployment=deployment,
        kv_cache_dtype=kv_format.name,
        block_tokens=policy.block_tokens,
        kv_bytes_per_token=growing_bytes_per_token(growths),
        kv_bytes_per_token_all_gpus=growing_bytes_per_token(numbers.kv_growths(model, kv_format, Layout(), policy)),
        kv_bytes_fixed_per_sequence=bounded_bytes(growths, NO_GROWTH_LIMIT),
        kv_bytes_per_sequence=sequence_bytes(growths, context),
        layers=tuple(_layer(frame, item, kv_format) for item in model.kv),
        weight_bytes=_weight_bytes(deployment),
        pool=None if pool_bytes is None else pool_of(pool_bytes, growths, context, policy.block_tokens),
        warnings=_warnings(deployment),
    )


def _weight_bytes(deployment: Deployment) -> float | None:
    unsettled = deployment.model.weights_unsettled and not deployment.settings.weights
    return None if unsettled else numbers.weight_bytes(deployment).best


def layer_json(row: KvLayerBytes) -> Json:
    """One kind of layer."""
    return {
        "kind": row.kind,
        "layers": row.layers,
        "bytes_per_token": whole(row.bytes_per_token),
        "window_tokens": row.window_tokens,
        "bytes_per_sequence": whole(row.bytes_per_sequence),
    }


def _deployment(model: Model, words: Words) -> Deployment:
    generic = words._replace(engine=words.engine or "generic")
    deployment = resolve_on(generic, model, NOWHERE, weights_matter=False)
    excuse = topology_excuse(model, deployment.layout, deployment.layout.gpus)
    if excuse is not None:
        raise InputError(excuse.sentence, help="the layout is set by --tp, --pp and --dcp")
    return deployment


def _format(frame: Frame) -> KvFormat:
    """What --kv-cache-dtype names, else the 16 bits of the checkpoint under their own name."""
    if frame.resident_kernel is not None:
        return frame.resident_kernel.format
    native = NATIVE_16_BIT
    return native._replace(name="fp16") if frame.deployment.model.dtype == "fp16" else native


def _layer(frame: Frame, item: KvLayers, kv_format: KvFormat) -> KvLayerBytes:
    deployment, policy = frame.deployment, frame.situation.policy
    alone = numbers.kv_growths(deployment.model._replace(kv=(item,)), kv_format, deployment.layout, policy)
    return KvLayerBytes(
        kind=item.kind,
        layers=item.layers,
        bytes_per_token=numbers.layer_bytes_per_token(item, kv_format, deployment.layout, policy),
        window_tokens=item.window_tokens,
        bytes_per_sequence=sequence_bytes(alone, float(deployment.workload.context_tokens)),
    )


def _warnings(deployment: Deployment) -> tuple[str, ...]:
    model, asked = deployment.model, deployment.workload.context_tokens
    found = list(model.warnings)
    if model.max_context_tokens is None:
        found.append("the model's own context limit is not known")
    elif asked > model.max_context_tokens:
        found.append(f"{model.name} takes {model.max_context_tokens:,} tokens at most, {asked:,} are asked for")
    return tuple(found)
