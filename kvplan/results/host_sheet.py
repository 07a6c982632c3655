"""``kvplan host show``: one host, every figure with its interval, what it rests on, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvplan import __version__
from kvplan.catalog.hardware import host_table, load_host
from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval
from kvplan.results.json_shapes import Json, interval, whole_interval

SCHEMA = "kvplan.host/1"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a host or of its GPU, in SI units."""

    name: str
    of: str
    """``gpu`` (one of them) or ``host``."""
    value: Interval | None
    unit: str
    basis: str | None = None
    """Which class of machine an estimate comes from; None where the host's own source states the figure."""


@dataclass(frozen=True, slots=True)
class HostSheet:
    """Everything about one host."""

    host: Host
    aliases: tuple[str, ...]
    figures: tuple[Figure, ...]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The figures that no source states: strategies that need them are UNKNOWN on this host."""
        return tuple(figure.name for figure in self.figures if figure.value is None)

    def to_json(self) -> Json:
        """The envelope ``kvplan.host/1``."""
        host, gpu, link = self.host, self.host.gpu, self.host.link
        return {
            "schema": SCHEMA,
            "kvplan_version": __version__,
            "name": host.name,
            "title": host.title,
            "aliases": list(self.aliases),
            "category": host.category,
            "platform": host.platform,
            "gpu": None if gpu is None else {
                "name": gpu.name, "vendor": gpu.vendor, "kernel_class": gpu.kernel_class, "source": gpu.source,
            },
            "gpus": host.gpus,
            "cpu": host.cpu,
            "numa_nodes": host.numa_nodes,
            "link": None if link is None else {"kind": link.kind, "gpus_per_uplink": link.gpus_per_uplink},
            "unified_memory": host.unified_memory,
            "figures": [
                {"name": item.name, "of": item.of, "value": _value(item), "unit": item.unit, "basis": item.basis}
                for item in self.figures
            ],
            "unknown": list(self.unknown),
            "usd_per_hour": host.usd_per_hour,
            "source": host.source,
            "notes": list(host.notes),
        }  # fmt: skip


def host_sheet(name: str, catalog: Sequence[str] = ()) -> HostSheet:
    """The sheet of a catalog row, or of a TOML file with one host."""
    host = load_host(name, catalog)
    table = host_table(catalog)
    found = table.find(name)
    aliases = tuple(table.row(found)[0].get("aliases", ())) if found == host.name else ()
    return sheet_of(host, aliases)


def sheet_of(host: Host, aliases: tuple[str, ...]) -> HostSheet:
    """The sheet of a host that is loaded."""
    return HostSheet(host, aliases, (*_gpu_figures(host.gpu, host.gpus), *_host_figures(host)))


def _gpu_figures(gpu: Gpu | None, gpus: int) -> list[Figure]:
    """Figures of one GPU. No GPU-to-GPU link is an answer (they meet over PCIe), not a gap."""
    if gpu is None:
        return []
    rows = [
        ("hbm_bytes", gpu.hbm_bytes, "bytes"),
        ("hbm_bytes_per_s", _exact(gpu.hbm_bytes_per_s), "bytes/s"),
        ("flops", _exact(gpu.flops), "FLOP/s"),
        ("weight_read_fraction", gpu.weight_read_fraction, "fraction"),
        ("kv_read_fraction", gpu.kv_read_fraction, "fraction"),
        ("step_overhead_s", gpu.step_overhead_s, "s"),
    ]
    if gpu.fp8_flops is not None:
        rows.insert(3, ("fp8_flops", _exact(gpu.fp8_flops), "FLOP/s"))
    if gpu.prefill_fraction is not None:
        rows.append(("prefill_fraction", gpu.prefill_fraction, "fraction"))
    if gpus > 1 and gpu.peer_bytes_per_s is not None:
        rows.append(("peer_bytes_per_s", _exact(gpu.peer_bytes_per_s), "bytes/s"))
    return [Figure(name, "gpu", value, unit, gpu.basis.get(name)) for name, value, unit in rows]


def _host_figures(host: Host) -> list[Figure]:
    rows = [
        ("dram_bytes", _exact(host.dram_bytes), "bytes"),
        ("dram_bytes_per_s", host.dram_bytes_per_s, "bytes/s"),
        ("os_reserve_bytes", _exact(host.os_reserve_bytes), "bytes"),
        ("cpu_cores", host.cpu_cores, "cores"),
    ]
    if host.efficiency_cores:
        rows.append(("efficiency_cores", _exact(host.efficiency_cores), "cores"))
    if host.unified_memory:
        rows.append(("gpu_share_fraction", _exact(host.gpu_share_fraction), "fraction"))
    elif host.gpu is not None:
        rows.append(("link_bytes_per_s", host.link.bytes_per_s if host.link else None, "bytes/s"))
    if host.display_reserve_bytes.high:
        rows.append(("display_reserve_bytes", host.display_reserve_bytes, "bytes"))
    basis = {**host.basis, "link_bytes_per_s": host.basis.get("link")}
    return [Figure(name, "host", value, unit, basis.get(name)) for name, value, unit in rows]


def _value(figure: Figure) -> Json | None:
    """Bytes are integers, rates and shares are floats."""
    return whole_interval(figure.value) if figure.unit == "bytes" else interval(figure.value)


def _exact(value: float | None) -> Interval | None:
    return None if value is None else Interval.exact(value)
