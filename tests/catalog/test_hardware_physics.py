"""Every shipped row against what machines of its kind can be. Exceptions are named, each with its reason.

The outside facts here are widths and clocks of memory buses, ladders of matrix rates, generations of links: none of
them stands in the catalog, all of them decide what its figures can be.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kvplan.catalog.files import CatalogFile, Table, catalog_files, parse
from kvplan.catalog.hardware import load_gpu, load_host, pool_sizes
from kvplan.catalog.hardware_domain import best_of
from kvplan.domain.host import Host

FILE = Path(__file__).parents[2] / "hardware.toml"
ROWS = parse(CatalogFile(FILE.name, FILE.read_text(encoding="utf-8"), shipped=True))
HOSTS = list(ROWS["hosts"])
GPUS = list(ROWS["gpus"])
OWN_MEMORY = [name for name, row in ROWS["gpus"].items() if not row.get("unified")]
MACS = [name for name, row in ROWS["hosts"].items() if row["category"] == "mac"]

REQUIRED = {
    "rtx4090", "h100-server", "h100-lean", "gh200", "h200-server", "b200-server", "rtx5090", "m3-ultra", "m4-max",
    "dgx-spark", "jetson-thor", "l4-edge", "a100-server", "rtx3090", "l40s-server", "p5.48xlarge", "p5en.48xlarge",
    "a3-highgpu-8g", "nd-h100-v5", "g6e.xlarge", "g6e.12xlarge", "g5.xlarge", "mi300x-server", "m2-ultra", "m4-pro",
    "strix-halo", "rtx-pro-6000-server", "nc40ads-h100-v5",
}  # fmt: skip

TYPED = {
    "a100": "a100-server", "h100": "h100-server", "8xh200": "h200-server", "b200": "b200-server", "gb300": "gb300-node",
    "mi300x": "mi300x-server", "mi325x": "mi325x-server", "mi355x": "mi355x-server", "l40s": "l40s-server",
    "rtx-pro-6000": "rtx-pro-6000-server", "h20": "h20-server", "gaudi3": "gaudi3-server", "l4": "l4-4x",
    "4090-desktop": "rtx4090", "rtx-5090": "rtx5090", "4080": "rtx4080", "3090": "rtx3090", "7900xtx": "rx7900xtx",
    "2x3090": "rtx3090-2x", "8x5090": "rtx5090-8x", "9070xt": "rx9070xt", "b580": "arc-b580",
    "framework-desktop": "strix-halo", "spark": "dgx-spark", "jetson-agx-orin": "jetson-orin", "thor": "jetson-thor",
    "mac-studio-m3-ultra": "m3-ultra", "m4-max-128": "m4-max", "m4-max-64gb": "m4-max-64",
    "m3-max-36gb": "m3-max-30-36",
    "p4d": "p4d.24xlarge", "p5": "p5.48xlarge", "p6-b300": "p6-b300.48xlarge", "trn2": "trn2.48xlarge",
    "Standard_ND96isr_H100_v5": "nd-h100-v5", "standard_nc80adis_h100_v5": "h100-nvl-2x",
    "Standard_ND96isr_MI300X_v5": "nd-mi300x-v5", "a3-mega": "a3-megagpu-8g", "a4": "a4-highgpu-8g",
    "v5e-8": "ct5lp-hightpu-8t", "gpu_8x_h100_sxm5": "lambda-h100-8x", "gpu_1x_gh200": "lambda-gh200",
    "BM.GPU.H100.8": "oci-h100-8x", "epyc-turin": "epyc-9355-2x", "9950x": "ryzen-9950x",
}  # fmt: skip

MEMORY_BUS = {
    # bits of the bus, Gbit/s of a pin
    "t4": (256, 10), "a10": (384, 12.5), "a10g": (384, 12.5), "a40": (384, 14.5), "a5000": (384, 16),
    "a6000": (384, 16), "l4": (192, 12.5), "l20": (384, 18), "l40": (384, 18), "l40s": (384, 18),
    "rtx-6000-ada": (384, 20), "rtx-pro-6000": (512, 28), "rtx-pro-6000-ws": (512, 28), "rtx-pro-6000-maxq": (512, 28),
    "rtx3060": (192, 15), "rtx3090": (384, 19.5), "rtx3090ti": (384, 21), "rtx4060ti-16": (128, 18),
    "rtx4070": (192, 21), "rtx4070ti-super": (256, 21), "rtx4080": (256, 22.4), "rtx4080-super": (256, 23),
    "rtx4090": (384, 21), "rtx5060ti-16": (128, 28), "rtx5070ti": (256, 28), "rtx5080": (256, 30),
    "rtx5090": (512, 28), "rx7900xtx": (384, 20), "rx9070xt": (256, 20), "r9700": (256, 20), "arc-b580": (192, 19),
    "arc-pro-b50": (128, 14), "arc-pro-b60": (192, 19), "arc-pro-b70": (256, 19),
    "gb10": (256, 8.533), "jetson-thor": (256, 8.533), "jetson-orin": (256, 6.4), "jetson-orin-nx": (128, 6.4),
    "jetson-orin-nano": (128, 6.4), "strix-halo": (256, 8),
    "m1": (128, 4.266), "m1-pro": (256, 6.4), "m1-max": (512, 6.4), "m1-ultra": (1024, 6.4),
    "m2": (128, 6.4), "m2-pro": (256, 6.4), "m2-max": (512, 6.4), "m2-ultra": (1024, 6.4),
    "m3": (128, 6.4), "m3-pro": (192, 6.4), "m3-max-30": (384, 6.4), "m3-max": (512, 6.4), "m3-ultra": (1024, 6.4),
    "m4": (128, 7.5), "m4-pro": (256, 8.533), "m4-max-32": (384, 8.533), "m4-max": (512, 8.533),
    "m5": (128, 9.6), "m5-pro": (256, 9.6), "m5-max-32": (384, 9.6), "m5-max": (512, 9.6),
}  # fmt: skip
"""GDDR and LPDDR, whose pins run at published clocks. HBM stacks run below theirs, each product at another rate."""

HBM_CLASSES = {"volta", "hopper", "blackwell_dc", "cdna2", "cdna3", "cdna4", "gaudi", "tpu", "neuron"}
AMPERE_WITH_HBM = {"a30", "a100-sxm", "a100-sxm-40", "a100-pcie", "a100-pcie-40"}

FLOPS_HEAVY = {"tpu-v6e"}
"""918 TFLOPS on 1.6 TB/s: a systolic array for large batches, 560 operations a byte."""

FP8_IS_NOT_TWICE = {
    "gaudi3": 1.0,  # the same rate in both
    "inferentia2": 1.0,  # configurable FP8 runs at the 16-bit rate
}

NO_LINK_PUBLISHED = {
    "h20-server", "gaudi2-server", "gaudi3-server", "inf2.xlarge", "inf2.48xlarge", "trn1.32xlarge", "trn2.48xlarge",
    "tpu7x-standard-4t",
}  # fmt: skip
LINK_MEASURED = {"ct5lp-hightpu-8t", "ct5p-hightpu-4t", "ct6e-standard-8t"}
"""TPU hosts: a published rate to one chip, no class of link."""

CARD_GENERATION = {
    "volta": 3, "turing": 3, "ampere": 4, "ada": 4, "hopper": 5, "blackwell_dc": 5, "blackwell_rtx": 5, "cdna2": 4,
    "cdna3": 5, "cdna4": 5, "rdna": 5, "xe2": 5,
}  # fmt: skip
OLDER_CARDS = {"rx7900xtx": 4, "arc-b580": 4}
"""RDNA 3 and the first Battlemage card came before PCIe 5 on their class."""
EIGHT_LANES = {"rtx4060ti-16", "rtx5060ti-16", "arc-b580", "arc-pro-b50", "arc-pro-b60"}
OLDER_HOST_THAN_CARD = {"p5.4xlarge", "p5.48xlarge", "p5e.48xlarge"}
"""Milan-generation CPUs under PCIe 5 cards."""

SHARED_POOL_OF_HBM = {"mi300a"}
"""A unified chip with HBM instead of LPDDR."""

HEADLESS = {"rtx3090-2x"}

MORE_NUMA_NODES_THAN_SOCKETS = {"nd-a100-v4", "ndm-a100-v4"}
"""Its CPUs are split in two nodes a socket."""
LITTLE_HOST_MEMORY = {"inf2.xlarge": 2.0}
"""The smallest instance of its family: 16 GiB beside a chip of 32 GB."""


@pytest.fixture(autouse=True)
def no_user_catalogs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)


def intervals(section: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (name, field, value)
        for name, row in ROWS[section].items()
        for field, value in row.items()
        if isinstance(value, dict)
    ]


def label_gb(gpu: str) -> float:
    """The number on the box: the last ``NN GB`` of the title."""
    return float(re.findall(r"(\d+) GB", ROWS["gpus"][gpu]["title"])[-1])


def has_hbm(gpu: str) -> bool:
    return ROWS["gpus"][gpu]["kernel_class"] in HBM_CLASSES or gpu in AMPERE_WITH_HBM


# ------------------------------------------------------------------------------------------------------------- the file


def test_the_catalog_is_complete() -> None:
    assert len(HOSTS) >= 150
    assert set(HOSTS) >= REQUIRED
    used = {row["gpu"] for row in ROWS["hosts"].values() if "gpu" in row}
    assert used <= set(GPUS)
    assert set(GPUS) - used == set(), "a GPU that no host has can't be planned for"
    assert {row["vendor"] for row in ROWS["gpus"].values()} == {"nvidia", "amd", "intel", "apple", "google", "aws"}


@pytest.mark.parametrize("section", ["hosts", "gpus"])
def test_every_row_has_a_source_a_title_and_unique_names(section: str) -> None:
    taken: dict[str, str] = {}
    for name, row in ROWS[section].items():
        assert len(row["source"]) > 10 and row["title"]
        for word in (name, *row.get("aliases", [])):
            assert taken.setdefault(word.lower(), name) == name, f"{word} of {name} and {taken[word.lower()]}"
            assert word.isprintable() and " " not in word and "/" not in word
        assert len({alias.lower() for alias in row.get("aliases", [])} | {name.lower()}) == 1 + len(
            row.get("aliases", [])
        )
    titles = [row["title"] for row in ROWS[section].values()]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(("typed", "name"), TYPED.items())
def test_what_people_type_is_found(typed: str, name: str) -> None:
    assert load_host(typed).name == name


@pytest.mark.parametrize("section", ["hosts", "gpus"])
def test_every_interval_is_ordered_and_says_where_it_comes_from(section: str) -> None:
    for name, field, value in intervals(section):
        assert 0 < value["low"] <= value["best"] <= value["high"], (name, field)
        assert len(value["basis"]) > 4, (name, field)


def test_every_row_stands_in_the_form_that_the_cutter_needs() -> None:
    file = catalog_files("hardware.toml")[0]
    assert Table("hosts", [file]).names() == HOSTS
    assert Table("gpus", [file]).names() == GPUS


def test_the_index_of_pools_is_what_the_rows_say(tmp_path: Path) -> None:
    """The index reads lines; here the rows are parsed, and a user's file makes it parse them too."""
    expected = {}
    for name, row in ROWS["hosts"].items():
        if "gpu" in row:
            gpu = ROWS["gpus"][row["gpu"]]
            pool = best_of(row.get("dram_gib")), best_of(row.get("gpu_share_fraction"))
            each = best_of(gpu["hbm_gib"]) if "hbm_gib" in gpu else pool[0] * pool[1]  # type: ignore[operator]
            expected[name] = pytest.approx(each * (row["gpus"] if "hbm_gib" in gpu else 1))  # type: ignore[operator]
    assert {name: total for total, name in pool_sizes()} == expected
    path = tmp_path / "own.toml"
    path.write_text('[hosts.own]\ngpu = "rtx4090"\n', encoding="utf-8")
    assert {name: total for total, name in pool_sizes([str(path)]) if name != "own"} == expected


