"""Whether the files of a checkpoint can be those of the model that its config describes at all.

Small differences are said and the files believed. What is far off is a download that broke, or the config of another
model, and any figure made of the two would be wrong.
"""

from __future__ import annotations

from typing import Final

from kvplan.checkpoints.safetensors.tensors import MTP, TOWER, Amount, Tally
from kvplan.domain.model import UNKNOWN_TOWER_ELEMENTS, Model
from kvplan.errors import InputError
from kvplan.units import to_gib

MOST_DIFFERENT_BODY: Final = 0.2
"""Text bodies that differ by more belong to different models, or one of them is not whole."""
LEAST_SHARE_OF_TOTAL, MOST_SHARE_OF_TOTAL = 0.5, 2.1
"""A stated total over the computed one: 8-bit files under a 16-bit config, 32-bit ones with some buffers."""
_LEAST_SHARE_UNSETTLED: Final = 0.1
"""The same where the config does not tell the type of the weights, which may have 2 bits."""
_MOST_IN_A_BYTE: Final = 4
"""Weights of 2 bits, where the config does not tell how many a packed integer holds; the fewest are one of 8 bits."""
_INTEGERS: Final = ("U8", "I8", "I32", "U32")
_HELP: Final = "download the files again, or give the config.json that belongs to them"


def check_body(model: Model, tally: Tally, parts: dict[str, Amount], body: int) -> None:
    """InputError where the tensors hold far fewer or far more weights than the text body of the config.

    What may be in them is allowed for: a tower under names that are not known, integers packed in an unknown way.
    Layers that are taken for MTP heads count where the config has none.
    """
    computed, towers = model.weights.text_body, parts[TOWER].weights
    most, least = float(body), float(body)
    if not towers:
        most -= UNKNOWN_TOWER_ELEMENTS.high if model.tower_elements_unknown else model.weights.towers
    elif not model.weights.towers and not model.tower_elements_unknown:
        least += towers
    if not model.mtp_kv:
        most += parts[MTP].weights
    if not tally.packing.certain:
        packed_bytes = sum(tally.bytes_by_dtype.get(dtype, 0) for dtype in _INTEGERS)
        least += _MOST_IN_A_BYTE * packed_bytes
        most -= max(8 / (tally.packing.bits or 8) - 1, 0) * packed_bytes
    if least < (1 - MOST_DIFFERENT_BODY) * computed or most > (1 + MOST_DIFFERENT_BODY) * computed:
        found = f"its files hold a text body of {body:,} weights, and the config describes one of {computed:,}"
        raise InputError(found, where=model.source, help=_HELP)


def check_total(model: Model, total_bytes: int, computed_bytes: float, tower_element_bytes: float) -> None:
    """InputError where a stated total is far from what the config describes, a tower of unknown size allowed for."""
    tower = UNKNOWN_TOWER_ELEMENTS.high * tower_element_bytes if model.tower_elements_unknown else 0.0
    least = _LEAST_SHARE_UNSETTLED if model.weights_unsettled else LEAST_SHARE_OF_TOTAL
    if not least * computed_bytes <= total_bytes <= MOST_SHARE_OF_TOTAL * computed_bytes + tower:
        found = f"{total_bytes:,} bytes ({to_gib(total_bytes):.2f} GiB) are stated for its files"
        expected = f"the config describes some {computed_bytes:,.0f} bytes ({to_gib(computed_bytes):.2f} GiB)"
        raise InputError(f"{found}, and {expected}", where=model.source, help=_HELP)
