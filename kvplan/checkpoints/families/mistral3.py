"""Mistral 3 and Ministral 3 as they ship: the text model under ``text_config``, a Pixtral tower beside it."""

from __future__ import annotations

from functools import partial

from kvplan.checkpoints import families, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config
from kvplan.errors import CannotJudge

MODEL_TYPES = ("mistral3",)


def read(config: Config) -> Architecture:
    """The nested model_type decides between grouped and latent attention.

    A flat file has none: as many KV heads as heads is how latent attention is written, and then the ranks are missing.
    """
    flat = config.text() is config
    if flat and config.get("num_key_value_heads") in (None, config.get("num_attention_heads")):
        raise CannotJudge(
            "text_config is missing: it says whether the KV cache is grouped or latent (MLA)", where=config.where,
            help="give the complete config.json of the model",
        )  # fmt: skip
    tower = partial(towers.pixtral_mistral3, merge=config.count("spatial_merge_size", default=2))
    return towers.with_tower(families.read_text(config, flat_type="mistral"), config, tower)
