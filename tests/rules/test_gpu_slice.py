"""MIG slices as ``nvidia-smi mig -lgip`` lists their memory, in GiB."""

from __future__ import annotations

import pytest

from kvplan.catalog.hardware import load_gpu, load_host
from kvplan.domain.interval import Interval
from kvplan.errors import InputError
from kvplan.rules.gpu_slice import cards_with, mig_slice, sliced
from kvplan.units import to_gib


@pytest.mark.parametrize(("gpu", "profile", "listed_gib"), [
    ("h100-sxm", "1g.10gb", 9.75), ("h100-sxm", "1g.20gb", 19.62), ("h100-sxm", "3g.40gb", 39.50),
    ("a100-sxm-40", "1g.5gb", 4.75), ("a100-sxm-40", "3g.20gb", 19.62), ("h200-sxm", "1g.18gb", 16.00),
])  # fmt: skip
def test_memory_of_a_slice(gpu: str, profile: str, listed_gib: float) -> None:
    part = mig_slice(load_gpu(gpu), profile)
    low, best, high = (to_gib(value) for value in part.hbm_bytes)
    assert low <= listed_gib * 1.005
    assert high >= listed_gib * 0.995
    assert best == pytest.approx(listed_gib, rel=0.07)


def test_rates_are_those_of_the_slices() -> None:
    """NVIDIA's MIG guide: 1g.10gb has an eighth of the memory and a seventh of the multiprocessors."""
    whole = load_gpu("h100-sxm")
    part = mig_slice(whole, "1g.10gb")
    assert whole.hbm_bytes_per_s and part.hbm_bytes_per_s and whole.flops and part.flops
    assert part.hbm_bytes_per_s * 8 == whole.hbm_bytes_per_s
    assert part.flops * 7 == pytest.approx(whole.flops)
    assert part.peer_bytes_per_s is None


@pytest.mark.parametrize(("gpu", "profile"), [
    ("h100-sxm", "1g.5gb"), ("a100-sxm-40", "7g.80gb"), ("h100-sxm", "9g.80gb"), ("l4", "1g.10gb"), ("h100-sxm", "big"),
])  # fmt: skip
def test_slices_that_a_card_does_not_have(gpu: str, profile: str) -> None:
    with pytest.raises(InputError):
        mig_slice(load_gpu(gpu), profile)


def test_cards_that_have_a_profile() -> None:
    assert cards_with("1g.6gb") == ("a30",)
    assert set(cards_with("1g.10gb")) >= {"a100-sxm", "h100-sxm"}
    assert cards_with("1g.18gb") == ("h200-sxm",)
    assert cards_with("x") == ()


def test_caps_and_shares_are_smaller_than_the_card() -> None:
    host = load_host("h100-server")
    assert host.gpu is not None
    capped, shared = sliced(host, None, "16Gi", None).gpu, sliced(host, None, None, 0.25).gpu
    assert capped is not None and shared is not None
    assert capped.hbm_bytes == Interval.exact(16 * 2**30)
    assert shared.hbm_bytes.best * 4 == host.gpu.hbm_bytes.best
    assert sliced(host, None, None, None) is host
    with pytest.raises(InputError):
        sliced(host, None, None, 1.5)
