"""A path that a user typed -> ``domain.Model``. Nothing of a checkpoint is executed, and its weights are never read.

A ``config.json`` by itself gives computed weights; a folder gives true ones, from the headers of its safetensors
files; a GGUF file holds both.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from kvplan.checkpoints.config import DTYPE_KEYS, NESTED_SECTIONS, QUANTIZATION_SECTIONS
from kvplan.checkpoints.files import GGUF_MAGIC, INDEX_SUFFIX, open_file, read_bytes, read_object, unreadable
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import Model
from kvplan.errors import CannotJudge, InputError, UnknownArchitecture
from kvplan.units import shorten

_CONFIG = "config.json"
_MODELOPT = "hf_quant_config.json"
_BINARY = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".npz")


def read_model(path: str | Path) -> Model:
    """The model of a GGUF file, of a ``config.json`` (under any name), or of a folder with a config and its weights."""
    given = str(path)
    where = shorten(given, 200)
    folder = _is_folder(given, where)
    if not folder and _is_gguf(given, where):
        from kvplan.checkpoints.gguf import read_gguf

        return read_gguf(path)
    file = given
    if folder:
        file = os.path.join(given, _CONFIG)
        _refuse_gguf_folder(given, file, where)
        where = shorten(file, 200)
    _refuse_weight_names(given, where)
    keys = _keys(file, where)
    name = _name(keys, given, folder)
    if not folder:
        return _computed(keys, name, where)
    return _with_weights(given, keys, name, where)


def config_keys(path: str) -> dict[str, Any] | None:
    """The keys that ``read_model`` reads at a path; None for a GGUF file, which has none of a config.json."""
    where = shorten(path, 200)
    if _is_folder(path, where):
        return _keys(os.path.join(path, _CONFIG), where)
    return None if _is_gguf(path, where) else _keys(path, where)


def _keys(file: str, where: str) -> dict[str, Any]:
    keys = read_object(file, where)
    _add_modelopt(keys, os.path.join(os.path.dirname(file), _MODELOPT))
    return keys


def _with_weights(folder: str, keys: dict[str, Any], name: str, where: str) -> Model:
    """The model of a folder: by its config, with the bytes of its files where it has any."""
    from kvplan.checkpoints.safetensors.packing import packing_of
    from kvplan.checkpoints.safetensors.shards import read_checkpoint
    from kvplan.checkpoints.safetensors.stored import nearest_scheme, stated_dtype, with_checkpoint

    checkpoint = read_checkpoint(folder, packing_of(keys))
    if checkpoint is None:
        return _computed(keys, name, where)
    tally = checkpoint.tally
    dtype = stated_dtype(tally) if tally is not None else None
    if dtype is not None and not _states_dtype(keys):
        keys["torch_dtype"] = dtype
    model = _computed(keys, name, where)
    if model.weights_unsettled and tally is not None:
        scheme = nearest_scheme(tally)
        said = f"{model.weights_unsettled}: the bytes are those of the files, the speed is that of {scheme}"
        warnings = (*(text for text in model.warnings if not text.startswith(model.weights_unsettled)), said)
        model = model._replace(dtype=scheme, weights_unsettled="", warnings=warnings)
    return with_checkpoint(model, checkpoint)


def _computed(keys: dict[str, Any], name: str, where: str) -> Model:
    """The model by its config alone. Where that does not settle how weights are stored, all else is known still."""
    try:
        return model_from_config(keys, name=name, where=where, source=where)
    except UnknownArchitecture:
        raise
    except CannotJudge as error:
        if not _drop_quantization(keys):
            raise
        model = model_from_config(keys, name=name, where=where, source=where)
        said = f"{error.message}: the bytes of its weights are not known"
        return model._replace(weights_unsettled=error.message, warnings=(*model.warnings, said))


def _levels(keys: dict[str, Any]) -> list[dict[str, Any]]:
    """The file's own keys and those of what it nests, each of which may say how the weights are stored."""
    nested = [keys.get(name) for name in NESTED_SECTIONS]
    return [keys, *(level for level in nested if isinstance(level, dict))]


def _states_dtype(keys: dict[str, Any]) -> bool:
    names = (*DTYPE_KEYS, *QUANTIZATION_SECTIONS)
    return any(level.get(name) is not None for level in _levels(keys) for name in names)


def _drop_quantization(keys: dict[str, Any]) -> bool:
    """Take out what says how the weights are stored; False where nothing did."""
    names = (*QUANTIZATION_SECTIONS, "expert_dtype")
    found = [level.pop(name, None) for level in _levels(keys) for name in names]
    if not any(found):
        return False
    for level in _levels(keys):
        for name in DTYPE_KEYS:
            level.pop(name, None)
    keys["torch_dtype"] = "bfloat16"
    return True


def _is_folder(path: str, where: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        raise unreadable(error, where) from None


def _is_gguf(path: str, where: str) -> bool:
    """By its name or by its first bytes."""
    if path.lower().endswith(".gguf"):
        return True
    with open_file(path, where) as stream:
        return read_bytes(stream, len(GGUF_MAGIC), where) == GGUF_MAGIC


def _refuse_gguf_folder(folder: str, config: str, where: str) -> None:
    """A folder of GGUF files often holds several quantizations of a model: the user says which."""
    if os.path.lexists(config):
        return
    try:
        files = sorted(name for name in os.listdir(folder) if name.lower().endswith(".gguf"))
    except OSError as error:
        raise unreadable(error, where) from None
    if files:
        example = shorten(os.path.join(folder, files[0]), 200)
        raise InputError("holds GGUF files and no config.json", where=where, help=f"give one of them: {example}")


def _refuse_weight_names(path: str, where: str) -> None:
    lowered = path.lower()
    if lowered.endswith(INDEX_SUFFIX):
        raise InputError("is an index of weights", where=where, help="give the folder that it is in")
    if lowered.endswith(_BINARY):
        raise InputError(
            "is a file of weights; kvplan reads the config.json beside it", where=where,
            help="give the folder or its config.json",
        )  # fmt: skip


def _add_modelopt(keys: dict[str, Any], file: str) -> None:
    """ModelOpt writes its scheme into a file of its own beside the config."""
    if keys.get("quantization_config") is not None or not os.path.isfile(file):
        return
    section = read_object(file, shorten(file, 200), what=_MODELOPT).get("quantization")
    if isinstance(section, dict) and section.get("quant_algo") is not None:
        keys["quantization_config"] = {**section, "quant_method": "modelopt"}


def _name(keys: dict[str, Any], given: str, folder: bool) -> str:
    """The hub id that the file names, else the folder of a config.json, else the name of the file."""
    stated = keys.get("_name_or_path")
    if isinstance(stated, str) and stated.count("/") == 1 and stated[0] not in "./~" and stated[-1] != "/":
        return shorten(stated)
    path = Path(os.path.abspath(given))
    if not folder and path.name == _CONFIG:
        path = path.parent
    return shorten((path.name if folder or path.suffix != ".json" else path.stem) or "model")
