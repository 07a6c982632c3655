"""What ``general.architecture`` means for the KV cache: windows that older files leave out, and recurrent states.

An architecture that is not here is refused: no layout is guessed. ``model_type`` is what the config.json of such a
model calls it. Source: the hyperparameters that llama.cpp sets for each architecture when it loads a file (May 2026).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Windows(NamedTuple):
    """Sliding layers where the file does not list them."""

    period: int | None
    """Every so many-th layer is full; None: the file itself must list its layers."""
    tokens: int | None = None
    """The window where the file states none."""
    needed: bool = False
    """Without a stated window and a default the file can't be judged; else it has full layers alone."""
    first_full: bool = False
    """The first layer of each period is the full one, not the last."""
    kind: str = "sliding"
    only_layers: int | None = None
    """The default window holds for the model with so many layers alone (the 1.2B EXAONE 4 has none)."""


class Rules(NamedTuple):
    """One architecture of GGUF files."""

    model_type: str
    windows: Windows | None = None
    state: str | None = None
    """Kind of its recurrent layers: mamba1, mamba2, gdn, kda or conv."""
    all_recurrent: bool = False
    """Every layer has a state; with ``attends`` an attention beside it."""
    attends: bool = True
    skips: bool = False
    """Layers without KV heads have no attention at all."""
    mixers: bool = False
    """A layer is one mixer: an attention, a state or a feed-forward part, not two of them."""
    latent: bool = False
    """Keys and values come from a latent; files from before ``key_length_mla`` are cached expanded."""
    shared_from: int | None = None
    """First layer that uses the KV of earlier ones, for files that don't say how many do."""


_PLAIN: Final = (
    "llama falcon baichuan grok gpt2 gptj gptneox mpt starcoder refact bloom stablelm qwen qwen2 phi2 phi3 phimoe "
    "plamo codeshell orion internlm2 minicpm minicpm3 gemma starcoder2 xverse command-r dbrx olmo olmoe openelm arctic "
    "deepseek deepseek2-ocr chatglm glm4 bitnet jais jais2 nemotron exaone granite granitemoe chameleon plm bailingmoe "
    "bailingmoe2 dots1 arcee ernie4_5 ernie4_5-moe hunyuan-moe hunyuan-dense hunyuan_vl smollm3 seed_oss grovemoe "
    "apertus minimax-m2 cogvlm pangu-embedded mistral3 paddleocr maincoder qwen2moe qwen2vl qwen3 qwen3moe qwen3vl "
    "qwen3vlmoe glm4moe"
).split()
"""Architectures whose layers all keep every token."""

_MODEL_TYPES: Final = {
    "command-r": "cohere", "gptneox": "gpt_neox", "phi2": "phi", "deepseek2-ocr": "deepseek_ocr",
    "hunyuan-moe": "hunyuan_v1_moe", "hunyuan-dense": "hunyuan_v1_dense", "bailingmoe": "bailing_moe",
    "bailingmoe2": "bailing_moe", "qwen2moe": "qwen2_moe", "qwen2vl": "qwen2_vl", "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3_vl", "qwen3vlmoe": "qwen3_vl_moe", "glm4moe": "glm4_moe", "mistral3": "ministral3",
    "ernie4_5-moe": "ernie4_5_moe",
}  # fmt: skip

ARCHITECTURES: Final[dict[str, Rules]] = {
    **{name: Rules(_MODEL_TYPES.get(name, name.replace("-", "_"))) for name in _PLAIN},
    "deci": Rules("nemotron-nas", skips=True),
    "gemma2": Rules("gemma2", Windows(2, tokens=4096)),
    "gemma3": Rules("gemma3_text", Windows(6)),
    "gemma3n": Rules("gemma3n_text", Windows(5, needed=True), shared_from=20),
    "gemma4": Rules("gemma4_text", Windows(None, needed=True)),
    "cohere2": Rules("cohere2", Windows(4, needed=True)),
    "olmo2": Rules("olmo2", Windows(4)),
    "exaone4": Rules("exaone4", Windows(4, tokens=4096, only_layers=64)),
    "exaone-moe": Rules("exaone_moe", Windows(4, tokens=128)),
    "gpt-oss": Rules("gpt_oss", Windows(2, needed=True)),
    "afmoe": Rules("afmoe", Windows(4)),
    "llama4": Rules("llama4_text", Windows(4, tokens=8192, kind="chunked")),
    "smallthinker": Rules("smallthinker", Windows(4, first_full=True)),
    "plamo3": Rules("plamo3", Windows(8)),
    "mimo2": Rules("mimo_v2_flash", Windows(None, needed=True)),
    "step35": Rules("step3p5", Windows(None, needed=True)),
    "deepseek2": Rules("deepseek_v3", latent=True),
    "mistral4": Rules("mistral4", latent=True),
    "glm-dsa": Rules("glm_moe_dsa", latent=True),
    "mamba": Rules("mamba", state="mamba1", all_recurrent=True, attends=False),
    "mamba2": Rules("mamba2", state="mamba2", all_recurrent=True, attends=False),
    "jamba": Rules("jamba", state="mamba1"),
    "granitehybrid": Rules("granitemoehybrid", state="mamba2"),
    "nemotron_h": Rules("nemotron_h", state="mamba2", mixers=True),
    "nemotron_h_moe": Rules("nemotron_h", state="mamba2", mixers=True),
    "plamo2": Rules("plamo2", state="mamba2"),
    "falcon-h1": Rules("falcon_h1", state="mamba2", all_recurrent=True),
    "qwen3next": Rules("qwen3_next", state="gdn"),
    "qwen35": Rules("qwen3_5", state="gdn"),
    "qwen35moe": Rules("qwen3_5_moe", state="gdn"),
    "kimi-linear": Rules("kimi_linear", state="kda", latent=True),
    "lfm2": Rules("lfm2", Windows(0), state="conv"),
    "lfm2moe": Rules("lfm2_moe", state="conv"),
}

WITHOUT_CACHE: Final = {
    **dict.fromkeys(
        "bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding "
        "llama-embed t5encoder wavtokenizer-dec".split(),
        "an encoder",
    ),
    **dict.fromkeys("dream llada llada-moe rnd1".split(), "a diffusion model"),
}
"""Architectures that llama.cpp runs without a KV cache."""
