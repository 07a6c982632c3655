"""What a display holds: stated, or a class by platform; every engine has that much less."""

from __future__ import annotations

import pytest

from kvplan.assess import build_frame
from kvplan.catalog.hardware import load_host
from kvplan.catalog.models import load_model
from kvplan.deployments.resolve import resolve_on
from kvplan.deployments.words import Words
from kvplan.domain.interval import Interval
from kvplan.engines import all_engines
from kvplan.engines.free_memory import device_memory, display_reserve
from kvplan.engines.interface import MemoryPolicy
from kvplan.units import GIB, gib
from tests.engines.kit import line, on_platform, policy_of

MIB = 2**20
DISCRETE = sorted(set(all_engines()) - {"mlx"})


def policy_on(platform: str, **words: object) -> MemoryPolicy:
    given = {"engine": "vllm", "context": "8k", **words}
    host = on_platform(load_host(str(given.pop("host", "rtx4090"))), platform)
    deployment = resolve_on(Words(**given), load_model("llama3-8b"), host)  # type: ignore[arg-type]
    return build_frame(deployment).situation.policy


def test_a_stated_reserve_is_exact_and_zero_may_be_stated() -> None:
    for stated in (0.0, 1.5):
        policy = policy_of(host="rtx4090", engine="llama.cpp", display_reserve_gib=stated)
        gpu = load_host("rtx4090").gpu
        assert gpu is not None
        assert policy.budget.bytes == Interval(*(value - gib(stated) for value in gpu.hbm_bytes))


def test_a_desktop_that_says_nothing_may_or_may_not_have_a_display() -> None:
    reserve = display_reserve(load_host("rtx4090"))
    assert reserve.bytes.low == reserve.bytes.best == 0.0
    assert 785 * MIB <= reserve.bytes.high < 800 * MIB
    assert "class estimate" in reserve.formula and reserve.source


@pytest.mark.parametrize("host", ["h100-server", "m4-max", "strix-halo", "rtx4090-2x"])
def test_servers_and_unified_memory_have_none_of_their_own(host: str) -> None:
    assert display_reserve(load_host(host)).bytes == Interval.exact(0.0)


@pytest.mark.parametrize(
    ("platform", "held_mib"),
    [("linux", 33), ("linux", 640), ("windows", 1100), ("windows", 1650), ("wsl", 851), ("wsl", 1341)],
)
def test_what_was_measured_is_inside_its_class(platform: str, held_mib: int) -> None:
    span = display_reserve(on_platform(load_host("rtx4090"), platform)).bytes
    assert span.low <= held_mib * MIB <= span.high


@pytest.mark.parametrize("name", DISCRETE)
def test_every_engine_has_less_with_a_display(name: str) -> None:
    """No more than the display's part is missing, and no engine overlooks 4 GiB of it."""
    free = policy_of(host="rtx4090", engine=name, display_reserve_gib=0.0).budget.bytes
    held = policy_of(host="rtx4090", engine=name, display_reserve_gib=4.0).budget.bytes
    for one, other in zip(free, held, strict=True):
        assert 0.3 * GIB < one - other <= 4.0 * GIB * (1 + 1e-9)
    estimated = policy_on("wsl", engine=name).budget
    assert estimated.bytes.low < estimated.bytes.high <= free.high
    assert "class estimate" in estimated.formula


def test_vllm_under_wsl_starts_where_it_did() -> None:
    """RTX 5090 under WSL2: 30.12 of 31.84 GiB free, so that 0.95 (30.25 GiB) did not start and 0.93 did."""
    host = load_host("rtx5090")
    assert host.gpu is not None
    card = host._replace(gpu=host.gpu._replace(hbm_bytes=Interval.exact(gib(31.84))))
    texts = {}
    for utilization in (0.95, 0.93):
        words = Words(engine="vllm", context="8k", gpu_memory_utilization=utilization)
        deployment = resolve_on(words, load_model("llama3-8b"), on_platform(card, "wsl"))
        texts[utilization] = build_frame(deployment).situation.policy.warnings
    assert any("does not start" in text for text in texts[0.95])
    assert not texts[0.93]


def test_the_command_asks_for_a_share_that_starts() -> None:
    text = line("hbm", host="rtx4090", engine="vllm", display_reserve_gib=3)
    assert text is not None
    share = float(text.split("--gpu-memory-utilization ")[1].split()[0])
    total = load_host("rtx4090").gpu
    assert total is not None
    assert share * total.hbm_bytes.best <= total.hbm_bytes.best - gib(3.0) - gib(0.384)
    plain = line("hbm", host="rtx4090", engine="vllm")
    assert plain is not None and "--gpu-memory-utilization" not in plain


def test_memory_without_a_gpu_is_what_the_system_leaves() -> None:
    host = load_host("h100-server")._replace(gpu=None)
    assert host.dram_bytes is not None
    assert device_memory(host).bytes.best == host.dram_bytes - host.os_reserve_bytes
