"""The GPU that a text means: a node label, a resource profile, an accelerator of a scheduler.

``NVIDIA-H100-80GB-HBM3``, ``nvidia-gpu-l4``, ``A100-80GB:8``, ``AMD-Instinct-MI300X-OAM``, ``H100_NVLINK_80GB``. A text
is taken apart into words, a form (SXM, PCIe, NVL), gigabytes and a count, and compared with the spellings of the
catalog. One word that nothing explains (``Laptop``, ``D``), and the text means no GPU that kvplan knows: a name that is
half understood would be a guess.

Sources of the spellings: labels of NVIDIA's GPU feature discovery and AMD's node labeller, accelerator labels of GKE,
EKS, Karpenter and CoreWeave, accelerator names of SkyPilot, Ray and KubeAI.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from kvplan.catalog.files import config_paths, listed_paths
from kvplan.catalog.hardware import gpu_memories

_NOISE = frozenset(
    "nvidia tesla geforce quadro gpu gpus amd instinct radeon intel oam hgx dgx hbm2 hbm2e hbm3 hbm3e gddr6 generation "
    "server edition blackwell shared std high mega ultra edge class xe".split()
)
"""Words that tell no GPU from another. Machine series of a cloud (``high``, ``mega``) are in names of node classes."""
_FORMS = {"sxm": "sxm", "nvlink": "sxm", "pcie": "pcie", "nvl": "nvl"}
_MIG = re.compile(r"[-_ ]?mig[-_ ]?(\d+g\.\d+gb)", re.IGNORECASE)
_COUNT = re.compile(r"x(\d{1,3})")
_SERIES = re.compile(r"s\d{1,2}")
_GIGABYTES = re.compile(r"(\d{2,3}|[468])(?:gb?|gib)")
_BARE_GIGABYTES = re.compile(r"16|24|32|40|48|80|94|96|141|144|180|192|256|288")
_SAME_MEMORY = 0.03
_LABEL_RANGE = (0.86, 1.06)
"""Visible GiB for each gigabyte of a label: from a T4 with ECC (14.56 of 16) to a full MI300X."""
_FIXED = {
    "nvidia-tesla-a100": ("a100-sxm-40",),
    "nvidia-tesla-v100": ("v100-sxm-16", "v100-sxm-32"),
    "nvidia-h100-mega-80gb": ("h100-sxm",),
    "rtx-pro-server-6000": ("rtx-pro-6000",),
    "nvidia-gh200-480gb": ("gh200-96",),
    "nvidia-rtx-pro-6000-blackwell-max-q-workstation-edition": ("rtx-pro-6000-maxq",),
}
"""Labels that their words alone do not settle. Source: GKE's list of accelerator labels (its A100 is the 40 GB one,
80 GB cards have their own label); EKS labels P3 and P3dn alike; Karpenter's name of the G7e's card; the driver's names
of a GH200 with 480 GB beside the CPU and 96 GB on the GPU, and of the 300 W workstation card."""
_SCHEDULERS = {"A100": "a100-sxm-40", "V100": "v100-sxm-16"}
"""Accelerators of SkyPilot without gigabytes. Source: its catalog, which has A100-80GB and V100-32GB beside them."""


class NamedGpu(NamedTuple):
    """What a text says of a GPU."""

    gpus: tuple[str, ...]
    """Rows of the catalog; several where the text leaves open which memory the card has."""
    number: int | None = None
    """GPUs that the text counts itself: ``A100:8``, ``gpu-h100-80gb-high-x2``."""
    mig_profile: str | None = None


class _Parts(NamedTuple):
    words: str
    form: str | None
    gigabytes: int | None
    number: int | None


def gpu_named(text: str, *, scheduler: bool = False, extra: tuple[str, ...] = ()) -> NamedGpu | None:
    """The GPU that a text means, or None where it says none, or none that the catalog has.

    ``scheduler``: names are those of SkyPilot, where ``A100`` is the card with 40 GB.
    """
    sliced = _MIG.search(text)
    plain, _, number = _MIG.sub("", text).strip().partition(":")
    count = int(number) if re.fullmatch(r"\d{1,3}", number.strip()) else None
    if number and count is None:
        return None
    profile = sliced[1].lower() if sliced else None
    fixed = _FIXED.get(plain.lower())
    if scheduler and plain.upper() in _SCHEDULERS:
        fixed = (_SCHEDULERS[plain.upper()],)
    if fixed is not None:
        return NamedGpu(fixed, count, profile)
    parts = _parts(plain)
    rows = _rows(parts, extra) if parts.words else ()
    return NamedGpu(rows, count or parts.number, profile) if rows else None


def names_a_gpu(text: str) -> bool:
    """Whether a text has anything but a vendor's name: ``nvidia`` alone asks for no particular GPU."""
    return bool(_parts(text.partition(":")[0]).words)


def _parts(text: str) -> _Parts:
    """``NVIDIA-A100-80GB-PCIe`` -> a100, pcie, 80."""
    words: list[str] = []
    form: str | None = None
    gigabytes: int | None = None
    count: int | None = None
    for word in re.split(r"[-_ ./()]+", text.lower()):
        stem = re.sub(r"^(sxm)\d$", r"\1", word)
        stated = _GIGABYTES.fullmatch(word) or (_BARE_GIGABYTES.fullmatch(word) if words else None)
        counted = _COUNT.fullmatch(word)
        if not word or word in _NOISE or (words and _SERIES.fullmatch(word)):
            continue
        if stem in _FORMS:
            form = _FORMS[stem]
        elif stated:
            gigabytes = int(re.sub(r"\D", "", stated[0]))
        elif counted and words:
            count = int(counted[1])
        else:
            words.append(word)
    return _Parts("".join(words), form, gigabytes, count)


def _rows(parts: _Parts, extra: tuple[str, ...]) -> tuple[str, ...]:
    """Rows with these words, of this form and memory; the row that the bare name stands for before its sisters."""
    files = (*config_paths(), *listed_paths())
    known = [item for item in _spellings(extra, files) if item.parts.words == parts.words]
    if parts.form is not None:
        known = [item for item in known if item.form == parts.form] or [item for item in known if item.form is None]
    else:
        known = [item for item in known if item.form != "nvl"] or known
    if parts.gigabytes is not None:
        low, high = _LABEL_RANGE
        known = [item for item in known if low <= item.gib / parts.gigabytes <= high]
    known.sort(key=lambda item: (item.parts.form is not None, item.parts.gigabytes is not None))
    chosen: list[_Spelling] = []
    for item in known:
        if all(abs(item.gib / other.gib - 1.0) > _SAME_MEMORY for other in chosen):
            chosen.append(item)
    return tuple(item.row for item in chosen)


class _Spelling(NamedTuple):
    row: str
    parts: _Parts
    form: str | None
    """Of the row: as its own name or another of its names says."""
    gib: float


@lru_cache(maxsize=4)
def _spellings(extra: tuple[str, ...], files: tuple[str, ...]) -> tuple[_Spelling, ...]:
    """Every name of every GPU, for the user's catalog ``files`` as they are listed now."""
    found = []
    for row, names, gib in gpu_memories(extra):
        parts = [_parts(name) for name in (row, *names)]
        form = next((item.form for item in parts if item.form is not None), None)
        found += [_Spelling(row, item, form, gib) for item in parts if item.words]
    return tuple(found)
