"""``kvplan model show`` and ``kvplan host show`` on a screen."""

from __future__ import annotations

from collections.abc import Callable

from kvplan.catalog.models import attention_kinds
from kvplan.domain.model import KvLayers, Model
from kvplan.render import humans
from kvplan.render.kv_table import fixed_words
from kvplan.render.listing_rows import context_words
from kvplan.render.screen import Column, Page
from kvplan.results.host_sheet import Figure, HostSheet
from kvplan.results.kv import KvLayerBytes
from kvplan.results.model_sheet import ModelSheet
from kvplan.units import to_gb_per_s, to_gib, to_ms, to_tflops

LABEL_COLUMNS = 14

_FIGURES: dict[str, tuple[str, str, Callable[[float], float]]] = {
    "hbm_bytes": ("GPU memory", "GiB", to_gib),
    "hbm_bytes_per_s": ("GPU memory rate, data sheet", "GB/s", to_gb_per_s),
    "flops": ("16-bit matrix rate, dense", "TFLOPS", to_tflops),
    "fp8_flops": ("FP8 matrix rate, dense", "TFLOPS", to_tflops),
    "weight_read_fraction": ("weights read at", "of the rate", float),
    "kv_read_fraction": ("KV read at", "of the rate", float),
    "step_overhead_s": ("fixed time of a step", "ms", to_ms),
    "prefill_fraction": ("prefill computes at", "of the rate", float),
    "peer_bytes_per_s": ("GPU to GPU, one way", "GB/s", to_gb_per_s),
    "dram_bytes": ("host memory", "GiB", to_gib),
    "dram_bytes_per_s": ("host memory rate, reached", "GB/s", to_gb_per_s),
    "os_reserve_bytes": ("kept by the system", "GiB", to_gib),
    "cpu_cores": ("CPU cores", "", float),
    "efficiency_cores": ("efficiency cores", "", float),
    "gpu_share_fraction": ("the GPU may have", "of the pool", float),
    "link_bytes_per_s": ("link to one GPU", "GB/s", to_gb_per_s),
    "display_reserve_bytes": ("held by a desktop", "GiB", to_gib),
}
"""Figure -> its words, its unit on the screen, and how it gets there."""


def render(answer: ModelSheet | HostSheet) -> str:
    """The whole screen."""
    return render_model(answer) if isinstance(answer, ModelSheet) else render_host(answer)


def render_model(answer: ModelSheet) -> str:
    """Name, what it is made of, its KV cache by kind of layer, its weights, its source."""
    page, model = Page(), answer.model
    fixed = answer.kv.kv_bytes_fixed_per_sequence
    windows = f", and {humans.gib_or_mib(fixed)} of {fixed_words(model.kv)} a sequence" if fixed else ""
    token = humans.bytes_per_token(answer.kv.kv_bytes_per_token)
    parameters = f"{parameter_words(model)} parameters"
    page.verdict(f"{model.name}: {parameters}, {token} of KV a token in 16 bits{windows}.")
    page.gap()
    for label, text in _model_facts(answer):
        page.labelled(label, text, LABEL_COLUMNS)
    page.gap()
    columns = ("layers", "number", "KV heads", "key + value width", "window", "KV/token")
    rows = [_layer(item, row) for item, row in zip(model.kv, answer.kv.layers, strict=True)]
    page.table([Column(title, right=index > 0) for index, title in enumerate(columns)], rows)
    page.gap()
    page.labelled("Source", model.source, LABEL_COLUMNS)
    if answer.notes:
        page.labelled("Note", answer.notes, LABEL_COLUMNS)
    for text in model.warnings:
        page.labelled("Warning", f"{text}.", LABEL_COLUMNS)
    return page.text()


def render_host(answer: HostSheet) -> str:
    """Name, every figure with its ends, what it rests on, and what is not known."""
    page, host = Page(), answer.host
    page.verdict(f"{host.name}: {host.title}.")
    page.gap()
    for label, text in _host_facts(answer):
        page.labelled(label, text, LABEL_COLUMNS)
    page.gap()
    rows = [_figure(figure) for figure in answer.figures]
    page.table([Column("figure"), Column("value", right=True), Column("unit"), Column("known from")], rows)
    page.gap()
    for basis, names in _bases(answer.figures).items():
        page.labelled(f"{', '.join(names)}:", f"{basis}.")
    if answer.unknown:
        words = ", ".join(_FIGURES[name][0] for name in answer.unknown)
        page.labelled("Not known:", f"{words}. Strategies that need it are UNKNOWN here; kvplan fit takes overrides.")
    for note in host.notes:
        page.labelled("Note:", note)
    return page.text()


