"""A few lines that write safetensors files: true headers, and holes where the tensors would be."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvplan.checkpoints.safetensors.header import DTYPE_BITS

Shapes = Mapping[str, tuple[str, tuple[int, ...]]]
"""name -> (dtype, shape)"""


def tensor_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    elements = 1
    for side in shape:
        elements *= side
    return elements * DTYPE_BITS[dtype] // 8


def header_of(tensors: Shapes) -> tuple[dict[str, Any], int]:
    """The header of tensors laid one behind the other, and the bytes that they take."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    reached = 0
    for name, (dtype, shape) in tensors.items():
        end = reached + tensor_bytes(dtype, shape)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [reached, end]}
        reached = end
    return header, reached


def write_raw(path: Path, header: bytes, data_bytes: int, *, length: int | None = None) -> Path:
    """A file with any header text and a hole of ``data_bytes`` behind it."""
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header) if length is None else length) + header)
        stream.truncate(8 + len(header) + data_bytes)
    return path


def write_safetensors(path: Path, tensors: Shapes) -> int:
    """A file of these tensors; returns the bytes of its tensors."""
    header, data_bytes = header_of(tensors)
    write_raw(path, json.dumps(header).encode(), data_bytes)
    return data_bytes


def write_shards(folder: Path, shards: list[Shapes], *, stem: str = "model") -> int:
    """Shards with their index; returns the bytes of all tensors."""
    total, places = 0, {}
    for number, tensors in enumerate(shards, 1):
        name = f"{stem}-{number:05}-of-{len(shards):05}.safetensors"
        total += write_safetensors(folder / name, tensors)
        places.update(dict.fromkeys(tensors, name))
    index = {"metadata": {"total_size": total}, "weight_map": places}
    (folder / f"{stem}.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return total


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
