"""A path that a user typed -> ``domain.Model``. Nothing of a checkpoint is executed, and its weights are never read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import Model
from kvplan.errors import CannotJudge, InputError
from kvplan.units import MIB, shorten

LARGEST_CONFIG_BYTES: Final = 32 * MIB
"""The largest config.json in use has some 100 kB."""

_CONFIG = "config.json"
_MODELOPT = "hf_quant_config.json"
_BINARY = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".npz")
_GGUF_MAGIC: Final = b"GGUF"


def read_model(path: str | Path) -> Model:
    """The model of a ``config.json`` (under any name) or of a folder that holds one."""
    given = str(path)
    where = shorten(given, 200)
    file = given
    folder = _is_folder(given, where)
    if folder:
        file = os.path.join(given, _CONFIG)
        where = shorten(file, 200)
    _refuse_binary_names(given, where)
    keys = _read_object(file, where)
    _add_modelopt(keys, os.path.join(os.path.dirname(file), _MODELOPT))
    return model_from_config(keys, name=_name(keys, given, folder), where=where, source=where)


def _is_folder(path: str, where: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError) as error:
        raise _unreadable(error, where) from None


def _refuse_binary_names(path: str, where: str) -> None:
    lowered = path.lower()
    if lowered.endswith(".gguf"):
        raise CannotJudge("GGUF files can't be read yet", where=where, help="give the config.json of the model")
    if lowered.endswith(_BINARY):
        raise InputError(
            "is a file of weights; kvplan reads the config.json beside it", where=where,
            help="give the folder or its config.json",
        )  # fmt: skip


def _read_object(file: str, where: str) -> dict[str, Any]:
    """The JSON object in a file, with one clear line for everything that is not one."""
    import json

    data = _read_bytes(file, where)
    if data.startswith(_GGUF_MAGIC):
        raise CannotJudge("GGUF files can't be read yet", where=where, help="give the config.json of the model")
    if not data.strip():
        raise InputError("is empty, where a JSON object was expected", where=where)
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("is not a text file, so it is no config.json", where=where) from None
    except RecursionError:
        raise InputError("is nested too deeply for a config.json", where=where) from None
    except ValueError as error:
        raise InputError(f"is not valid JSON: {shorten(str(error), 120)}", where=where) from None
    if not isinstance(value, dict):
        raise InputError("holds no JSON object, so it is no config.json", where=where)
    return value


def _read_bytes(file: str, where: str) -> bytes:
    try:
        mode = os.stat(file).st_mode
        if stat.S_ISDIR(mode):
            raise InputError("is a folder, where a file was expected", where=where)
        if not stat.S_ISREG(mode):
            raise InputError("is not a regular file", where=where)
        with open(file, "rb") as stream:
            data = stream.read(LARGEST_CONFIG_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(error, where) from None
    if len(data) > LARGEST_CONFIG_BYTES:
        raise InputError("is larger than 32 MiB, too large for a config.json", where=where)
    return data


def _unreadable(error: Exception, where: str) -> InputError:
    """What the system says about a path. ValueError: a null byte or a lone surrogate in it."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file", where=where, help="give a config.json or a folder that holds one")
    reason = getattr(error, "strerror", None) or str(error)
    return InputError(f"can't be read: {reason}", where=where)


def _add_modelopt(keys: dict[str, Any], file: str) -> None:
    """ModelOpt writes its scheme into a file of its own beside the config."""
    if keys.get("quantization_config") is not None or not os.path.isfile(file):
        return
    section = _read_object(file, shorten(file, 200)).get("quantization")
    if isinstance(section, dict):
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
