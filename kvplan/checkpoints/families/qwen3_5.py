"""Qwen 3.5 and 3.6 as they ship: gated delta nets under ``text_config``, the vision tower of Qwen3-VL beside them.

The tower has no deep-stack mergers, whatever its section says of them; ``mtp_num_hidden_layers`` stands in the text.
"""

from __future__ import annotations

from kvplan.checkpoints import families, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config

MODEL_TYPES = ("qwen3_5", "qwen3_5_moe")


def read(config: Config) -> Architecture:
    text = families.read_text(config, flat_type=f"{config.word('model_type')}_text")
    return towers.with_tower(text, config, towers.qwen3_5_vision)
