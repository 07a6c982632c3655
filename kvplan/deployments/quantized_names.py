"""Names of quantized checkpoints -> the model that they are made of, and how their weights are stored.

``RedHatAI/Qwen3-32B-FP8-dynamic`` is Qwen3-32B in FP8: publishers put the scheme behind the name. Sources: the names of
llm-compressor's, ModelOpt's, AutoAWQ's and bitsandbytes' published checkpoints on the Hub.
"""

from __future__ import annotations

import re
from typing import Final

_SCHEMES: Final = (
    (r"fp8(?:[-_](?:dynamic|block|kv|tensor|e4m3))?", "fp8"),
    (r"awq(?:[-_](?:int4|4bit))?|(?:int4|4bit)[-_]awq", "awq-int4"),
    (r"gptq(?:[-_](?:int4|4bit))?|(?:quantized\.)?w4a16(?:[-_]\w+)?", "gptq-int4"),
    (r"(?:quantized\.)?w8a8|int8|gptq[-_]int8", "int8"),
    (r"nvfp4(?:a16)?|fp4", "nvfp4"),
    (r"(?:unsloth[-_])?bnb[-_]4bit", "bnb-nf4"),
    (r"bf16", "bf16"),
)
_SUFFIX = re.compile("|".join(f"(?P<s{index}>{pattern})" for index, (pattern, _) in enumerate(_SCHEMES)), re.IGNORECASE)


def unquantized(name: str) -> tuple[str, str] | None:
    """(model's own name, weight scheme); None for a name without a scheme behind it."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    for mark in re.finditer(r"[-_.]", last):
        match = _SUFFIX.fullmatch(last, mark.end())
        if match is not None and mark.start() > 3:
            return last[: mark.start()], _SCHEMES[int(str(match.lastgroup)[1:])][1]
    return None
