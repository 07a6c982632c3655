"""Vision-language files around a text model that kvplan knows, with a tower that it does not count."""

from __future__ import annotations

from kvplan.checkpoints import families, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.errors import CannotJudge

MODEL_TYPES = ("kimi_k25", "internvl_chat", "internvl", "llava", "llava_next")


def read(config: Config) -> Architecture:
    if config.text() is config:
        raise CannotJudge("text_config is missing: it describes the language model", where=config.where)
    return towers.with_unknown_tower(families.read_text(config, flat_type=None))
