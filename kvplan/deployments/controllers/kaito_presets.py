"""What KAITO's preset names and Azure's GPU machines stand for.

Source: KAITO's ``presets/workspace/models`` (supported_models.yaml, model_catalog.yaml) for names, repositories and
sizes of checkpoints; ``pkg/sku/azure_sku_handler.go`` and Azure's size pages for GPUs of a machine.
"""

from __future__ import annotations

from typing import Final

_HUB: Final = {
    "deepseek-ai": {"DeepSeek-R1-Distill-Llama-8B": 14.96, "DeepSeek-R1-Distill-Qwen-14B": 27.51,
                    "DeepSeek-R1-0528": 641.3, "DeepSeek-V3-0324": 641.3},
    "google": {"gemma-3-4b-it": 8.01, "gemma-3-27b-it": 51.1},
    "meta-llama": {"Llama-3.1-8B-Instruct": 14.96, "Llama-3.3-70B-Instruct": 131.42},
    "microsoft": {"phi-2": 12.0, "phi-4": 27.31, "Phi-4-mini-instruct": 7.15, "Phi-3-mini-4k-instruct": 7.12,
                  "Phi-3-mini-128k-instruct": 7.12, "Phi-3-medium-4k-instruct": 26.0,
                  "Phi-3-medium-128k-instruct": 26.0, "Phi-3.5-mini-instruct": 7.12},
    "mistralai": {"Mistral-7B-v0.3": 13.5, "Mistral-7B-Instruct-v0.3": 13.5,
                  "Ministral-3-3B-Instruct-2512": 4.35, "Ministral-3-8B-Instruct-2512": 9.7,
                  "Ministral-3-14B-Instruct-2512": 14.65, "Mistral-Large-3-675B-Instruct-2512": 634.7},
    "openai": {"gpt-oss-20b": 25.63, "gpt-oss-120b": 121.54},
    "Qwen": {"Qwen2.5-Coder-7B-Instruct": 14.19, "Qwen2.5-Coder-32B-Instruct": 61.03},
    "tiiuae": {"falcon-7b": 14.0, "falcon-7b-instruct": 14.0, "falcon-40b": 90.0, "falcon-40b-instruct": 90.0},
}  # fmt: skip
_OTHER_NAMES: Final = {
    "mistral-7b": "Mistral-7B-v0.3", "mistral-7b-instruct": "Mistral-7B-Instruct-v0.3",
    "gemma-3-4b-instruct": "gemma-3-4b-it", "gemma-3-27b-instruct": "gemma-3-27b-it",
    "ministral-3-3b-instruct": "Ministral-3-3B-Instruct-2512",
    "ministral-3-8b-instruct": "Ministral-3-8B-Instruct-2512",
    "ministral-3-14b-instruct": "Ministral-3-14B-Instruct-2512",
    "mistral-large-3-675b-instruct": "Mistral-Large-3-675B-Instruct-2512",
}  # fmt: skip

CHECKPOINT_GIB: Final[dict[str, float]] = {
    f"{owner}/{name}": gib for owner, models in _HUB.items() for name, gib in models.items()
}
"""Repository -> GiB that KAITO counts for it: its safetensors files, for the oldest presets a round requirement."""

_BY_NAME = {repository.partition("/")[2].lower(): repository for repository in CHECKPOINT_GIB}

AZURE_GPUS: Final[dict[str, tuple[int, float]]] = {
    "nc4as_t4_v3": (1, 16), "nc8as_t4_v3": (1, 16), "nc16as_t4_v3": (1, 16), "nc64as_t4_v3": (4, 64),
    "nv36ads_a10_v5": (1, 24), "nv72ads_a10_v5": (2, 48), "nc24ads_a100_v4": (1, 80), "nc48ads_a100_v4": (2, 160),
    "nc96ads_a100_v4": (4, 320), "nd96asr_a100_v4": (8, 320), "nd96asr_v4": (8, 320), "nd96amsr_a100_v4": (8, 640),
    "nc40ads_h100_v5": (1, 94), "nc80adis_h100_v5": (2, 188), "ncc40ads_h100_v5": (1, 94),
    "nd96isr_h100_v5": (8, 640), "nd96isr_h200_v5": (8, 1128), "nc6s_v3": (1, 16), "nc12s_v3": (2, 32),
    "nc24s_v3": (4, 64), "nc24rs_v3": (4, 64), "nd40rs_v2": (8, 256),
}  # fmt: skip
"""Azure size in lower case, without ``Standard_`` -> GPUs and their memory together, as KAITO counts it."""


def repository_of(preset: str) -> str | None:
    """The Hub repository that a preset downloads; a preset may also be a repository itself."""
    if "/" in preset:
        return next((known for known in CHECKPOINT_GIB if known.lower() == preset.lower()), preset)
    name = _OTHER_NAMES.get(preset.lower(), preset).lower()
    return _BY_NAME.get(name)


def azure_gpus(instance: str) -> tuple[int, float] | None:
    """GPUs of an Azure size and their memory in GiB."""
    return AZURE_GPUS.get(instance.lower().removeprefix("standard_"))
