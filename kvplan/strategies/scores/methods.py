"""What methods that choose tokens lose by class of task. It is the choosing that loses, not where the KV lies."""

from __future__ import annotations

from kvplan.strategies.interface import Accuracy

_RETROINFER = "RetroInfer v3 (PVLDB)"
_MAGICPIG = "MagicPIG, Llama-3.1-8B"

METHODS: dict[str, dict[str, Accuracy]] = {
    "retroinfer": {
        "retrieval": Accuracy(0.66, 1.97, "RULER at 128k, four models", _RETROINFER),
        "reasoning": Accuracy(0.0, 3.3, "AIME24 pass@8 (73.3 to 76.7, a gain; one problem is 3.3 points)",
                              _RETROINFER),
    },
    "infinigen": {"reasoning": Accuracy(36.6, 36.6, "AIME24 pass@8 of an 8B model (73.3 to 36.7)", _RETROINFER)},
    "pqcache": {"reasoning": Accuracy(43.3, 43.3, "AIME24 pass@8 of an 8B model (73.3 to 30.0)", _RETROINFER)},
    "quest": {
        "retrieval": Accuracy(4.2, 8.6, "RULER at 16k to 96k (two settings)", _MAGICPIG),
        "reasoning": Accuracy(26.6, 26.6, "AIME24 pass@8 of an 8B model (73.3 to 46.7)", _RETROINFER),
    },
    "magicpig": {"retrieval": Accuracy(1.3, 3.0, "RULER at 16k to 96k", _MAGICPIG)},
    "scoutattention": {"retrieval": Accuracy(2.1, 2.5, "LongBench (2048 and 1024 chosen tokens)", "ScoutAttention")},
}  # fmt: skip
"""Method -> class of task -> loss. ShadowKV, RetrievalAttention and KTransformers' sparse attention: nothing found."""
