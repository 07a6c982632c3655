"""A machine: its GPUs, its memory, its cores, and the links between them. SI units throughout."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kvplan.domain.interval import Interval


class Gpu(NamedTuple):
    """One accelerator."""

    name: str
    vendor: str
    """``nvidia``, ``amd``, ``intel``, ``apple`` ..."""
    kernel_class: str
    """Which kernels run on it: ``ampere``, ``ada``, ``hopper``, ``blackwell_dc``, ``blackwell_rtx``, ``apple`` ..."""
    hbm_bytes: Interval
    """Total as CUDA or the platform reports it; for unified memory the whole pool."""
    hbm_bytes_per_s: float | None
    """Peak of the data sheet."""
    flops: float | None
    """Dense 16-bit matrix rate with 32-bit accumulation."""
    weight_read_fraction: Interval
    """Share of the peak memory rate that reading weights reaches in decode."""
    kv_read_fraction: Interval
    """Share of the peak memory rate that decode attention reaches on long contexts."""
    step_overhead_s: Interval
    """Fixed time of a decode step: launch, sampling, scheduling."""
    peer_bytes_per_s: float | None
    """GPU-to-GPU link per direction (NVLink, Infinity Fabric); None where GPUs meet over PCIe."""
    source: str
    basis: Mapping[str, str] = MappingProxyType({})
    """For fields that are a class estimate: which class."""
    fp8_flops: float | None = None
    """Dense 8-bit floating-point matrix rate; None where the chip has none, or where no source gives it."""
    prefill_fraction: Interval | None = None
    """Share of ``flops`` that prefill in 16 bits reaches; None where it was not measured on this GPU."""


class Link(NamedTuple):
    """The way from host memory to one GPU."""

    kind: str
    """``pcie4x16``, ``pcie5x16``, ``c2c``, ``unified`` ..."""
    bytes_per_s: Interval
    """Large pinned copies, host to device, one GPU alone."""
    gpus_per_uplink: int = 1
    """GPUs behind one switch uplink, which share its rate."""


class Host(NamedTuple):
    """One machine. None means not known, never zero."""

    name: str
    title: str
    category: str
    """``server``, ``workstation``, ``desktop``, ``mac``, ``edge``, ``cloud``, ``cpu``."""
    gpu: Gpu | None
    gpus: int
    cpu: str | None
    cpu_cores: Interval | None
    """Physical cores."""
    dram_bytes: float | None
    dram_bytes_per_s: Interval | None
    """Achievable read rate of all sockets together."""
    numa_nodes: int | None
    link: Link | None
    unified_memory: bool
    gpu_share_fraction: float | None
    """Unified memory: the share of the pool that the platform lets the GPU use."""
    os_reserve_bytes: float
    """Host memory that the operating system and its services keep."""
    source: str
    platform: str = "linux"
    display_reserve_bytes: Interval = Interval(0.0, 0.0, 0.0)
    """GPU memory that a display and the window system hold before an engine starts."""
    usd_per_hour: float | None = None
    basis: Mapping[str, str] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    efficiency_cores: float = 0.0
    """Of the machine's cores, those that are slower by design; 0 where all are alike, or where it is not known."""
    installed_cores: float | None = None
    """Cores of the machine where ``cpu_cores`` is a limit below them; None: ``cpu_cores`` are all there are."""
