"""Bytes of one key and one value vector of one head, by what ``--kv-cache-dtype`` says."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.errors import CannotJudge

SIXTEEN_BITS = frozenset(("auto", "bf16", "bfloat16", "fp16", "f16", "float16", "half"))
FP8 = frozenset(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla"))
_SCALE_BYTES = 4
_PER_TOKEN_HEAD = {"int8_per_token_head": 1.0, "fp8_per_token_head": 1.0, "int4_per_token_head": 0.5}
_TURBOQUANT = {
    "turboquant_k8v4": (8, 4), "turboquant_4bit_nc": (4, 4), "turboquant_k3v4_nc": (3, 4), "turboquant_3bit_nc": (3, 3),
}  # fmt: skip
_SINCE = {"nvfp4": (0, 20), "turboquant": (0, 20), "int4_per_token_head": (0, 23), "per_token_head": (0, 20)}
"""First versions with page sizes of their own."""


class Stored(NamedTuple):
    """A cache type as vLLM names it."""

    word: str
    label: str
    """What the answer calls it."""

    @property
    def native(self) -> bool:
        """The 16 bits of the model."""
        return self.word in SIXTEEN_BITS

    @property
    def turboquant(self) -> bool:
        return self.word in _TURBOQUANT

    @property
    def fp8(self) -> bool:
        """One scale for a whole tensor, kept outside the cache."""
        return self.word in FP8

    def pair_bytes(self, key: int, value: int) -> int:
        """Bytes of a key and a value vector of one token and head, scales included.

        FP4 has an FP8 scale for 16 elements, per-token-head types two 32-bit scales, TurboQuant a norm beside low-bit
        keys, a scale and a zero point beside values, and is rounded up to an even number.
        """
        if self.native:
            return 2 * (key + value)
        if self.fp8:
            return key + value
        if self.word == "nvfp4":
            return key // 2 + key // 16 + value // 2 + value // 16
        if self.word in _PER_TOKEN_HEAD:
            return int((key + value) * _PER_TOKEN_HEAD[self.word]) + 2 * _SCALE_BYTES
        key_bits, value_bits = _TURBOQUANT[self.word]
        keys = key if key_bits == 8 else -(-key * key_bits // 8) + 2
        slot = keys + -(-key * value_bits // 8) + 4
        return slot + slot % 2

    def latent_bytes(self, width: int) -> int:
        """Bytes of one latent of MLA."""
        return 2 * width if self.native else width


def stored_as(word: str | None, model_dtype: str, version: tuple[int, ...]) -> Stored:
    """The type that the setting names; CannotJudge for one whose pages this version has no rule for."""
    name = (word or "auto").strip().lower()
    if name in SIXTEEN_BITS:
        asked = {"bf16": "bf16", "bfloat16": "bf16"}.get(name, "fp16")
        return Stored(name, ("fp16" if model_dtype == "fp16" else "bf16") if name == "auto" else asked)
    known = name in FP8 or name in _PER_TOKEN_HEAD or name in _TURBOQUANT or name == "nvfp4"
    since = next((first for part, first in _SINCE.items() if part in name), (0,))
    if not known or version < since:
        release = ".".join(map(str, version))
        raise CannotJudge(f"vLLM {release} has no page size for --kv-cache-dtype {name} that kvplan knows")
    return Stored(name, name)
