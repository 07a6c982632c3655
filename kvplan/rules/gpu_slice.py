"""A part of a GPU: a MIG slice, a cap on its memory, or a share of it. It is smaller than the card."""

from __future__ import annotations

import re

from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval
from kvplan.errors import InputError
from kvplan.rules.surroundings import quantity_bytes
from kvplan.units import to_gib

_PROFILE = re.compile(r"(\d)g\.(\d{1,3})gb", re.IGNORECASE)
_VISIBLE = Interval(0.91, 0.97, 1.0)
"""Of a card's memory, divided by its slices, what one slice has. Source: ``nvidia-smi mig -lgip`` lists 9.75 GiB for
1g.10gb and 39.50 for 3g.40gb of an H100 (79.19 GiB), 4.75 for 1g.5gb of an A100 (39.49), 16.00 for 1g.18gb of an H200
(139.8)."""
_IN_FOUR = ("A30 ", "RTX PRO")
_SLICED = (*_IN_FOUR, "A100", "H100", "H800", "H20", "H200", "GH200", "B200", "B300", "GB200", "GB300")
"""How the cards that can be sliced are called, and which of them have four slices. Source: NVIDIA's MIG user guide."""
_SLICES = (1, 2, 4, 8)
"""Slices of memory that profiles have: 3g and 4g have half of them."""
_LABEL_GIGABYTES = (
    ("a30", 24.0, 4, 4), ("a100-sxm-40", 40.0, 8, 7), ("a100-sxm", 80.0, 8, 7), ("h100-sxm", 80.0, 8, 7),
    ("h200-sxm", 141.0, 8, 7), ("b200", 180.0, 8, 7), ("rtx-pro-6000", 96.0, 4, 4),
)  # fmt: skip
"""GPU, gigabytes on its label, slices of memory, slices of compute. Source: NVIDIA's MIG user guide."""


def sliced(host: Host, profile: str | None, memory_limit: str | None, fraction: float | None) -> Host:
    """The host as a container sees it that was given parts of its GPUs. InputError for a part that can't be."""
    gpu = host.gpu
    if gpu is None or (profile is None and memory_limit is None and fraction is None):
        return host
    if profile is not None:
        gpu = mig_slice(gpu, profile)
    if memory_limit is not None:
        limit = quantity_bytes(memory_limit)
        gpu = gpu._replace(hbm_bytes=gpu.hbm_bytes.map(lambda value: min(value, limit)))
    if fraction is not None:
        gpu = _share(gpu, fraction)
    return host._replace(gpu=gpu)


def mig_slice(gpu: Gpu, profile: str) -> Gpu:
    """One MIG slice: its slices of memory give its capacity and its rate, its slices of compute the matrix rate.

    Slices do not see each other over NVLink. InputError for a profile that this card can't have.
    """
    compute, gigabytes = _read(profile)
    if not gpu.name.startswith(_SLICED):
        raise InputError(f"a {gpu.name} has no MIG slices")
    memory_slices, compute_slices = (4, 4) if gpu.name.startswith(_IN_FOUR) else (8, 7)
    one = to_gib(gpu.hbm_bytes.best) / memory_slices
    slices = round(gigabytes / one)
    if (
        slices not in _SLICES
        or slices > memory_slices
        or compute > compute_slices
        or (abs(gigabytes / (slices * one) - 1) > 0.15)
    ):
        raise InputError(f"a {gpu.name} has no MIG slice {profile}")
    part, total = slices / memory_slices, gpu.hbm_bytes
    own = Interval(*(part * whole * share for whole, share in zip(total, _VISIBLE, strict=True)))
    return gpu._replace(
        name=f"{gpu.name}, MIG {profile.lower()}",
        hbm_bytes=own if slices < memory_slices else total,
        hbm_bytes_per_s=None if gpu.hbm_bytes_per_s is None else gpu.hbm_bytes_per_s * part,
        flops=None if gpu.flops is None else gpu.flops * compute / compute_slices,
        fp8_flops=None if gpu.fp8_flops is None else gpu.fp8_flops * compute / compute_slices,
        peer_bytes_per_s=None,
    )


def cards_with(profile: str) -> tuple[str, ...]:
    """GPUs that have slices of such a profile, where nothing else says which card it is."""
    try:
        compute, gigabytes = _read(profile)
    except InputError:
        return ()
    found = []
    for name, label, memory_slices, compute_slices in _LABEL_GIGABYTES:
        slices = gigabytes / (label / memory_slices)
        whole = round(slices)
        if compute <= compute_slices and abs(slices - whole) < 0.12 and whole in _SLICES and whole <= memory_slices:
            found.append(name)
    return tuple(found)


def _read(profile: str) -> tuple[int, int]:
    match = _PROFILE.match(profile.strip())
    if match is None:
        raise InputError(f"a MIG profile must look like 1g.10gb (it is {profile[:40]!r})")
    return int(match[1]), int(match[2])


def _share(gpu: Gpu, fraction: float) -> Gpu:
    if not 0.0 < fraction <= 1.0:
        raise InputError(f"a share of a GPU must be more than 0 and at most 1 (it is {fraction:g})")
    return gpu._replace(hbm_bytes=gpu.hbm_bytes.scaled(fraction))