def _bases(figures: tuple[Figure, ...]) -> dict[str, list[str]]:
    """What estimates rest on, each said once -> the figures that do."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        if figure.basis:
            found.setdefault(figure.basis, []).append(_FIGURES[figure.name][0])
    return found


def _model_facts(answer: ModelSheet) -> list[tuple[str, str]]:
    model, experts = answer.model, answer.model.experts
    active = ""
    tower = " and a tower that the config does not describe" if model.tower_elements_unknown else ""
    if experts is not None:
        chosen = f"{experts.experts_per_token} of {experts.experts} experts in {experts.moe_layers} layers"
        active = f", {humans.billions(model.active_elements)} active ({chosen})"
    heads = f"{model.attention_heads} heads, {model.layers} layers, hidden width {humans.count(model.hidden_size)}"
    own = f"the checkpoint's own is {humans.UNKNOWN if model.weights_unsettled else model.dtype}"
    weights = ", ".join(f"{name} {humans.gib(value)} GiB" for name, value in answer.weight_bytes.items())
    facts = [
        ("Name", answer.name),
        ("Hub id", model.hub_id or humans.UNKNOWN),
        ("Also", ", ".join(name for name in answer.aliases if name != model.hub_id)),
        ("Architecture", f"{' '.join(attention_kinds(model))}, {heads} ({model.model_type})"),
        ("Parameters", f"{humans.count(model.weights.total)}{tower}{active}"),
        ("Weights", f"{weights} ({own})"),
        ("Context", f"{context_words(model.max_context_tokens)} tokens at most"),
    ]
    return [(label, text) for label, text in facts if text]


def _layer(item: KvLayers, row: KvLayerBytes) -> tuple[str, ...]:
    kept = item.window_tokens or item.sequence_tokens
    window = humans.NOTHING if kept is None else humans.count(kept)
    heads = "one, shared" if item.replicated else humans.count(item.kv_heads) if item.kv_heads else humans.NOTHING
    token = humans.bytes_per_token(row.bytes_per_token) if row.bytes_per_token else humans.NOTHING
    return item.kind, humans.count(item.layers), heads, _width(item), window, token


def _width(item: KvLayers) -> str:
    """``128 + 128`` of key and value, ``576`` of a latent, elements of a state, or nothing."""
    if item.state is not None:
        return f"state of {humans.count(item.state.conv_elements + item.state.recurrent_elements)}"
    if item.value_elements:
        return f"{item.key_elements} + {item.value_elements}"
    return str(item.key_elements) if item.key_elements else humans.NOTHING


def parameter_words(model: Model) -> str:
    """``70.6B``, or ``27.4B and a tower of 0 to 2.7B``."""
    known = humans.billions(model.weights.total)
    if not model.tower_elements_unknown:
        return known
    span = model.parameters
    return f"{known}, with a tower {humans.billions(int(span.best))} (at most {humans.billions(int(span.high))}),"


def _host_facts(answer: HostSheet) -> list[tuple[str, str]]:
    host, gpu = answer.host, answer.host.gpu
    kinds = ", ".join(dict.fromkeys((gpu.vendor, gpu.kernel_class))) if gpu else ""
    facts = [
        ("Also", ", ".join(answer.aliases)),
        ("GPUs", f"{host.gpus} x {gpu.name} ({kinds})" if gpu else "none"),
        ("CPU", host.cpu or humans.UNKNOWN),
        ("NUMA nodes", humans.UNKNOWN if host.numa_nodes is None else str(host.numa_nodes)),
        ("Link", _link_words(answer)),
        ("Price", "" if host.usd_per_hour is None else f"${host.usd_per_hour:.2f} an hour"),
        ("Source", host.source),
        ("GPU source", gpu.source if gpu else ""),
    ]
    return [(label, text) for label, text in facts if text]


def _link_words(answer: HostSheet) -> str:
    host = answer.host
    if host.gpu is None:
        return ""
    if host.unified_memory:
        return "none: CPU and GPU share one pool of memory"
    if host.link is None:
        return humans.UNKNOWN
    shared = f", {host.link.gpus_per_uplink} GPUs share an uplink" if host.link.gpus_per_uplink > 1 else ""
    return f"{humans.link_words(host.link.kind)}{shared}"


def _figure(figure: Figure) -> tuple[str, ...]:
    words, unit, scale = _FIGURES[figure.name]
    if figure.value is None:
        return words, humans.UNKNOWN, unit, "not known"
    known = "estimate, see below" if figure.basis else ("GPU source" if figure.of == "gpu" else "source")
    return words, humans.span(figure.value, scale), unit, known
