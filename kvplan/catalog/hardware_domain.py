"""Rows of hardware tables -> domain objects: human units of the files become SI here.

A figure stands as a number or as a table ``{ low, best, high, basis }``. ``basis`` says which class of machine an
estimate comes from; it travels into ``Host.basis`` and ``Gpu.basis``. What a row leaves out is either None or one of
the class figures below, and then it is marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kvplan.domain.host import Gpu, Host, Link
from kvplan.domain.interval import Interval
from kvplan.errors import InputError, did_you_mean
from kvplan.units import gb_per_s, gib, ms, shorten, tflops

Row = Mapping[str, Any]

CATEGORIES: Final = ("server", "workstation", "desktop", "edge", "mac", "cloud", "cpu")
"""What a host is sold as; ``cpu`` has no GPU."""

PCIE_X16_GB_PER_S: Final = {
    3: Interval(9.0, 12.3, 12.3),
    4: Interval(20.9, 25.5, 26.8),
    5: Interval(48.0, 55.4, 57.3),
}
"""Large pinned copies to a GPU on 16 lanes, by PCIe generation; fewer lanes scale.

Source: nvbandwidth on V100, A10, 8x RTX 4090, H100, H200, B300 and 8x RTX 5090 hosts; the low ends are the pass
floors of Azure's health checks and a Windows run of an RTX 4090.
"""

LINK_CLASSES_GB_PER_S: Final = {
    **{
        f"pcie{generation}x{lanes}": rates.scaled(lanes / 16)
        for generation, rates in PCIE_X16_GB_PER_S.items()
        for lanes in (16, 8, 4, 2, 1)
    },
    "c2c": Interval(295.0, 337.0, 360.0),
}
"""``c2c`` is NVLink-C2C. Source: nvbandwidth on a GH200 (337 to the GPU, 295 back) and a GB300 DGX Station (359)."""

LARGEST_LINK_GB_PER_S: Final = 10_000.0

_DEFAULT_READ = (
    Interval(0.70, 0.86, 0.92),
    Interval(0.70, 0.82, 0.92),
    "class estimate: fit on published decode rates of A100, H100, B200, L4 and RTX 6000 Ada",
)
"""Shares of the peak memory rate that weights and KV are read at, and where they come from."""
_APPLE_READ = (
    Interval(0.78, 0.87, 0.93),
    Interval(0.62, 0.80, 0.92),
    "class estimate: llama.cpp decode of a 7B in three types on 14 chips; MLX attention on M5 Pro",
)
_STEP_OVERHEAD_MS = Interval(0.5, 1.5, 2.5)
_STEP_OVERHEAD_BASIS = "class estimate: 0.5 to 2.0 ms fitted on five GPUs"
_APPLE_STEP_OVERHEAD_MS = Interval(2.5, 4.5, 6.5)
_APPLE_STEP_OVERHEAD_BASIS = "class estimate: llama.cpp decode of a 7B in three types on 14 chips, builds of 2023"

DISPLAY_RESERVE_GIB: Final = {
    "linux": Interval(0.0, 0.0, 0.77),
    "windows": Interval(0.6, 1.07, 3.0),
    "wsl": Interval(0.83, 1.31, 3.0),
}
"""GPU memory that a display holds, by platform; at best a Linux machine has none, as the catalog's sources have not.

