"""Kimi K3 as it ships: Kimi Linear under ``text_config``, and a vision tower without biases."""

from __future__ import annotations

from kvplan.checkpoints import families, towers
from kvplan.checkpoints.architecture import Architecture
from kvplan.checkpoints.config import Config

MODEL_TYPES = ("kimi_k3",)
_SIDES = (
    "vt_hidden_size", "vt_intermediate_size", "vt_num_hidden_layers", "qkv_hidden_size", "patch_size",
    "init_pos_emb_height", "init_pos_emb_width", "mm_hidden_size", "merge_kernel_size",
)  # fmt: skip


def read(config: Config) -> Architecture:
    return towers.with_tower(families.read_text(config, flat_type="kimi_linear"), config, _vision)


def _vision(vision: Config, text_hidden: int) -> int | None:
    """Patches 3·p²·E, a position for every patch of the grid, blocks whose attention has a width of its own, a norm.

    The projector joins the merged patches: m·E -> m·E -> D, and a norm of D.
    """
    if any(vision.get(key) is None for key in _SIDES):
        return None
    width, inner, heads = (vision.count(key) for key in ("vt_hidden_size", "vt_intermediate_size", "qkv_hidden_size"))
    grid = vision.count("init_pos_emb_height") * vision.count("init_pos_emb_width")
    merged = vision.count("mm_hidden_size")
    for side in vision.whole_list("merge_kernel_size"):
        merged *= side
    block = 4 * width * heads + 2 * width * inner + 2 * width
    tower = (3 * vision.count("patch_size") ** 2 + grid + 1) * width + vision.count("vt_num_hidden_layers") * block
    return tower + merged * (merged + text_hidden) + text_hidden