# ----------------------------------------------------------------------------------------------------------------- GPUs


@pytest.mark.parametrize("name", OWN_MEMORY)
def test_gpu_memory_is_less_than_the_label_but_not_by_much(name: str) -> None:
    total = load_gpu(name).hbm_bytes
    label = label_gb(name)
    assert total.best / 2**30 < label and total.high / 2**30 < label, "the label is not what the platform reports"
    assert total.best / 2**30 > 0.90 * label or total.best / 1e9 > 0.98 * label
    assert total.low / 2**30 > 0.90 * label or total.low / 1e9 > 0.98 * label
    assert total.high - total.low < 0.09 * total.best


@pytest.mark.parametrize("name", OWN_MEMORY)
def test_cuda_reports_less_than_the_driver(name: str) -> None:
    basis = load_gpu(name).basis.get("hbm_bytes", "")
    for found in re.findall(r"([\d,]+) MiB", basis):
        driver_bytes = float(found.replace(",", "")) * 2**20
        total = load_gpu(name).hbm_bytes
        assert driver_bytes - 1.2 * 2**30 < total.best <= driver_bytes, (found, basis)


@pytest.mark.parametrize("name", MEMORY_BUS)
def test_memory_rates_are_bus_times_clock(name: str) -> None:
    bits, gbit_per_s = MEMORY_BUS[name]
    assert ROWS["gpus"][name]["hbm_gb_per_s"] == pytest.approx(bits * gbit_per_s / 8, rel=0.03)


