"""Any result that has ``to_json`` -> JSON text."""

from __future__ import annotations

import json
from typing import Any, Protocol


class HasJson(Protocol):
    """A result."""

    def to_json(self) -> dict[str, Any]:
        """Its envelope."""
        ...


def render(answer: HasJson) -> str:
    """Two-space indented JSON, keys in the order of the contract. NaN and infinity are refused."""
    return json.dumps(answer.to_json(), indent=2, allow_nan=False) + "\n"
