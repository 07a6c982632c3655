"""Qwen3-VL: Qwen 3 text, dense or a mixture, and a vision tower with deep-stack mergers."""

from __future__ import annotations

from kvplan.checkpoints import families, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config

MODEL_TYPES = ("qwen3_vl", "qwen3_vl_moe")


def read(config: Config) -> Architecture:
    flat = "qwen3" if config.word("model_type") == "qwen3_vl" else "qwen3_moe"
    return towers.with_tower(families.read_text(config, flat_type=flat), config, towers.qwen3_vision)