A Linux session 500 to 785 MiB; Windows (WDDM) idle 600 to 1650 MiB, with applications 1.76 to 3.0 GiB; WSL2 851 MiB in
an idle container, 1.31 GiB with what nvidia-smi does not show.
"""
_DISPLAYS = "idle GPU memory in issues of vLLM, ollama and llama.cpp users, club-3090 docs"

_BASIS_KEY = {
    "hbm_gib": "hbm_bytes",
    "step_overhead_ms": "step_overhead_s",
    "dram_gib": "dram_bytes",
    "dram_gb_per_s": "dram_bytes_per_s",
    "link_gb_per_s": "link",
    "os_reserve_gib": "os_reserve_bytes",
    "display_reserve_gib": "display_reserve_bytes",
    "vcpus": "cpu_cores",
}
"""Field of a file -> field of the domain, where the unit in the name changes."""


def link_named(text: str) -> Link:
    """A link as people type it: a class (``pcie4x16``, ``c2c``) or a measured rate in GB/s."""
    kind = text.strip().lower()
    if kind in LINK_CLASSES_GB_PER_S:
        return Link(kind, LINK_CLASSES_GB_PER_S[kind].scaled(gb_per_s(1)))
    try:
        rate = float(kind.removesuffix("gb/s"))
    except ValueError:
        rate = 0.0
    if not 0 < rate <= LARGEST_LINK_GB_PER_S:
        guesses = did_you_mean(kind, LINK_CLASSES_GB_PER_S)
        raise InputError(
            f"a link must be a class like pcie4x16, or a rate in GB/s (it is {shorten(text)!r})",
            help=f"did you mean {' or '.join(guesses)}?" if guesses else "known classes: pcie3x1 to pcie5x16, c2c",
        )
    return Link("measured", Interval.exact(gb_per_s(rate)))


def gpu_of(name: str, row: Row, file: str, pool_gib: float | None) -> Gpu:
    """``pool_gib`` is the host's memory where the GPU has none of its own."""
    apple = row.get("kernel_class") == "apple"
    weight_read, kv_read, read_basis = _APPLE_READ if apple else _DEFAULT_READ
    overhead_ms = _APPLE_STEP_OVERHEAD_MS if apple else _STEP_OVERHEAD_MS
    marks = {
        "weight_read_fraction": read_basis,
        "kv_read_fraction": read_basis,
        "step_overhead_ms": _APPLE_STEP_OVERHEAD_BASIS if apple else _STEP_OVERHEAD_BASIS,
    }
    basis = {_BASIS_KEY.get(field, field): mark for field, mark in marks.items() if field not in row} | _bases(row)
    return Gpu(
        name=row.get("title", name),
        vendor=row.get("vendor", "unknown"),
        kernel_class=row.get("kernel_class", "unknown"),
        hbm_bytes=_figure(row["hbm_gib"] if pool_gib is None else pool_gib).scaled(gib(1)),
        hbm_bytes_per_s=gb_per_s(row["hbm_gb_per_s"]) if "hbm_gb_per_s" in row else None,
        flops=tflops(row["bf16_tflops"]) if "bf16_tflops" in row else None,
        weight_read_fraction=_figure(row.get("weight_read_fraction", weight_read)),
        kv_read_fraction=_figure(row.get("kv_read_fraction", kv_read)),
        step_overhead_s=_figure(row.get("step_overhead_ms", overhead_ms)).scaled(ms(1)),
        peer_bytes_per_s=gb_per_s(row["peer_gb_per_s"]) if "peer_gb_per_s" in row else None,
        source=row.get("source", file),
        basis=basis,
        fp8_flops=tflops(row["fp8_tflops"]) if "fp8_tflops" in row else None,
        prefill_fraction=_figure(row["prefill_fraction"]) if "prefill_fraction" in row else None,
    )


def host_of(name: str, row: Row, gpu: Gpu | None, file: str, *, unified: bool) -> Host:
    """``unified``: GPU and CPU share one pool, which is the host's ``dram_gib``."""
    cores, cores_basis = _cores(row)
    link, link_basis = _link(row, gpu, unified=unified)
    reserve_gib, reserve_basis = _os_reserve_gib(row, unified=unified)
    display_gib, display_basis = _display_reserve_gib(row, gpu, unified=unified)
    marks = {
        "cpu_cores": cores_basis,
        "link": link_basis,
        "os_reserve_bytes": reserve_basis,
        "display_reserve_bytes": display_basis,
    }
    dram_gib = best_of(row.get("dram_gib"))
    return Host(
        name=name,
        title=row.get("title", name),
        category=row.get("category", "desktop"),
        gpu=gpu,
        gpus=row.get("gpus", 1) if gpu is not None else 0,
        cpu=row.get("cpu"),
        cpu_cores=cores,
        dram_bytes=gib(dram_gib) if dram_gib is not None else None,
        dram_bytes_per_s=_figure(row["dram_gb_per_s"]).scaled(gb_per_s(1)) if "dram_gb_per_s" in row else None,
        numa_nodes=row.get("numa_nodes"),
        link=link,
        unified_memory=unified,
        gpu_share_fraction=best_of(row.get("gpu_share_fraction")),
        os_reserve_bytes=gib(reserve_gib),
        source=row.get("source", file),
        platform=row.get("platform", "linux"),
        display_reserve_bytes=display_gib.scaled(gib(1)),
        usd_per_hour=row.get("usd_per_hour"),
        basis={field: mark for field, mark in marks.items() if mark} | _bases(row),
        notes=tuple(row.get("notes", ())),
        efficiency_cores=float(row.get("efficiency_cores", 0)),
    )