def test_every_gpu_without_hbm_is_checked_by_its_bus() -> None:
    assert {name for name in GPUS if not has_hbm(name)} == set(MEMORY_BUS)


@pytest.mark.parametrize("name", GPUS)
def test_memory_is_read_in_a_plausible_time(name: str) -> None:
    """HBM is read 20 to 60 times a second, GDDR 8 to 62 times."""
    if ROWS["gpus"][name].get("unified"):
        return
    reads_per_s = ROWS["gpus"][name]["hbm_gb_per_s"] / label_gb(name)
    low, high = (20, 60) if has_hbm(name) else (8, 62)
    assert low < reads_per_s < high


@pytest.mark.parametrize("name", [name for name, row in ROWS["hosts"].items() if row.get("link") == "unified"])
def test_unified_memory_is_read_in_a_plausible_time(name: str) -> None:
    host = load_host(name)
    assert host.gpu is not None and host.gpu.hbm_bytes_per_s is not None
    reads_per_s = host.gpu.hbm_bytes_per_s / host.gpu.hbm_bytes.best
    assert 1.4 < reads_per_s < (40 if name in SHARED_POOL_OF_HBM else 18)


@pytest.mark.parametrize("name", GPUS)
def test_matrix_rates_are_sane_for_the_memory(name: str) -> None:
    row = ROWS["gpus"][name]
    for field in ("weight_read_fraction", "kv_read_fraction"):
        if field in row:
            assert 0.35 < row[field]["low"] and row[field]["high"] <= 1
    if "bf16_tflops" in row:
        operations_per_byte = row["bf16_tflops"] * 1e3 / row["hbm_gb_per_s"]
        assert 20 < operations_per_byte < (600 if name in FLOPS_HEAVY else 460)


