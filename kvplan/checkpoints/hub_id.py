"""The form of a name on the Hugging Face Hub, by which it is told from a path without asking the Hub."""

from __future__ import annotations

import re
from typing import Final

HUB_ID: Final = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})(?:@([\w./-]{1,200}))?", re.ASCII)
"""``owner/name``, perhaps with ``@revision``; the two are its groups."""


def looks_like_hub_id(text: str) -> bool:
    """Whether a text could be on the Hub, by its form."""
    return HUB_ID.fullmatch(text) is not None
