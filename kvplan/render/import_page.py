"""``kvplan model import`` and ``kvplan host import`` on a screen."""

from __future__ import annotations

from kvplan.catalog.row_target import Added
from kvplan.render import humans
from kvplan.render.screen import Page
from kvplan.results.imports import HostImport, ModelImport

LABEL_COLUMNS = 14


def render(answer: ModelImport | HostImport) -> str:
    """What was added and where, what it is, what to know about it, and what to type next."""
    page, added = Page(), answer.added
    page.verdict(_done(added))
    page.gap()
    for label, text in _model(answer) if isinstance(answer, ModelImport) else _host(answer):
        if text:
            page.labelled(label, text, LABEL_COLUMNS)
    for note in _notes(added):
        page.labelled("Note", note, LABEL_COLUMNS)
    page.gap()
    for label, command in zip(("Next:", "See it:"), answer.next_commands, strict=True):
        page.command(label, command)
    return page.text()


def _done(added: Added) -> str:
    if added.replaced == added.file:
        return f"Replaced {added.kind} {added.name} in {added.file}."
    return f"Added {added.kind} {added.name} to {added.file}."


def _model(answer: ModelImport) -> list[tuple[str, str]]:
    model = answer.answer.model
    token = humans.bytes_per_token(answer.kv.kv_bytes_per_token)
    fixed = answer.kv.kv_bytes_fixed_per_sequence
    more = f", and {humans.gib_or_mib(fixed)} a sequence" if fixed else ""
    forms = {"config": "the keys of its config.json", "layout": "its layout, so the file itself is not needed any more"}
    return [
        ("Model", f"{model.name}, {humans.billions(model.weights.total)} parameters ({model.model_type})"),
        ("Also", ", ".join(answer.added.aliases)),
        ("KV cache", f"{token} a token in 16 bits{more}"),
        ("Weights", _weights(answer)),
        ("Kept", forms[answer.answer.form]),
        ("Source", model.source),
        *(("Warning", f"{text}.") for text in model.warnings),
    ]


def _weights(answer: ModelImport) -> str:
    model = answer.answer.model
    if answer.weight_bytes is None:
        return "not known: commands need --weights to judge this model"
    known = "of its tensors" if model.stored is not None else "computed from the config"
    return f"{humans.gib(answer.weight_bytes)} GiB in {model.dtype}, {known}"


def _host(answer: HostImport) -> list[tuple[str, str]]:
    host = answer.answer.host
    gpus = f"{host.gpus} x {host.gpu.name}" if host.gpu else "none"
    unknown = ", ".join(name.replace("_", " ") for name in answer.unknown)
    return [
        ("Host", host.title),
        ("Also", ", ".join(answer.added.aliases)),
        ("GPUs", gpus),
        ("Not known", f"{unknown}: strategies that need it are UNKNOWN here" if unknown else ""),
        ("Source", host.source),
    ]


def _notes(added: Added) -> list[str]:
    """What may surprise."""
    found = []
    if added.replaced is not None and added.replaced != added.file:
        found.append(f"the {added.kind} of this name in {added.replaced} is hidden by it")
    if added.lost_aliases:
        found.append(f"these names of the replaced row mean nothing any more: {', '.join(added.lost_aliases)}")
    if not added.always_read:
        found.append(f"other commands read {added.file} only with --catalog, or where KVPLAN_CATALOG lists it")
    return [f"{text}." for text in found]
