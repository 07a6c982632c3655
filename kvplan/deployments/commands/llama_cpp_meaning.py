"""What llama-server's arguments come to together: its model, its slots, its cache types, what stays on the CPU."""

from __future__ import annotations

import json
import re

from kvplan.deployments.found import Setting, Unresolved

_EXPERTS_TO_CPU = re.compile(r"^[\\.^$*_\w()|\[\]+-]*exps[\\.$*_\w)|+-]*=CPU$")
_LONGEST_PATTERN = 500
_LAYERS = re.compile(r"\d|\[")
_NEGATED = {"kv_offload": "no_kv_offload", "mmap": "no_mmap"}


def derived_settings(settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
    """Settings that follow from the given ones, and what cannot be told from them."""
    found = [*_model(settings), *_negated(settings), *_length(settings), *_cache_type(settings), *_drafts(settings)]
    if _text(settings, "device").lower() == "none" and "n_gpu_layers" not in settings:
        found.append(Setting("n_gpu_layers", "0", settings["device"].place))
    if "models_max" in settings:
        found.append(Setting("runners", settings["models_max"].value, settings["models_max"].place))
    moved, unresolved = _tensors(settings)
    return [*found, *moved], [*unresolved, *_elsewhere(settings)]


def _model(settings: dict[str, Setting]) -> list[Setting]:
    """A repository goes before a path: with ``-hf`` the path is where the file is put."""
    for name in ("hf_repo", "docker_repo", "model_file", "model_url"):
        setting = settings.get(name)
        if setting is None:
            continue
        text = str(setting.value)
        if name == "hf_repo" and "hf_file" in settings:
            text = f"{text.partition(':')[0]}/{settings['hf_file'].value}"
        return [Setting("model", text, setting.place)]
    return []


def _negated(settings: dict[str, Setting]) -> list[Setting]:
    found = [
        Setting(name, True, settings[positive].place)
        for positive, name in _NEGATED.items()
        if positive in settings and settings[positive].value is False
    ]
    mode = settings.get("load_mode")
    if mode is not None and "mlock" in str(mode.value):
        found.append(Setting("mlock", True, mode.place))
    if mode is not None and str(mode.value) in ("none", "mlock", "dio"):
        found.append(Setting("no_mmap", True, mode.place))
    return found


def _length(settings: dict[str, Setting]) -> list[Setting]:
    """Tokens of one slot: ``-c`` over ``-np``; with ``-kvu``, and without ``-np``, each slot may take them all."""
    context, slots = _whole(settings, "ctx_size"), _whole(settings, "parallel") or 1
    if context is None or context <= 0:
        return []
    unified = settings["kv_unified"].value is True if "kv_unified" in settings else False
    each = context if unified or slots <= 1 else context // slots
    return [Setting("max_model_len", max(each, 1), settings["ctx_size"].place)]


def _cache_type(settings: dict[str, Setting]) -> list[Setting]:
    """One word where K and V have one type, ``q8_0/q4_0`` where they differ."""
    key, value = (_text(settings, f"cache_type_{half}").lower() or "f16" for half in "kv")
    where = settings.get("cache_type_k") or settings.get("cache_type_v")
    if where is None:
        return []
    return [Setting("kv_cache_dtype", key if key == value else f"{key}/{value}", where.place)]


def _drafts(settings: dict[str, Setting]) -> list[Setting]:
    """Speculative decoding in vLLM's words: by the model's own layers, by n-grams, or by another model."""
    kind, where = _text(settings, "spec_type"), settings.get("spec_type") or settings.get("draft_model")
    if where is None or kind == "none":
        return []
    method = "draft_model"
    if kind.startswith("ngram") and "draft_model" not in settings:
        method = "ngram"
    elif kind == "draft-mtp" and "draft_model" not in settings:
        method = "mtp"
    config: dict[str, object] = {"method": method}
    tokens = _whole(settings, "draft_tokens")
    if tokens is not None and 1 <= tokens <= 64:
        config["num_speculative_tokens"] = tokens
    return [Setting("speculative_config", json.dumps(config), where.place)]


def _tensors(settings: dict[str, Setting]) -> tuple[list[Setting], list[Unresolved]]:
    """``-ot 'exps=CPU'`` is ``-cmoe``; other patterns name tensors whose bytes are not worked out."""
    setting = settings.get("override_tensor")
    if setting is None:
        return [], []
    patterns = [part for part in str(setting.value).split(",") if part.strip()]
    short = len(str(setting.value)) <= _LONGEST_PATTERN
    if short and patterns and all(_EXPERTS_TO_CPU.match(part) and not _LAYERS.search(part) for part in patterns):
        return [Setting("cpu_moe", True, setting.place)], []
    reason = "which of the weights a pattern moves is not worked out: -ncmoe N says it by layers"
    return [], [Unresolved("override_tensor", str(setting.value)[:60], setting.place, reason)]


def _elsewhere(settings: dict[str, Setting]) -> list[Unresolved]:
    """Models in another file, and layers on other hosts."""
    found = []
    for name in ("models_preset", "models_dir"):
        if name in settings and not any(key in settings for key in ("model_file", "hf_repo", "docker_repo", "model")):
            where, text = settings[name].place, _text(settings, name)
            reason = (
                "its models stand there: check that file" if name == "models_preset" else "any model in it is served"
            )
            found.append(Unresolved("model", text, where, reason))
            break
    if "rpc" in settings:
        reason = "layers on other hosts over RPC are not modelled"
        found.append(Unresolved("rpc", _text(settings, "rpc"), settings["rpc"].place, reason))
    return found


def _text(settings: dict[str, Setting], name: str) -> str:
    return str(settings[name].value).strip() if name in settings else ""


def _whole(settings: dict[str, Setting], name: str) -> int | None:
    text = _text(settings, name)
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else None
