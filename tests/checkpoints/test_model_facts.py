"""Element counts and KV layouts against published figures, one row for each model.

``elements`` is the published total of the repository. ``beside`` are published elements that are no weights, stored
twice, or part of a tower that the config does not describe (``beside_is`` says which); ``counts_scales`` false marks
totals that leave out FP8 block scales. KV figures are for 16-bit caches; rows without them have none from outside.
``state_bytes`` are those of engines that keep states in the type of the model unless the file says otherwise,
``state_bytes_float32`` of engines that keep all of them in 32 bits; convolution columns have 16 bits in both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.checkpoints import families
from kvplan.checkpoints.model import model_from_config
from kvplan.domain.model import KvLayers, Model
from kvplan.errors import UnknownArchitecture

TRUTH = Path(__file__).resolve().parents[1] / "truth"
BYTES_PER_ELEMENT = 2


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRUTH / name).read_text(encoding="utf-8").splitlines()]


FACTS = rows("model_facts.jsonl")
WITH_KV = [row for row in FACTS if "kv_bytes_per_token" in row]
WITH_STATE = [row for row in FACTS if "state_bytes" in row]
REFUSED = [row["model_type"] for row in rows("refused_model_types.jsonl")]


def read(row: dict[str, Any]) -> Model:
    return model_from_config(row["config"], name=row["hub_id"], where=row["hub_id"], source=row["source"])


def hub_id(row: dict[str, Any]) -> str:
    return str(row["hub_id"])


@pytest.mark.parametrize("row", FACTS, ids=hub_id)
def test_elements_equal_the_published_total(row: dict[str, Any]) -> None:
    weights = read(row).weights
    counted = weights.total if row.get("counts_scales", True) else weights.total - weights.scales
    assert counted + row.get("beside", 0) == row["elements"]


def token_bytes(kind: KvLayers) -> float:
    """One more token in all layers of a kind: 16-bit elements, or the bytes of an index key."""
    entry = kind.index_bytes or BYTES_PER_ELEMENT * kind.elements_per_token
    return entry * kind.layers / kind.tokens_per_entry


@pytest.mark.parametrize("row", WITH_KV, ids=hub_id)
def test_kv_bytes_per_token(row: dict[str, Any]) -> None:
    kinds = [kind for kind in read(row).kv if kind.state is None and kind.sequence_tokens is None]
    each = [token_bytes(kind) for kind in kinds]
    growing = sum(size for kind, size in zip(kinds, each, strict=True) if kind.window_tokens is None)
    windows = sum(size * (kind.window_tokens or 0) for kind, size in zip(kinds, each, strict=True))
    assert growing == row["kv_bytes_per_token"]
    if "kv_bytes_before_windows" in row:
        assert sum(each) == row["kv_bytes_before_windows"]
    if "window_bytes" in row:
        assert windows == row["window_bytes"]


def state_bytes(model: Model, recurrent: int) -> int:
    """What a sequence keeps in all recurrent layers, where engines keep states in so many bytes an element."""
    states = [(kind.layers, kind.state) for kind in model.kv if kind.state is not None]
    return sum(
        layers * (2 * state.conv_elements + state.recurrent_elements * (4 if state.recurrent_float32 else recurrent))
        for layers, state in states
    )


@pytest.mark.parametrize("row", WITH_STATE, ids=hub_id)
def test_state_bytes(row: dict[str, Any]) -> None:
    model = read(row)
    assert state_bytes(model, recurrent=2) == row["state_bytes"]
    if "state_bytes_float32" in row:
        assert state_bytes(model, recurrent=4) == row["state_bytes_float32"]


def test_the_facts_cover_every_kind_of_attention() -> None:
    models = [read(row) for row in FACTS]
    assert len(models) >= 130
    attention = {"full", "sliding", "mla", "chunked", "cross", "shared", "compressed", "indexer", "compressor"}
    states = {"mamba1", "mamba2", "gdn", "kda", "lightning", "conv"}
    assert {kind.kind for model in models for kind in model.kv} >= attention | states
    assert any(model.experts for model in models) and any(model.weights.towers for model in models)


@pytest.mark.parametrize("model_type", REFUSED)
def test_a_layout_that_is_not_known_is_refused_by_name(model_type: str) -> None:
    """Each of these has the keys of a plain decoder too, which must not be enough to get a number."""
    plain = {**FACTS[0]["config"], "model_type": model_type}
    with pytest.raises(UnknownArchitecture, match=model_type) as caught:
        model_from_config(plain, name="x", where="x/config.json", source="x")
    assert caught.value.exit_code == 3


def test_every_family_file_keeps_the_contract() -> None:
    """Each lists model types, reads a config, and no model type is listed twice."""
    modules = set(families.by_model_type().values())
    listed = [model_type for module in modules for model_type in module.MODEL_TYPES]
    assert len(listed) == len(set(listed)) == len(families.by_model_type())
    assert all(callable(module.read) for module in modules)
    assert {path.stem for path in Path(families.__file__).parent.glob("[a-z]*.py")} == {
        module.__name__.rpartition(".")[2] for module in modules
    }
