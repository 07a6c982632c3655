"""Vision-language files around a text model that kvplan knows. Of their towers it counts that of Kimi K2.5 alone."""

from __future__ import annotations

from kvplan.checkpoints import families, image_towers, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.errors import CannotJudge

MODEL_TYPES = ("kimi_k25", "internvl_chat", "internvl", "llava", "llava_next", "lfm2_vl", "lfm2-vl", "minimax_vl_01",
               "llava_onevision", "llava_next_video", "aya_vision", "cohere2_vision", "idefics3", "smolvlm",
               "paligemma", "voxtral", "glm4v", "glm4v_moe")  # fmt: skip


def read(config: Config) -> Architecture:
    if config.text() is config:
        raise CannotJudge("text_config is missing: it describes the language model", where=config.where)
    text = families.read_text(config, flat_type=None)
    if config.word("model_type") == "kimi_k25":
        return towers.with_tower(text, config, image_towers.moonvit)
    return towers.with_unknown_tower(text)
