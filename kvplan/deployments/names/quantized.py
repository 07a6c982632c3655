"""Names of quantized checkpoints: the model that one is made of, and how its weights are stored.

``nvidia/Qwen3.6-27B-NVFP4``, ``RedHatAI/Llama-3.1-8B-Instruct-FP8-dynamic`` or ``/models/Qwen3-32B-AWQ``: publishers
end a name with the scheme. Sources: names on the Hub of Qwen, NVIDIA, Red Hat AI and Unsloth; their model cards.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SCHEMES: Final = (
    (re.compile(r"(?:nv)?fp4(?:a16)?"), "nvfp4"),
    (re.compile(r"fp8"), "fp8"),
    (re.compile(r"gptq(?=.*(?:int8|8bit))|w8a8|w8a16|int8"), "int8"),
    (re.compile(r"awq"), "awq-int4"),
    (re.compile(r"gptq|w4a16|int4|autoround"), "gptq-int4"),
    (re.compile(r"(?:unsloth-)?bnb-4bit"), "bnb-nf4"),
    (re.compile(r"bf16"), "bf16"),
)
_END: Final = re.compile(r"[-_.](?:quantized[-_.])?(?=(?:nvfp4|fp4|fp8|gptq|w8a|int8|awq|w4a16|int4|autoround|"
                         r"unsloth-bnb|bnb|bf16)(?:[-_.]|\d|a16|$))", re.IGNORECASE)  # fmt: skip
LEAST, MOST = 0.93, 1.20
"""Of the scheme's bytes, what such checkpoints have: heads in 8 bits too, or attention left in 16 bits."""


class QuantizedName(NamedTuple):
    """What a name says."""

    base: str
    """The model's own name, without publisher and scheme."""
    scheme: str
    """One of kvplan's weight schemes."""


def quantized_name(name: str) -> QuantizedName | None:
    """The parts of a name that ends with a scheme; None for any other."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    end = _END.search(last)
    if end is None or not end.start():
        return None
    rest = last[end.end() :].lower()
    scheme = next((scheme for pattern, scheme in _SCHEMES if pattern.match(rest)), None)
    return QuantizedName(last[: end.start()], scheme) if scheme else None
