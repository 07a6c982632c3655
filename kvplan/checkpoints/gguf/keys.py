"""The keys of one architecture in a GGUF file, with the checks of ``Config``."""

from __future__ import annotations

from typing import Any

from kvplan.checkpoints.config import Config
from kvplan.checkpoints.gguf.header import LONGEST_LIST, Header
from kvplan.errors import InputError


class GgufKeys(Config):
    """Keys named without their architecture: ``block_count`` is ``llama.block_count``."""

    def __init__(self, header: Header, architecture: str, where: str) -> None:
        prefix = f"{architecture}."
        own = {name[len(prefix) :]: value for name, value in header.keys.items() if name.startswith(prefix)}
        super().__init__(own, where, prefix=prefix)
        self.blocks = self.count("block_count", largest=LONGEST_LIST)
        """Layers of the file, those of MTP heads included."""
        self.mtp = self.whole("nextn_predict_layers")
        """The last so many of them predict further tokens; they have no KV unless they speculate."""
        if self.mtp >= self.blocks:
            raise self.wrong("nextn_predict_layers", self.mtp, f"must be less than block_count, {self.blocks}")
        self.layers = self.blocks - self.mtp

    def per_block(self, name: str, *, default: int) -> tuple[int, ...]:
        """One whole number a block: a list, or one number for all."""
        return self.each_layer(name, layers=self.blocks, default=default)

    def pattern(self, name: str) -> tuple[bool, ...] | int | None:
        """Which blocks slide, or how often one does not; None where the file doesn't say."""
        value = self.get(name)
        if not isinstance(value, list):
            return None if value is None else self.whole(name)
        return tuple(bool(flag) for flag in self._one_per_layer(name, value, self.blocks))

    def missing(self, name: str) -> InputError:
        message = f"{self._prefix}{name} is missing"
        return InputError(message, where=self.where, help="convert the model again, or give its config.json")


def whole_number(value: Any) -> int | None:
    """A count that may be of another type in a hostile file; None where it is no positive number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
