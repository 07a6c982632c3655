"""MLX: only on Apple silicon, peaks as its authors measured, and the command lines of its two programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvplan.assess import build_frame, numbers
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.core.kv_cache import sequence_bytes
from kvplan.deployments.resolve import resolve, resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.kv_format import NATIVE_16_BIT
from kvplan.engines import find_engine
from kvplan.engines.interface import kernels_for
from kvplan.engines.mlx import score_bytes_per_token
from kvplan.errors import CannotJudge, InputError
from tests.engines.kit import judged, line, policy_of

TRUTH = Path(__file__).parent.parent / "truth" / "mlx_peaks.jsonl"
PEAKS = [json.loads(text) for text in TRUTH.read_text().splitlines()]
GB = 1e9


@pytest.mark.parametrize("row", PEAKS, ids=lambda row: row["id"])
def test_the_peak_is_what_mlx_measured(row: dict[str, Any]) -> None:
    """Weights, KV and one chunk's working memory; Python and Metal are not in MLX's own counter."""
    words = Words(model=row["model"], host="m4-max", engine="mlx", weights=row["weights"], context=row["context"])
    frame = build_frame(resolve(words))
    deployment, policy = frame.deployment, frame.situation.policy
    kv = sequence_bytes(
        numbers.kv_growths(deployment.model, NATIVE_16_BIT, deployment.layout, policy), float(row["context"])
    )
    low, best, high = (
        (weights + kv + activation) / GB
        for weights, activation in zip(numbers.weight_bytes(deployment), policy.activation.bytes, strict=True)
    )
    assert low <= row["peak_gb"] <= high
    assert best == pytest.approx(row["peak_gb"], rel=0.05)


@pytest.mark.parametrize("row", PEAKS, ids=lambda row: row["id"])
def test_the_step_is_what_mlx_measured(row: dict[str, Any]) -> None:
    found = judged("hbm", model=row["model"], host="m4-max", engine="mlx", weights=row["weights"], context="2k")
    itl_s = found.strategies[0].itl_s
    assert itl_s is not None
    assert itl_s.low <= 1.0 / row["tokens_per_s"] <= itl_s.high


def test_unfused_prefill_holds_the_scores_of_a_chunk() -> None:
    # Qwen3.6-35B-A3B (16 query heads of 256, 10 full layers with 2 KV heads) on an M5 Max, 4-bit: 21.7 GB at 8k tokens,
    # 38.0 GB at 192k, in a straight line: mlx-lm issue 1480
    measured = (38.0e9 - 21.7e9) / (184 * 1024)
    wide = load_model("qwen3-4b")._replace(attention_heads=16)
    kv_bytes_per_token = 10 * 2 * (256 + 256) * 2
    assert score_bytes_per_token(wide) + kv_bytes_per_token == pytest.approx(measured, rel=0.02)


def test_head_widths_without_a_fused_kernel_are_charged_with_context() -> None:
    host, model = load_host("m4-max"), load_model("llama3-8b")
    wide = model._replace(kv=tuple(layers._replace(key_elements=256, value_elements=256) for layers in model.kv))
    words = Words(engine="mlx", context="64k")
    narrow_high = build_frame(resolve_on(words, model, host)).situation.policy.activation.bytes.high
    activation = build_frame(resolve_on(words, wide, host)).situation.policy.activation.bytes
    assert activation.low <= narrow_high
    assert activation.best - narrow_high > 32 * 2048 * 2 * 50_000


@pytest.mark.parametrize("host", ["rtx4090", "strix-halo", "h100-server"])
def test_only_apple_silicon(host: str) -> None:
    with pytest.raises(CannotJudge) as raised:
        policy_of(host=host, engine="mlx")
    assert "mlx" in str(raised.value) and "--engine" in str(raised.value.help)


@pytest.mark.parametrize("version", ["0.29.1", "0.30.5", "0.33", "1.0"])
def test_versions_without_batches_or_unseen_are_refused(version: str) -> None:
    with pytest.raises(InputError, match="not modelled"):
        find_engine("mlx").resolve_version(version)


def test_kv_bits_store_scales_and_biases() -> None:
    # papers.md: b + 0.5 bits an element with groups of 64
    gpu = load_host("m4-max").gpu
    assert gpu is not None
    kernels = find_engine("mlx").kv_kernels(gpu)
    assert {name: kernel.format.element_bytes * 8 for name, kernel in kernels.items()} == {"int8": 8.5, "int4": 4.5}


@pytest.mark.parametrize("model", ["deepseek-v3", "gpt-oss-20b", "gemma-3-27b", "phi-3.5-mini"])
def test_latents_windows_and_odd_widths_have_no_quantized_cache(model: str) -> None:
    """MLA reads its latent directly, rotating caches cannot be quantized, and 96 is no multiple of the group."""
    gpu = load_host("m4-max").gpu
    assert gpu is not None
    assert not kernels_for(find_engine("mlx"), gpu, load_model(model))


def test_one_user_can_quantize_with_generate_and_many_cannot() -> None:
    alone = line("kv-int4", host="m4-max", engine="mlx")
    assert alone == (
        "mlx_lm.generate --model meta-llama/Llama-3.1-8B-Instruct"
        " --kv-bits 4 --kv-group-size 64 --quantized-kv-start 0 --prompt -"
    )
    many = judged("kv-int4", host="m4-max", engine="mlx", users=2).strategies[0]
    assert (many.outcome, many.bound_by, many.flags) == ("na", "kernel", None)


def test_a_quantized_cache_pays_for_the_scores_of_its_prefill() -> None:
    """32 heads x 2048 tokens x 2 B is as much for a token of context as the whole 16-bit cache of an 8B model."""
    kept = {}
    for name in ("hbm", "kv-int4"):
        budget = judged(name, host="m4-max", engine="mlx").strategies[0].budgets["hbm"]
        kept[name] = next(part.value for part in budget.parts if part.name == "kv")
    assert kept["kv-int4"] == pytest.approx((0.5625 / 2 + 1.0) * kept["hbm"])


def test_the_server_line_bounds_what_is_kept() -> None:
    text = line("hbm", host="m4-max", engine="mlx", users=8, weights="mlx-4bit")
    assert text is not None
    kv_bytes = 8 * 8192 * 131072
    assert text == (
        "mlx_lm.server --model PATH/TO/Llama-3.1-8B-Instruct-mlx-4bit --decode-concurrency 8 --prompt-concurrency 1"
        f" --prompt-cache-bytes {kv_bytes}"
    )
    older = line("hbm", host="m4-max", engine="mlx@0.30.7", users=8)
    assert older is not None and "--prompt-cache-bytes" not in older


def test_a_gguf_file_is_not_for_mlx() -> None:
    found = judged("hbm", host="m4-max", engine="mlx", weights="q4_k_m")
    assert any("GGUF" in text for text in found.warnings)


def test_windows_are_freed_only_where_mlx_makes_a_rotating_cache() -> None:
    assert policy_of(model="gemma-3-27b", host="m4-max", engine="mlx").window_growth_fraction == 0.0
    assert policy_of(model="gemma2-9b", host="m4-max", engine="mlx").window_growth_fraction == 1.0