@pytest.mark.parametrize("name", [name for name, row in ROWS["gpus"].items() if "fp8_tflops" in row])
def test_fp8_runs_at_twice_the_16_bit_rate(name: str) -> None:
    row = ROWS["gpus"][name]
    assert row["fp8_tflops"] / row["bf16_tflops"] == pytest.approx(FP8_IS_NOT_TWICE.get(name, 2.0), rel=0.03)


def test_only_chips_with_fp8_units_have_an_fp8_rate() -> None:
    without = {"volta", "turing", "ampere", "cdna2", "xe2", "apple"}
    assert not [name for name, row in ROWS["gpus"].items() if "fp8_tflops" in row and row["kernel_class"] in without]
    known = {"ada", "hopper", "blackwell_dc"}
    gaps = {name for name, row in ROWS["gpus"].items() if "fp8_tflops" not in row and row["kernel_class"] in known}
    assert gaps == {"l20", "h800-sxm", "h800-pcie"}  # no matrix rate of theirs was published


FAMILIES = [
    ("t4", "l4"), ("v100-sxm-16", "v100-sxm-32", "a100-sxm-40", "a100-sxm", "h100-sxm", "h200-sxm", "b200", "b300"),
    ("v100-pcie", "a100-pcie-40", "a100-pcie", "h100-pcie", "h100-nvl", "h200-nvl"),
    ("gh200-96", "gh200-144", "gb200", "gb300"), ("a40", "l40", "l40s"), ("a10", "a10g"),
    ("a5000", "a6000", "rtx-6000-ada", "rtx-pro-6000-maxq", "rtx-pro-6000", "rtx-pro-6000-ws"),
    ("rtx3060", "rtx4070"), ("rtx3090", "rtx3090ti", "rtx4090", "rtx5090"), ("rtx4060ti-16", "rtx5060ti-16"),
    ("rtx4070ti-super", "rtx5070ti"), ("rtx4080", "rtx4080-super", "rtx5080"), ("rtx5060ti-16", "rtx5070ti", "rtx5080"),
    ("jetson-orin-nano", "jetson-orin-nx", "jetson-orin", "jetson-thor"), ("h20", "h100-sxm"),
    ("mi210", "mi250x", "mi300x", "mi325x", "mi350x", "mi355x"), ("mi250", "mi250x"), ("mi300a", "mi300x"),
    ("gaudi2", "gaudi3"), ("arc-pro-b50", "arc-pro-b60", "arc-pro-b70"), ("arc-b580", "arc-pro-b60"),
    ("tpu-v5e", "tpu-v5p", "tpu7x"), ("tpu-v5e", "tpu-v6e", "tpu7x"), ("inferentia2", "trainium2"),
    ("trainium1", "trainium2"), ("rx9070xt", "r9700"),
    ("m1", "m2", "m3", "m4", "m5"), ("m1-pro", "m2-pro", "m3-pro", "m4-pro", "m5-pro"),
    ("m1-max", "m2-max", "m3-max", "m4-max", "m5-max"), ("m1-ultra", "m2-ultra", "m3-ultra"),
    ("m3-max-30", "m3-max"), ("m4-max-32", "m4-max"), ("m5-max-32", "m5-max"), ("m1", "m1-pro", "m1-max", "m1-ultra"),
    ("m2", "m2-pro", "m2-max", "m2-ultra"), ("m3", "m3-pro", "m3-max-30", "m3-max", "m3-ultra"),
    ("m4", "m4-pro", "m4-max-32", "m4-max"), ("m5", "m5-pro", "m5-max-32", "m5-max"),
]  # fmt: skip
SLOWER_MEMORY = {
    ("t4", "l4"): "300 GB/s after 320: a larger cache in its place",
    ("m2-pro", "m3-pro"): "a bus of 192 bits after 256",
    ("h20", "h100-sxm"): "the H20 lost matrix units, not memory",
}
SLOWER_MATRICES = {
    ("arc-b580", "arc-pro-b60"): "the same chip at a lower clock",
    ("rx9070xt", "r9700"): "the same chip at a lower clock",
    ("rtx4070ti-super", "rtx5070ti"): "as many units at a clock lower by half a percent",
}
LESS_MEMORY = {("h20", "h100-sxm"): "96 GB in six stacks, 80 in five"}


