"""A GGUF file -> ``domain.Model``: keys and table of tensors give KV layout and true weight bytes, nothing is loaded.

``header.py`` reads the bytes through ``cursor.py``, ``parts.py`` joins split files, ``architectures.py`` says what is
known about each architecture, ``kv.py`` and ``states.py`` read the cache out of the keys, ``weights.py`` sorts the
tensors by ``types.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kvplan.checkpoints.architecture import check_total, unknown_architecture
from kvplan.checkpoints.decoder import check_experts
from kvplan.checkpoints.gguf.architectures import ARCHITECTURES, WITHOUT_CACHE, Rules
from kvplan.checkpoints.gguf.header import Header
from kvplan.checkpoints.gguf.keys import GgufKeys, whole_number
from kvplan.checkpoints.gguf.kv import Blocks, read_kv
from kvplan.checkpoints.gguf.parts import model_stem, read_parts
from kvplan.checkpoints.gguf.weights import GgufTensors, sort_tensors
from kvplan.domain.model import Experts, Model
from kvplan.errors import InputError, UnknownArchitecture
from kvplan.units import shorten

_NO_MODEL: Final = {
    "adapter": "is an adapter (LoRA): give the model that it is for",
    "mmproj": "is a projector for images or sound: give the file of the language model",
    "imatrix": "holds statistics for quantization: give the file of the model",
}
_EMPTY_NAMES: Final = frozenset(("", ".", "model", "models", "model-hf", "hf", "tmp", "output"))


def read_gguf(path: str | Path) -> Model:
    """The model of a GGUF file, or of all parts of a split one."""
    given = str(path)
    where = shorten(given, 200)
    header = read_parts(given, where)
    architecture = _architecture(header, where)
    rules = _rules(architecture, where)
    keys = GgufKeys(header, architecture, where)
    tensors = sort_tensors(header.tensors, keys.layers, header.keys.get("general.file_type"))
    _check_whole(tensors, keys)
    found = read_kv(keys, rules, Blocks(tensors.stateful, tensors.indexed))
    check_total(tensors.weights, found.kv, where, what="file")
    return Model(
        name=_name(header, given),
        model_type="mixtral" if architecture == "llama" and tensors.moe_layers else rules.model_type,
        layers=keys.layers,
        hidden_size=keys.count("embedding_length"),
        attention_heads=found.heads,
        head_elements=found.head_elements,
        intermediate_size=max(keys.per_block("feed_forward_length", default=0)) if tensors.dense_layers else 0,
        vocab_size=_vocabulary(header, keys),
        max_context_tokens=found.max_context,
        dtype=tensors.scheme,
        kv=found.kv,
        mtp_kv=found.mtp_kv,
        weights=tensors.weights,
        stored=tensors.stored,
        source=where,
        experts=_experts(keys, tensors),
        warnings=found.warnings,
    )


def _architecture(header: Header, where: str) -> str:
    """``general.architecture``, where the file is a model at all."""
    kind, architecture = header.keys.get("general.type"), header.keys.get("general.architecture")
    if architecture == "clip":
        kind = "mmproj"
    if isinstance(kind, str) and kind in _NO_MODEL:
        raise InputError(_NO_MODEL[kind], where=where)
    if not isinstance(architecture, str) or not architecture:
        raise InputError("general.architecture is missing: it is no model", where=where)
    return architecture


def _rules(architecture: str, where: str) -> Rules:
    if architecture in WITHOUT_CACHE:
        raise UnknownArchitecture(
            f"architecture {architecture!r} is {WITHOUT_CACHE[architecture]}: it keeps no KV cache", where=where
        )
    if architecture not in ARCHITECTURES:
        known = "the config.json of the model may be of a family that it knows: kvplan model list --families"
        raise unknown_architecture(architecture, where, known)
    return ARCHITECTURES[architecture]


def _check_whole(tensors: GgufTensors, keys: GgufKeys) -> None:
    """A file without tensors holds a tokenizer; one without some layers was cut or pruned."""
    if not tensors.weights.total:
        raise InputError("has no tensors: it holds a tokenizer, not a model", where=keys.where)
    if not tensors.weights.embedding:
        raise InputError("has no tensor token_embd.weight, so it is not a whole model", where=keys.where)
    absent = [block for block in range(keys.layers) if block not in tensors.blocks]
    if absent:
        raise InputError(f"has no tensors for layer {absent[0]} of {keys.layers}, so it is not a whole model",
                         where=keys.where)  # fmt: skip


def _name(header: Header, path: str) -> str:
    """``general.name``, unless it says nothing; else the name of the file."""
    stated = header.keys.get("general.name")
    name = stated.strip() if isinstance(stated, str) else ""
    plain = name.lower() not in _EMPTY_NAMES and "/" not in name and "\\" not in name
    return shorten(name if plain else model_stem(path) or "model")


def _vocabulary(header: Header, keys: GgufKeys) -> int:
    """The stated size, else the words of the tokenizer, else the rows of the embedding table."""
    words = whole_number(header.lengths.get("tokenizer.ggml.tokens"))
    table = next(tensor for tensor in header.tensors if tensor.name == "token_embd.weight")
    return keys.count("vocab_size", default=words or table.dimensions[-1])


def _experts(keys: GgufKeys, tensors: GgufTensors) -> Experts | None:
    """The experts, where the file has tensors of any: hunyuan-dense and others state one expert and have none."""
    if not tensors.moe_layers:
        return None
    experts, chosen = keys.count("expert_count"), keys.count("expert_used_count")
    check_experts(chosen, experts, keys.where)
    inner = keys.optional_count("expert_feed_forward_length") or tensors.expert_width
    return Experts(experts, chosen, tensors.moe_layers, inner or max(keys.per_block("feed_forward_length", default=1)))
