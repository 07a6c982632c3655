"""MLX on Apple silicon: ``mlx_lm.server``, and ``mlx_lm.generate`` for one user, mlx-lm 0.30.6 to 0.32.

Nothing is reserved at the start. KV grows in steps of 256 tokens up to what macOS lets the GPU wire, and the requests
that decode together are padded to the longest of them. Prefill runs 2048 tokens at a time; its working memory is
large. Source: mlx-lm 0.32 (models/cache.py, generate.py, server.py), MLX scaled_dot_product_attention.cpp.
"""

from __future__ import annotations

import math

from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import KvFormat
from kvplan.domain.model import Model
from kvplan.engines.drafting import draft_warnings
from kvplan.engines.free_memory import device_memory
from kvplan.engines.interface import KvKernel, MemoryPolicy, StateBytes, Term
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.engines.mlx_pool import kv_layout as mlx_kv_layout
from kvplan.engines.pace import MLX
from kvplan.engines.processes import mlx_processes
from kvplan.engines.served_files import served_model
from kvplan.engines.versions import release, within
from kvplan.units import GIB, gib

CHUNK_TOKENS = 2048
_STEP_TOKENS = 256
_FUSED_WIDTHS = (64, 80, 128)
"""Head widths that MLX's prefill attention is fused for; others hold all scores of a chunk (96 is fused lately)."""
_FREES_WINDOWS = (
    "afmoe", "baichuan_m1", "cohere2", "exaone4", "exaone_moe", "gemma3", "gemma4", "gpt_oss", "iquestloopcoder",
    "laguna", "llama", "mellum", "mimo_v2", "ministral3", "olmo3", "plamo2", "recurrent_gemma", "step3p5",
)  # fmt: skip
"""Families whose files in mlx-lm make a rotating cache for sliding layers; elsewhere these keep every token."""
_CACHE = "mlx-lm 0.32 models/cache.py: bits + 16-bit scale and bias over a group of 64"
_BENCHMARKS = "mlx-lm BENCHMARKS.md, peak memory of Qwen3-4B and Qwen3-30B-A3B on an M4 Max (fit, 5 % of the peak)"


_MIXTURE_RATE = Interval(0.6, 0.85, 1.0)
"""Mixtures and MLA decode below what their bytes take, dense models do not.

Source: of the rate of dense ones, Qwen3-30B-A3B on M4 Max 0.84 to 0.90 (mlx-lm BENCHMARKS.md); Qwen3.5-35B-A3B and
122B-A10B on M2 Ultra 0.57 to 0.60 at 4k tokens; DeepSeek-V3 4-bit on M3 Ultra 0.63 (17 to 18 tokens/s).
"""


class Mlx:
    """``mlx_lm.server``."""

    name = "mlx"
    aliases: tuple[str, ...] = ("mlx-lm", "mlx_lm")
    newest_version = "0.32"
    pace = MLX
    splits_layers = False
    lighter_weights: tuple[str, ...] = ("mlx-8bit", "mlx-6bit", "mlx-5bit", "mlx-4bit")
    settings_flags: dict[str, str] = {}

    def resolve_version(self, version: str) -> str:
        return within(version, engine="mlx-lm", oldest="0.30.6", newest=self.newest_version)

    def runs_on(self, gpu: Gpu) -> bool:
        return gpu.vendor.lower() == "apple"

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        nothing = Term(Interval.exact(0.0), "none", "MLX compiles kernels, and keeps no graphs")
        return MemoryPolicy(
            budget=device_memory(deployment.host),
            activation=_activation(deployment),
            runtime=Term(
                Interval(gib(0.1), gib(0.3), gib(1.0)),
                "Metal context, Python, freed buffers kept for reuse",
                "class estimate: no published figure found",
            ),
            graphs=nothing,
            block_tokens=_STEP_TOKENS,
            prefill_chunk_tokens=CHUNK_TOKENS,
            window_in_flight_tokens=CHUNK_TOKENS - 1,
            window_growth_fraction=0.0 if deployment.model.model_type.startswith(_FREES_WINDOWS) else 1.0,
            state_bytes=StateBytes(2.0, 4.0),
            read_fraction=_MIXTURE_RATE if _is_slow(deployment.model) else Interval.exact(1.0),
            paged=False,
            engine_dram=nothing._replace(formula="inside the one pool"),
            core_lines=mlx_processes(),
            warnings=_warnings(deployment),
        )

    def weight_extras(self, deployment: Deployment) -> float:
        return 0.0

    def kv_kernels(self, gpu: Gpu) -> dict[str, KvKernel]:
        return {
            f"int{bits}": KvKernel(
                KvFormat(f"{bits}-bit-g64", bits / 8 + 4 / 64), str(bits), _CACHE, reads_windows=False,
                vector_multiple=64, unfused_chunk_tokens=CHUNK_TOKENS,
            )
            for bits in (8, 4)
        }  # fmt: skip

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        """Only ``mlx_lm.generate`` quantizes its cache, for one user; by default it would begin at token 5000."""
        if deployment.workload.users > 1:
            return None
        return (f"--kv-bits {kernel.flag}", "--kv-group-size 64", "--quantized-kv-start 0")

    def kv_layout(self, question: KvQuestion) -> KvLayout:
        """What one sequence takes; there is no pool."""
        frees_windows = question.deployment.model.model_type.startswith(_FREES_WINDOWS)
        return mlx_kv_layout(question, frees_windows)

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        model, workload = served_model(deployment), deployment.workload
        output = [f"--max-tokens {workload.output_tokens}"] if workload.output_tokens else []
        if any(flag.startswith("--kv-bits") for flag in extra_flags):
            return " ".join([f"mlx_lm.generate --model {model}", *extra_flags, *output, "--prompt -"])
        parts = [f"mlx_lm.server --model {model}", f"--decode-concurrency {workload.users}", "--prompt-concurrency 1"]
        if release(deployment.engine.version) >= (0, 31):
            parts.append(f"--prompt-cache-bytes {math.ceil(_cache_bytes(deployment))}")
        return " ".join([*parts, *output, *extra_flags])


