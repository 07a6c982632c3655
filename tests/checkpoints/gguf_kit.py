"""Writes GGUF files for tests: a true header, and tensor data that is a hole in the file."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q8_0": (8, 32, 34), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
         "Q6_K": (14, 256, 210), "BF16": (30, 1, 2), "MXFP4": (39, 32, 17)}  # fmt: skip
"""Number, elements and bytes of a block: ggml-common.h."""
Line = tuple[str, tuple[int, ...], str]


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def value_of(value: Any) -> tuple[int, bytes]:
    """(type, bytes) of a value as llama.cpp's converter would write it."""
    if isinstance(value, bool):
        return 7, struct.pack("<B", value)
    if isinstance(value, int):
        return (4, struct.pack("<I", value)) if 0 <= value < 2**32 else (11, struct.pack("<q", value))
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, text(value)
    kind = value_of(value[0])[0] if value else 4
    return 9, struct.pack("<IQ", kind, len(value)) + b"".join(value_of(item)[1] for item in value)


def header(keys: Mapping[str, Any], tensors: Iterable[Line], *, version: int = 3, alignment: int = 32) -> bytes:
    """A header up to where tensor data starts."""
    lines = list(tensors)
    parts = [b"GGUF", struct.pack("<IQQ", version, len(lines), len(keys))]
    for name, value in keys.items():
        kind, raw = value_of(value)
        parts += [text(name), struct.pack("<I", kind), raw]
    offset = 0
    for name, dimensions, kind_name in lines:
        number, _, _ = TYPES[kind_name]
        parts.append(text(name) + struct.pack("<I", len(dimensions)))
        parts += [struct.pack("<Q", dimension) for dimension in dimensions]
        parts.append(struct.pack("<IQ", number, offset))
        offset += -(-stored_bytes((name, dimensions, kind_name)) // alignment) * alignment
    raw = b"".join(parts)
    return raw + b"\0" * (-len(raw) % alignment)


def stored_bytes(line: Line) -> int:
    _, dimensions, kind = line
    elements = 1
    for dimension in dimensions:
        elements *= dimension
    _, block, block_bytes = TYPES[kind]
    return elements // block * block_bytes


def write(path: Path, keys: Mapping[str, Any], tensors: Iterable[Line], **more: Any) -> Path:
    """A whole file, whose tensor data takes no room on the disk."""
    lines = list(tensors)
    raw = header(keys, lines, **more)
    data = sum(-(-stored_bytes(line) // 32) * 32 for line in lines)
    with path.open("wb") as stream:
        stream.write(raw)
        stream.truncate(len(raw) + data)
    return path


def keys(architecture: str, own: Mapping[str, Any], **general: Any) -> dict[str, Any]:
    """``own`` keys under the architecture's prefix, ``general`` ones under theirs."""
    found = {"general.architecture": architecture, **{f"general.{name}": value for name, value in general.items()}}
    return {**found, **{f"{architecture}.{name}": value for name, value in own.items()}}


def small(blocks: int, *more: str) -> list[Line]:
    """Tensors of a model whose sizes don't matter: one norm in each block, and ``more`` of them by name."""
    lines: list[Line] = [("token_embd.weight", (64, 128), "F16")]
    lines += [(f"blk.{block}.attn_norm.weight", (64,), "F32") for block in range(blocks)]
    return lines + [(name, (64, 32), "F16") for name in more]


LLAMA_8B = {
    "block_count": 32, "context_length": 131072, "embedding_length": 4096, "feed_forward_length": 14336,
    "attention.head_count": 32, "attention.head_count_kv": 8, "rope.dimension_count": 128, "vocab_size": 128256,
}  # fmt: skip


def llama_8b() -> list[Line]:
    """Llama-3.1-8B in Q4_K_M: head in q6_k, attn_v and ffn_down in q6_k in the first and last eighth and every third
    layer between, norms in 32 bits. Source: the rules of llama-quantize.
    """
    lines: list[Line] = [("token_embd.weight", (4096, 128256), "Q4_K"), ("output_norm.weight", (4096,), "F32"),
                         ("output.weight", (4096, 128256), "Q6_K"), ("rope_freqs.weight", (64,), "F32")]  # fmt: skip
    for block in range(32):
        better = "Q6_K" if block < 4 or block >= 28 or (block - 4) % 3 == 2 else "Q4_K"
        one: list[Line] = [
            ("attn_norm", (4096,), "F32"), ("attn_q", (4096, 4096), "Q4_K"), ("attn_k", (4096, 1024), "Q4_K"),
            ("attn_v", (4096, 1024), better), ("attn_output", (4096, 4096), "Q4_K"), ("ffn_norm", (4096,), "F32"),
            ("ffn_gate", (4096, 14336), "Q4_K"), ("ffn_up", (4096, 14336), "Q4_K"),
            ("ffn_down", (14336, 4096), better),
        ]  # fmt: skip
        lines += [(f"blk.{block}.{name}.weight", dimensions, kind) for name, dimensions, kind in one]
    return lines