def best_of(value: Any) -> float | None:
    """The best value of a figure that the domain keeps as one number."""
    return None if value is None else _figure(value).best


def _figure(value: Any) -> Interval:
    if isinstance(value, Interval):
        return value
    if isinstance(value, Mapping):
        return Interval(float(value["low"]), float(value["best"]), float(value["high"]))
    return Interval.exact(float(value))


def _bases(row: Row) -> dict[str, str]:
    """What the row itself says about its estimates."""
    return {
        _BASIS_KEY.get(field, field): value["basis"]
        for field, value in row.items()
        if isinstance(value, Mapping) and "basis" in value
    }


def _cores(row: Row) -> tuple[Interval | None, str]:
    """Physical cores. A cloud's vCPU is one thread of a core that mostly has two."""
    if "cpu_cores" in row:
        return _figure(row["cpu_cores"]), ""
    if "vcpus" not in row:
        return None, ""
    threads = row.get("threads_per_core", 2)
    rule = "one thread a core" if threads == 1 else "two threads a core"
    share = "all" if threads == 1 else "half"
    return Interval.exact(row["vcpus"] / threads), f"{share} of {row['vcpus']} vCPUs ({rule})"


def _link(row: Row, gpu: Gpu | None, *, unified: bool) -> tuple[Link | None, str]:
    """The class figure of the link, or the row's own rate in its place. A unified pool is read at its own rate."""
    kind = row.get("link", "measured" if "link_gb_per_s" in row else None)
    if gpu is None:
        return None, ""
    if unified:
        peak = gpu.hbm_bytes_per_s
        return (Link("unified", Interval.exact(peak)) if peak is not None else None), ""
    if kind is None:
        return None, ""
    shared = row.get("gpus_per_uplink", 1)
    if "link_gb_per_s" in row:
        return Link(kind, _figure(row["link_gb_per_s"]).scaled(gb_per_s(1)), shared), ""
    return Link(kind, link_named(kind).bytes_per_s, shared), f"class figure of {kind}: nvbandwidth, hosts of that class"


def _display_reserve_gib(row: Row, gpu: Gpu | None, *, unified: bool) -> tuple[Interval, str]:
    """What a display holds of the GPU: as the row says, else the platform's class where there may be one.

    With a unified pool it is inside what the GPU can't have.
    """
    if "display_reserve_gib" in row:
        return _figure(row["display_reserve_gib"]), ""
    platform, category = row.get("platform", "linux"), row.get("category", "desktop")
    if gpu is None or unified or (platform == "linux" and category != "desktop"):
        return Interval.exact(0.0), ""
    return DISPLAY_RESERVE_GIB.get(platform, DISPLAY_RESERVE_GIB["linux"]), f"class estimate: {platform}, {_DISPLAYS}"


def _os_reserve_gib(row: Row, *, unified: bool) -> tuple[float, str]:
    """What the operating system keeps of host memory. With a unified pool it is inside what the GPU can't have."""
    if "os_reserve_gib" in row:
        return _figure(row["os_reserve_gib"]).best, ""
    if unified:
        return 0.0, "inside the share of the pool that the GPU can't have"
    most = 8.0 if row.get("category") in ("server", "cloud", "cpu") else 4.0
    dram_gib = best_of(row.get("dram_gib"))
    kept = most if dram_gib is None else min(most, dram_gib / 8)
    return kept, "class estimate: what Linux and its services keep (8 GiB on servers, else 4, at most an eighth)"