@pytest.mark.parametrize("family", FAMILIES, ids="-".join)
def test_a_newer_or_larger_gpu_of_a_family_is_not_slower(family: tuple[str, ...]) -> None:
    for pair in pairwise(family):
        old, new = (ROWS["gpus"][name] for name in pair)
        assert (new["hbm_gb_per_s"] >= old["hbm_gb_per_s"]) == (pair not in SLOWER_MEMORY), pair
        if "bf16_tflops" in old and "bf16_tflops" in new:
            assert (new["bf16_tflops"] >= old["bf16_tflops"]) == (pair not in SLOWER_MATRICES), pair
        if not old.get("unified") and not new.get("unified"):
            assert (label_gb(pair[1]) >= label_gb(pair[0])) == (pair not in LESS_MEMORY), pair


def test_every_gpu_is_in_a_family() -> None:
    alone = set(GPUS) - {name for family in FAMILIES for name in family}
    assert alone == {"a30", "l20", "h800-sxm", "h800-pcie", "gh200-96-pair", "gb10", "rx7900xtx", "strix-halo"}


# ------------------------------------------------------------------------------------------------------------ the links


@pytest.mark.parametrize("name", HOSTS)
def test_the_link_is_that_of_card_and_host(name: str) -> None:
    host, gpu_name = load_host(name), ROWS["hosts"][name].get("gpu")
    if host.gpu is None or name in NO_LINK_PUBLISHED:
        assert host.link is None
        return
    assert host.link is not None
    rate = host.link.bytes_per_s
    assert rate.low <= rate.best <= rate.high
    if host.link.kind in ("c2c", "unified", "measured"):
        kinds = {"c2c": "gh200" in gpu_name or "gb" in gpu_name, "unified": host.unified_memory}
        assert kinds.get(host.link.kind, name in LINK_MEASURED)
        assert rate.high <= 450e9 or host.link.kind == "unified"
        return
    assert not gpu_name.startswith(("gh", "gb")), "superchips meet their CPU over C2C"
    generation, lanes = int(host.link.kind[4]), int(host.link.kind.partition("x")[2])
    newest = OLDER_CARDS.get(gpu_name, CARD_GENERATION[host.gpu.kernel_class])
    assert generation == (newest - 1 if name in OLDER_HOST_THAN_CARD else newest)
    assert lanes == (8 if gpu_name in EIGHT_LANES else 16)
    theoretical = {3: 15.75e9, 4: 31.5e9, 5: 63.0e9}[generation] * lanes / 16
    assert 0.5 * theoretical < rate.best <= rate.high < theoretical


