"""Checked access to the keys of a ``config.json``: every value that comes out is usable, or one line says why not.

A ``null`` counts as missing, and a missing key has the default of its model class, not zero or false: Gemma 3 leaves
out its heads, Falcon its KV heads. Vision-language files nest the language model; keys such as
``tie_word_embeddings`` may then stand at either level, the nested one first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvplan.errors import InputError
from kvplan.units import shorten_value

LARGEST_DIMENSION: Final = 2**40
LARGEST_LAYERS: Final = 2**14
"""Layer maps are spelled out layer by layer, so their number is bounded too; the deepest known model has 126."""

_TEXT_SECTIONS: Final = ("text_config", "llm_config", "language_config")
"""Where files nest their language model."""
_OUTER_SECTION: Final = "thinker_config"
"""What speech models put around all of it."""
NESTED_SECTIONS: Final = (*_TEXT_SECTIONS, _OUTER_SECTION)
QUANTIZATION_SECTIONS: Final = ("quantization_config", "compression_config", "quantization")
DTYPE_KEYS: Final = ("torch_dtype", "dtype")
_EITHER_LEVEL = frozenset(("tie_word_embeddings", *QUANTIZATION_SECTIONS, *DTYPE_KEYS))


class Config:
    """The keys of one level of a ``config.json``, with the class defaults of its family laid under them."""

    def __init__(
        self, keys: Mapping[str, Any], where: str, *, prefix: str = "", outer: Config | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._keys = keys
        self.where = where
        self._prefix = prefix
        self._outer = outer
        self._defaults = defaults or {}

    def with_defaults(self, **defaults: Any) -> Config:
        """The same keys, where a missing one has the value that the model class gives it."""
        merged = {**self._defaults, **defaults}
        return Config(self._keys, self.where, prefix=self._prefix, outer=self._outer, defaults=merged)

    def stated(self, name: str) -> bool:
        """Whether the file itself has this key, be it ``null``."""
        return name in self._keys

    def names(self) -> list[str]:
        """All keys that the file itself has at this level."""
        return list(self._keys)

    def get(self, *names: str) -> Any:
        """The first of ``names`` that has a value, unchecked; None where none has."""
        return self._find(names)[1]

    def count(self, *names: str, default: int | None = None, largest: int = LARGEST_DIMENSION) -> int:
        """A whole number from 1 to ``largest``; missing without a default is an error."""
        name, value = self._find(names)
        if value is None:
            if default is None:
                raise self.missing(names[0])
            return default
        return self._whole(name, value, 1, largest)

    def optional_count(self, *names: str) -> int | None:
        """A count that may be missing; 0 means missing too, as in files that write ``head_dim: 0``."""
        name, value = self._find(names)
        return None if value is None else self._whole(name, value, 0, LARGEST_DIMENSION) or None

    def whole(self, *names: str, default: int = 0) -> int:
        """A whole number that may be 0, such as a number of leading dense layers."""
        name, value = self._find(names)
        return default if value is None else self._whole(name, value, 0, LARGEST_DIMENSION)

    def each_layer(self, *names: str, layers: int, default: int | None = None) -> tuple[int, ...]:
        """One whole number per layer: a list as long as the model, or one number for all."""
        name, value = self._find(names)
        if not isinstance(value, list):
            number = self.whole(*names) if default is None or value is not None else default
            return (number,) * layers
        return tuple(self._whole(name, item, 0, LARGEST_DIMENSION) for item in self._one_per_layer(name, value, layers))

    def words_by_layer(self, name: str, layers: int) -> tuple[str, ...] | None:
        """One word per layer (``layer_types``), None where the key is missing."""
        value = self.get(name)
        if value is None:
            return None
        words = self._one_per_layer(name, value, layers)
        if not all(isinstance(word, str) for word in words):
            raise self.wrong(name, words, "must be a list of words")
        return tuple(words)

    def whole_list(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers of any length; missing is empty."""
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(name, value, "must be a list of whole numbers")
        return tuple(self._whole(name, item, 0, LARGEST_DIMENSION) for item in value)

    def flag(self, *names: str, default: bool = False) -> bool:
        """true or false; a missing one is ``default``."""
        name, value = self._find(names)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, value, "must be true or false")
        return value

    def word(self, *names: str) -> str | None:
        """A text, None where missing."""
        name, value = self._find(names)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, value, "must be text")
        return value

    def section(self, *names: str) -> Config | None:
        """A nested object, None where missing."""
        name, value = self._find(names)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(name, value, "must be an object")
        return Config(value, self.where, prefix=f"{self._prefix}{name}.", outer=self)

    def sections(self, name: str, *, layers: int) -> list[Config]:
        """One nested object per layer, as in ``block_configs``; a missing key is an error."""
        value = self.get(name)
        if value is None:
            raise self.missing(name)
        found = []
        for number, item in enumerate(self._one_per_layer(name, value, layers)):
            if not isinstance(item, Mapping):
                raise self.wrong(f"{name}[{number}]", item, "must be an object")
            found.append(Config(item, self.where, prefix=f"{self._prefix}{name}[{number}].", outer=self))
        return found

    def text(self) -> Config:
        """The language model's level: a nested object where there is one, else this level."""
        level = self.section(_OUTER_SECTION) or self
        return level.section(*_TEXT_SECTIONS) or level

    def typed(self, model_type: str) -> Config:
        """The same keys under a model_type that stands elsewhere."""
        keys = {**self._keys, "model_type": model_type}
        return Config(keys, self.where, prefix=self._prefix, outer=self._outer, defaults=self._defaults)

    def path(self, name: str) -> str:
        """A key as errors name it, with the levels above it."""
        return f"{self._prefix}{name}"

    def missing(self, name: str) -> InputError:
        """The error for a key that has to be there."""
        return InputError(
            f"{self._prefix}{name} is missing", where=self.where, help="give the complete config.json of the model"
        )

    def wrong(self, name: str, value: object, must: str) -> InputError:
        """The error for a key whose value can't be used; ``must`` says what it has to be."""
        return InputError(f"{self._prefix}{name} {must} (it is {shown(value)})", where=self.where)

    def _find(self, names: tuple[str, ...]) -> tuple[str, Any]:
        for name in names:
            value = self._keys.get(name)
            if value is not None:
                return name, value
            if self._outer is not None and name in _EITHER_LEVEL and self._outer.get(name) is not None:
                return name, self._outer.get(name)
        for name in names:
            if self._defaults.get(name) is not None and not self.stated(name):
                return name, self._defaults[name]
        return names[0], None

    def _whole(self, name: str, value: object, least: int, largest: int) -> int:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if not isinstance(number, int) or isinstance(number, bool):
            raise self.wrong(name, value, "must be a whole number")
        if not least <= number <= largest:
            raise self.wrong(name, value, f"must be from {least} to {largest}")
        return number

    def _one_per_layer(self, name: str, value: object, layers: int) -> list[Any]:
        if not isinstance(value, list):
            raise self.wrong(name, value, "must be a list with one entry per layer")
        if len(value) != layers:
            message = f"{self._prefix}{name} must have one entry per layer: {layers} (it has {len(value)})"
            raise InputError(message, where=self.where)
        return value


def shown(value: object) -> str:
    """A value from outside for an error message: short, and never a deep structure."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    return shorten_value(value)
