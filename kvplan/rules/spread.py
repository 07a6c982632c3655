"""A ``context`` of more than one length: quantiles, or a trace whose path begins in the folder of the file."""

from __future__ import annotations

import os
from typing import NamedTuple

from kvplan.deployments.lengths import is_spread, read_lengths
from kvplan.domain.lengths import Lengths


class Spread(NamedTuple):
    """What a ``context`` states that is no single length."""

    text: str
    """As ``fit`` takes it."""
    lengths: Lengths

    def context(self, limit_tokens: int | None) -> int | str:
        """What is judged: the spread, or all sequences at the model's limit where its longest is beyond (KV413)."""
        if limit_tokens is not None and self.lengths.longest_tokens > limit_tokens:
            return limit_tokens
        return self.text


def spread_of(value: object, folder: str) -> Spread | None:
    """The lengths of a ``context``; None where it states one or none. InputError for what can't be read."""
    text = str(value or "")
    if not is_spread(text):
        return None
    path = os.path.join(folder, text)
    if folder and "=" not in text and os.path.exists(path):
        text = path
    return Spread(text, read_lengths(text, "context")[0])