def test_only_modules_of_one_board_have_a_link_between_gpus() -> None:
    """GeForce and most PCIe cards meet over PCIe."""
    cards = {"rdna", "xe2", "apple", "turing"}
    for name, row in ROWS["gpus"].items():
        if "peer_gb_per_s" in row:
            assert row["kernel_class"] not in cards and not name.startswith("rtx")
            assert 45 <= row["peer_gb_per_s"] <= 900


# --------------------------------------------------------------------------------------------------- memory of the host

FEW_CORES_MANY_CHANNELS = {"epyc-9135-4090": 20}
"""16 cores a socket on 12 channels, bought for the channels."""

_CHANNELS = re.compile(r"(\d+) channels (?:of )?(?:DDR\d|MRDIMM)-(\d+)(?: assumed)? \((\d+(?:\.\d+)?) in theory\)")
_THEORY = re.compile(r"\((\d+(?:\.\d+)?) in theory\)")


def dram_basis(name: str) -> str:
    rate = ROWS["hosts"][name].get("dram_gb_per_s")
    return str(rate["basis"]) if isinstance(rate, dict) else ""


@pytest.mark.parametrize("name", [name for name in HOSTS if _CHANNELS.search(dram_basis(name))])
def test_dram_rates_are_a_share_of_channels_times_clock(name: str) -> None:
    match = _CHANNELS.search(dram_basis(name))
    assert match is not None
    channels, mega_transfers, theory = int(match[1]), int(match[2]), float(match[3])
    assert theory == pytest.approx(channels * mega_transfers * 8 / 1000, rel=0.001)
    rate = ROWS["hosts"][name]["dram_gb_per_s"]
    assert 0.35 * theory <= rate["low"] and rate["high"] <= theory
    assert 0.4 * theory <= rate["best"] <= 0.98 * theory
    sockets = 2 if ROWS["hosts"][name].get("cpu", "").startswith("2 x") else 1
    per_socket = channels / sockets if "cpu" in ROWS["hosts"][name] else channels / 2
    assert per_socket in (2, 4, 6, 8, 12)


def test_many_rows_name_their_channels() -> None:
    assert sum(bool(_CHANNELS.search(dram_basis(name))) for name in HOSTS) >= 50


@pytest.mark.parametrize("name", [name for name in HOSTS if _THEORY.search(dram_basis(name))])
def test_no_dram_rate_is_over_its_theory(name: str) -> None:
    theories = [float(found) for found in _THEORY.findall(dram_basis(name))]
    assert ROWS["hosts"][name]["dram_gb_per_s"]["high"] <= max(theories)


@pytest.mark.parametrize("name", HOSTS)
def test_dram_rates_fit_the_cores_and_the_capacity(name: str) -> None:
    host = load_host(name)
    if host.dram_bytes is not None:
        assert host.os_reserve_bytes < host.dram_bytes / 4
    if host.dram_bytes_per_s is None:
        return
    if host.cpu_cores is not None:
        per_core = host.dram_bytes_per_s.best / 1e9 / host.cpu_cores.best
        assert 1.2 < per_core < (30 if host.unified_memory else FEW_CORES_MANY_CHANNELS.get(name, 12))
    if host.dram_bytes is not None:
        seconds_to_read_all = host.dram_bytes / host.dram_bytes_per_s.best
        assert 0.05 < seconds_to_read_all < 9


@pytest.mark.parametrize("name", [name for name in HOSTS if load_host(name).dram_bytes is not None])
def test_host_memory_is_not_tiny_beside_the_gpus(name: str) -> None:
    """Who sells GPUs puts two thirds of their memory beside them at the least, most twice as much."""
    host = load_host(name)
    if host.gpu is None or host.unified_memory:
        return
    share = host.gpu.hbm_bytes.best * host.gpus / host.dram_bytes  # type: ignore[operator]
    assert share < LITTLE_HOST_MEMORY.get(name, 1.6)


# ---------------------------------------------------------------------------------------------------------------- cores