def score_bytes_per_token(model: Model) -> float:
    """Attention scores of one chunk for each token of context, where they are not fused: heads x 2048 x 2 bytes."""
    return model.attention_heads * CHUNK_TOKENS * 2.0


def _is_slow(model: Model) -> bool:
    return model.experts is not None or any(layers.latent for layers in model.kv)


def _fused(deployment: Deployment) -> bool:
    """Whether prefill holds no scores: a quantized cache does, and MLA adds those of the rope part as a mask."""
    model = deployment.model
    if (deployment.settings.kv_cache_dtype or "auto").startswith(("int", "8", "4")):
        return False
    kept = [layers for layers in model.kv if layers.state is None]
    return all(not layers.latent and layers.key_elements in _FUSED_WIDTHS for layers in kept)


def _activation(deployment: Deployment) -> Term:
    """Working memory of one prefill chunk (``--prompt-concurrency 1``): hidden states, gathered experts, scores."""
    model = deployment.model
    width = float(model.intermediate_size)
    gathered = 0.0
    if model.experts is not None:
        width = max(width, float(model.experts.experts_per_token * model.experts.intermediate_size))
        gathered = 5.0 * model.experts.experts_per_token * model.hidden_size
    best = CHUNK_TOKENS * 2.0 * (10.0 * model.hidden_size + 14.0 * width + gathered)
    formula = f"{CHUNK_TOKENS} tokens x 2 B x (10 x hidden size + 14 x feed-forward width + experts)"
    if _fused(deployment):
        return Term(Interval(0.5 * best, best, 1.6 * best), formula, _BENCHMARKS)
    scores = score_bytes_per_token(model) * deployment.workload.context_tokens
    source = f"{_BENCHMARKS}; ladder of Qwen3.6-35B-A3B to 192k tokens, mlx-lm issue 1480"
    # from MLX 0.32.2 on a fused kernel for 256-wide heads can be chosen; older fallbacks hold scores in 32 bits
    ends = Interval(0.5 * best, best + scores, 1.6 * best + 2.0 * scores)
    return Term(ends, f"{formula} + query heads x {CHUNK_TOKENS} x 2 B x context", source)


def _cache_bytes(deployment: Deployment) -> float:
    """KV of all users in 16 bits: what ``--prompt-cache-bytes`` holds active and finished sequences to."""
    steps = -(-deployment.workload.context_tokens // _STEP_TOKENS) * _STEP_TOKENS
    one = sum(
        layers.layers * 2.0 * layers.elements_per_token * min(layers.window_tokens or steps, steps)
        for layers in deployment.model.kv
    )
    return max(one * deployment.workload.users, GIB)


def _warnings(deployment: Deployment) -> tuple[str, ...]:
    found = ["not calibrated: mlx-lm's working memory rests on two models, at 2048 tokens", *draft_warnings(deployment)]
    if any(layers.latent for layers in deployment.model.kv):
        found.append("not calibrated: mlx-lm on MLA; an older MLX decoded DeepSeek-V3 at 6.4 tokens/s after 13k tokens")
    if deployment.weight_scheme.llama_cpp:
        found.append(f"mlx-lm does not read GGUF files such as {deployment.weight_scheme.name}: see --weights mlx-4bit")
    if deployment.layout.gpus > 1:
        found.append("not calibrated: mlx-lm over several Macs is not modelled")
    return tuple(found)


ENGINE = Mlx()
