"""What steps reach by the model, the type of its weights and the generation of the GPU."""

from __future__ import annotations

import pytest

from kvplan.assess import build_frame, speeds
from kvplan.core.shapes import GpuRates, ModelWork
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words

BEST = 1


def numbers(**words: object) -> tuple[ModelWork, GpuRates]:
    given = {"model": "llama-3.1-8b", "host": "h100-server", "gpus": 1, "engine": "vllm", "context": 4096}
    end = build_frame(resolve(Words(**given | words))).ends[BEST]  # type: ignore[arg-type]
    return end.model, end.gpu


def test_fixed_time_grows_with_the_kernels_of_a_step() -> None:
    small, large = numbers()[1], numbers(model="llama-3.1-70b", gpus=4)[1]
    assert large.step_overhead_s == pytest.approx(small.step_overhead_s * 80 / 32)
    # a vLLM single stream of this model: 6.44 ms a step on an H100, of which weights take 4.77
    assert small.step_overhead_s == pytest.approx(1.67e-3, rel=0.2)
    latent = numbers(model="deepseek-v3", gpus=8)[1]
    assert latent.step_overhead_s == pytest.approx(small.step_overhead_s * 61 * (1 + speeds.LATENT_LAYER) / 32)


def test_narrow_weights_are_multiplied_faster_where_the_chip_can() -> None:
    hopper, blackwell = (
        {name: numbers(host=host, weights=name)[1].decode_flops for name in ("bf16", "fp8", "nvfp4")}
        for host in ("h100-server", "b200-server")
    )
    assert hopper["fp8"] == 2 * hopper["bf16"] and hopper["nvfp4"] == hopper["bf16"]
    assert blackwell["nvfp4"] == 2 * blackwell["fp8"] == 4 * blackwell["bf16"]


def test_experts_alone_take_longer_to_read_than_their_bytes() -> None:
    assert numbers()[0].expert_surcharge == 0.0
    experts = {name: numbers(model="deepseek-v3", gpus=8, host="h200-server", weights=name)[0].expert_surcharge
               for name in ("bf16", "fp8", "int4-g32-experts")}  # fmt: skip
    assert experts["bf16"] == 0.0 < experts["fp8"] < experts["int4-g32-experts"]
    assert numbers(model="gpt-oss-120b", engine="llama.cpp", weights="mxfp4_moe")[0].expert_surcharge == 0.0


def test_without_captured_graphs_a_step_waits_for_its_launches() -> None:
    assert numbers()[1].launch_s == 0.0
    # Llama-2-70B on A100 by an eager vLLM of 2023: 43 to 45 ms with tp 4 and with tp 8 (splitwise-sim perf_model.csv)
    eager = numbers(model="llama2-70b", host="a100-server", gpus=8, tp=8, weights="fp16", enforce_eager=True)[1]
    assert eager.launch_s == pytest.approx(44e-3, rel=0.05)


@pytest.mark.parametrize(
    ("scheme", "kind"),
    [("fp8", "fp8"), ("fp8-b32-ue8m0", "fp8"), ("nvfp4", "fp4"), ("mxfp4", "fp4"), ("fp8+mxfp4-experts", "fp4"),
     ("int4-g32-experts", "int4"), ("awq-int4", "int4"), ("bf16", "other"), ("q4_k_m", "other")],
)  # fmt: skip
def test_a_scheme_is_known_by_its_kernels(scheme: str, kind: str) -> None:
    assert speeds.weight_class(scheme) == kind