_CPU = re.compile(r"^(?:(\d+) x )?.*\((?:[^()]*?, )?(\d+)(?: \+ (\d+))? (?:[A-Z][\w -]*)?cores(?: of each)?\)$")
_CORES_A_SOCKET = {8, 10, 12, 14, 16, 18, 20, 24, 32, 36, 48, 56, 60, 64, 72, 80, 86, 88, 96, 128, 192}
"""What is sold, counting every kind of core."""


@pytest.mark.parametrize("name", [name for name, row in ROWS["hosts"].items() if _CPU.match(row.get("cpu", ""))])
def test_cores_are_those_of_the_cpu_named(name: str) -> None:
    row = ROWS["hosts"][name]
    match = _CPU.match(row["cpu"])
    assert match is not None
    sockets, each = int(match[1] or 1), int(match[2]) + int(match[3] or 0)
    assert best_of(row["cpu_cores"]) == sockets * each
    assert each in _CORES_A_SOCKET
    if sockets > 1 and "numa_nodes" in row and name not in MORE_NUMA_NODES_THAN_SOCKETS:
        assert row["numa_nodes"] == sockets


@pytest.mark.parametrize("name", HOSTS)
def test_cores_are_whole_and_plausible(name: str) -> None:
    host = load_host(name)
    if host.cpu_cores is None:
        return
    assert all(end == int(end) for end in host.cpu_cores)
    sockets = 2 if host.category in ("server", "cloud", "cpu") else 1
    assert 2 <= host.cpu_cores.best <= 192 * sockets
    assert host.numa_nodes is None or host.cpu_cores.best / host.numa_nodes >= 2


# --------------------------------------------------------------------------------------------- unified memory, and Macs


@pytest.mark.parametrize("name", HOSTS)
def test_unified_hosts_and_only_they_have_a_share(name: str) -> None:
    host = load_host(name)
    assert (host.gpu_share_fraction is not None) == host.unified_memory
    assert (host.platform == "macos") == (host.category == "mac")
    if host.unified_memory:
        assert host.gpu is not None and host.gpu.hbm_bytes.best == host.dram_bytes
        assert host.gpus == 1


@pytest.mark.parametrize("name", MACS)
def test_macs_are_chips_with_a_memory_option_that_was_sold(name: str) -> None:
    chip = ROWS["hosts"][name]["gpu"]
    options = {
        "m1": (8, 16), "m1-pro": (16, 32), "m1-max": (32, 64), "m1-ultra": (64, 128), "m2": (8, 16, 24),
        "m2-pro": (16, 32), "m2-max": (32, 64, 96), "m2-ultra": (64, 128, 192), "m3": (8, 16, 24),
        "m3-pro": (18, 36), "m3-max-30": (36, 96), "m3-max": (48, 64, 128), "m3-ultra": (96, 256, 512),
        "m4": (16, 24, 32), "m4-pro": (24, 48, 64), "m4-max-32": (36,), "m4-max": (48, 64, 128), "m5": (16, 24, 32),
        "m5-pro": (24, 48, 64), "m5-max-32": (36,), "m5-max": (48, 64, 128),
    }  # fmt: skip
    gib = ROWS["hosts"][name]["dram_gib"]
    assert gib in options[chip]
    assert name == chip or name.removeprefix(chip + "-") == str(gib) or name in ("m4-max-36", "m5-max-36")
    if name == chip:
        assert gib == max(options[chip]), "the short name is the largest one"
    sold = [row["dram_gib"] for row in ROWS["hosts"].values() if row.get("gpu") == chip]
    assert sorted(sold) == sorted(options[chip])


def test_a_mac_with_more_memory_gives_its_gpu_more() -> None:
    pairs = sorted(
        (row["dram_gib"], row["dram_gib"] * best_of(row["gpu_share_fraction"]))
        for row in (ROWS["hosts"][name] for name in MACS)
    )
    usable = dict(pairs)
    assert all(usable[gib] == value for gib, value in pairs), "the same memory, the same share"
    assert list(usable.values()) == sorted(usable.values())
    assert usable[32] == pytest.approx(21.3, abs=0.1) and usable[48] == 36  # GiB, from logs of such Macs
    assert usable[128] == pytest.approx(107.5, abs=0.1) and usable[24] == pytest.approx(17.76, abs=0.01)


