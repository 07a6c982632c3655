"""kvplan: a capacity planner for the KV cache of served language models."""

from __future__ import annotations

__version__ = "0.1.0"
