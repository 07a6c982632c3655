"""Qwen2-VL: Qwen 2 text, flat or nested in its file, and a vision tower."""

from __future__ import annotations

from kvplan.checkpoints import families, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config

MODEL_TYPES = ("qwen2_vl",)


def read(config: Config) -> Architecture:
    text = families.read_text(config, flat_type="qwen2")
    return towers.with_tower(text, config, towers.qwen2_vision)
