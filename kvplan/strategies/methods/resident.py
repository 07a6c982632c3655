"""Ways to attend to KV that is all in GPU memory: to all of it, or to the pages that matter (Quest)."""

from __future__ import annotations

from kvplan.domain.interval import Interval
from kvplan.strategies.interface import EXACT, RESIDENT, Accuracy, Ends, Input, Method, Situation, ends, same

DENSE = Method(
    "dense",
    "full attention",
    setup="every engine, every model",
    charges=lambda _: same(RESIDENT),
    formula=(
        "HBM   = weights + activations + runtime + graphs + users x KV bytes of one sequence",
        "T     = t0 + weights read / (e_w x HBM rate) + users x KV bytes / (e_a x HBM rate) + all-reduces",
    ),
    inputs=(),
    accuracy=EXACT,
    evidence=("40 published decode rows on 5 GPUs and 8 models: 2.5 % median error",),
    source="papers and blogs of the rows in tests/truth",
    stock_engines=("vllm", "sglang", "llama.cpp", "tensorrt-llm", "mlx", "ollama"),
    reads_latents=True,
)

QUEST_TOKENS = 2048.0
_PAGE_TOKENS = 16.0
_DENSE_LAYERS = 2.0
_SELECT_S = Interval(8e-6, 20e-6, 35e-6)


def _quest(situation: Situation) -> Ends:
    """Largest and smallest key of every page: two vectors beside the 32 of its tokens. Two layers stay dense."""
    dense = min(_DENSE_LAYERS / situation.deployment.model.layers, 1.0)
    digests = 1.0 / _PAGE_TOKENS
    return ends(
        resident_fraction=1.0 + (1.0 - dense) * digests,
        read_fraction=dense + (1.0 - dense) * digests,
        read_tokens=(1.0 - dense) * QUEST_TOKENS,
        sync_s_per_layer=_SELECT_S,
    )


QUEST = Method(
    "quest",
    "Quest",
    setup="Llama-2-7B, one sequence of 8k to 32k tokens, on RTX 6000 Ada; pages of 16 tokens, 512 to 4096 chosen",
    charges=_quest,
    formula=(
        "HBM   = as full attention, and 1/16 more: two key vectors for every page of 16 tokens",
        "T     = t0 + weights + users x (KV bytes of 2 layers + of the others 1/16 and 2048 tokens) / (e_a x HBM rate)",
        "        + layers x 20 us to choose",
    ),
    inputs=(
        Input("time to choose pages, for each layer", _SELECT_S, "s", "Quest: top-k 5 to 10 us, criticality beside it"),
    ),
    accuracy=Accuracy(4.2, 8.1, "RULER at 16k to 96k", "MagicPIG's runs of Quest (16, 0.04): 7.9, 6.1, 4.2, 8.1"),
    evidence=(
        "RTX 6000 Ada, Llama-2-7B: 21.2 ms at 32k with 2048 tokens, 36.8 with full attention",
        "needs a key for every head and page: it saves time, never memory",
    ),
    source="Quest (ICML 24), figure 10",
    cautions=("saves no memory: all KV and 1/16 more stays in HBM",),
)

METHODS = (DENSE, QUEST)