@pytest.mark.parametrize("name", MACS)
def test_the_cpu_side_of_a_mac_reads_a_part_of_the_rate(name: str) -> None:
    host = load_host(name)
    assert host.dram_bytes_per_s is not None and host.gpu is not None and host.gpu.hbm_bytes_per_s is not None
    low, best, high = (end / host.gpu.hbm_bytes_per_s for end in host.dram_bytes_per_s)
    assert 0.38 < low <= best <= high < 0.69


@pytest.mark.parametrize("name", HOSTS)
def test_what_a_display_holds(name: str) -> None:
    """Desktops may drive one: a Linux session holds 0.5 to 0.8 GiB, Windows up to 3. Pools of memory have it inside."""
    host = load_host(name)
    held_gib = host.display_reserve_bytes.scaled(2**-30)
    if host.category != "desktop" or host.unified_memory or name in HEADLESS:
        assert held_gib == (0, 0, 0)
    else:
        assert (held_gib.best > 0) == (host.platform == "wsl"), "as described, a Linux machine has no display"
        assert 0.5 < held_gib.high <= 3
        assert "display_reserve_bytes" in host.basis


# --------------------------------------------------------------------------------------------------------------- clouds


def usd(name: str) -> float:
    price = load_host(name).usd_per_hour
    assert price is not None
    return price


@pytest.mark.parametrize("name", [name for name, row in ROWS["hosts"].items() if "usd_per_hour" in row])
def test_prices_are_those_of_such_gpus(name: str) -> None:
    host = load_host(name)
    assert host.category in ("cloud", "cpu")
    if host.gpu is not None:
        assert 0.2 < usd(name) / host.gpus < 20
    else:
        assert 0.02 < usd(name) / host.cpu_cores.best < 0.15  # type: ignore[union-attr]


PARTS = [
    ("g5.xlarge", "g5.12xlarge"), ("g5.12xlarge", "g5.48xlarge"), ("g6e.xlarge", "g6e.12xlarge"),
    ("g6e.12xlarge", "g6e.48xlarge"), ("g6.12xlarge", "g6.48xlarge"), ("p5.4xlarge", "p5.48xlarge"),
    ("g7e.2xlarge", "g7e.12xlarge"), ("g7e.12xlarge", "g7e.48xlarge"), ("lambda-b200", "lambda-b200-8x"),
]  # fmt: skip


def test_cloud_prices_grow_with_the_instance() -> None:
    newer = [
        ("p3.2xlarge", "p3.16xlarge"), ("p3.16xlarge", "p3dn.24xlarge"), ("p5.48xlarge", "p5en.48xlarge"),
        ("p5en.48xlarge", "p6-b200.48xlarge"), ("p6-b200.48xlarge", "p6-b300.48xlarge"),
        ("p4d.24xlarge", "p4de.24xlarge"), ("inf2.xlarge", "inf2.48xlarge"), ("a2-highgpu-8g", "a2-ultragpu-8g"),
        ("a2-ultragpu-8g", "a3-megagpu-8g"), ("a3-megagpu-8g", "a3-ultragpu-8g"), ("a3-ultragpu-8g", "a4-highgpu-8g"),
        ("lambda-a6000", "lambda-a6000-4x"), ("lambda-h100-8x", "lambda-b200-8x"),
    ]  # fmt: skip
    for small, large in PARTS + newer:
        assert usd(small) < usd(large), (small, large)


def test_a_cloud_slice_never_has_more_than_its_whole_machine() -> None:
    def figures(host: Host) -> tuple[float, float, float]:
        assert host.cpu_cores and host.dram_bytes and host.dram_bytes_per_s
        return host.cpu_cores.best, host.dram_bytes, host.dram_bytes_per_s.best

    slices = [
        ("h100-lean", "h100-server"), ("a2-highgpu-1g", "a2-highgpu-8g"), ("a2-ultragpu-1g", "a2-ultragpu-8g"),
        ("a3-highgpu-1g", "a3-highgpu-8g"), ("g2-standard-8", "g2-standard-48"), ("g2-standard-48", "g2-standard-96"),
        ("g4-standard-48", "g4-standard-384"), ("nc24ads-a100-v4", "nc96ads-a100-v4"),
        ("nc40ads-h100-v5", "h100-nvl-2x"),
        ("g4dn.xlarge", "g4dn.12xlarge"), ("g6.xlarge", "g6.12xlarge"),
    ]  # fmt: skip
    for part, whole in PARTS + slices:
        for small, large in zip(figures(load_host(part)), figures(load_host(whole)), strict=True):
            assert small < large, (part, whole)
