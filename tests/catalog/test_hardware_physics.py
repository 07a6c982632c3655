"""Every shipped row against what machines of its kind can be; exceptions are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvplan.catalog.files import CatalogFile, Table, catalog_files, parse
from kvplan.catalog.hardware import load_gpu, load_host
from kvplan.domain.host import Host

FILE = Path(__file__).parents[2] / "hardware.toml"
ROWS = parse(CatalogFile(FILE.name, FILE.read_text(encoding="utf-8"), shipped=True))
HOSTS = list(ROWS["hosts"])
GPUS = list(ROWS["gpus"])
OWN_MEMORY = [name for name, row in ROWS["gpus"].items() if not row.get("unified")]

REQUIRED = {
    "rtx4090", "h100-server", "h100-lean", "gh200", "h200-server", "b200-server", "rtx5090", "m3-ultra", "m4-max",
    "dgx-spark", "jetson-thor", "l4-edge", "a100-server", "rtx3090", "l40s-server", "p5.48xlarge", "p5en.48xlarge",
    "a3-highgpu-8g", "nd-h100-v5", "g6e.xlarge", "g6e.12xlarge", "g5.xlarge", "mi300x-server", "m2-ultra", "m4-pro",
    "strix-halo", "rtx-pro-6000-server", "h100-1x",
}  # fmt: skip

LABEL_GB = {
    "t4": 16, "a10g": 24, "a6000": 48, "a100-sxm-40": 40, "a100-sxm": 80, "a100-pcie": 80, "l4": 24, "l40s": 48,
    "rtx-6000-ada": 48, "h100-pcie": 80, "h100-sxm": 80, "h100-nvl": 94, "gh200-96": 96, "h200-sxm": 141, "b200": 180,
    "b300": 288, "gb200": 186, "rtx3090": 24, "rtx4090": 24, "rtx5090": 32, "rtx-pro-6000": 96, "mi300x": 192,
}  # fmt: skip

CARD_GENERATION = {"turing": 3, "ampere": 4, "ada": 4, "hopper": 5, "blackwell_dc": 5, "blackwell_rtx": 5, "cdna3": 5}
OLDER_HOST_THAN_CARD = {"p5.4xlarge", "p5.48xlarge", "p5e.48xlarge"}
"""Milan-generation CPUs under PCIe 5 cards."""

NO_CPU_PUBLISHED = {"b300-server", "rtx4090-8x"}


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


def test_the_first_catalog_is_complete() -> None:
    assert set(HOSTS) >= REQUIRED
    assert {row["gpu"] for row in ROWS["hosts"].values() if "gpu" in row} <= set(GPUS)
    assert set(OWN_MEMORY) == set(LABEL_GB)


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


@pytest.mark.parametrize("section", ["hosts", "gpus"])
def test_every_interval_is_ordered_and_says_where_it_comes_from(section: str) -> None:
    for name, field, value in intervals(section):
        assert 0 < value["low"] <= value["best"] <= value["high"], (name, field)
        assert len(value["basis"]) > 4, (name, field)


@pytest.mark.parametrize("name", OWN_MEMORY)
def test_gpu_memory_is_less_than_the_label_but_not_by_much(name: str) -> None:
    total_gib = load_gpu(name).hbm_bytes.best / 2**30
    in_gib, in_gb = total_gib, total_gib * 2**30 / 1e9
    label = LABEL_GB[name]
    assert in_gib < label
    assert in_gib > 0.90 * label or in_gb > 0.98 * label


@pytest.mark.parametrize("name", GPUS)
def test_gpu_rates_are_sane_for_their_memory(name: str) -> None:
    row = ROWS["gpus"][name]
    reads_per_s = row["hbm_gb_per_s"] / LABEL_GB.get(name, 128)
    assert 1 < reads_per_s < 60
    for field in ("weight_read_fraction", "kv_read_fraction"):
        if field in row:
            assert 0.4 < row[field]["low"] and row[field]["high"] <= 1
    if "bf16_tflops" in row:
        operations_per_byte = row["bf16_tflops"] * 1e3 / row["hbm_gb_per_s"]
        assert 20 < operations_per_byte < 450


def test_a_newer_gpu_of_a_family_is_not_slower() -> None:
    families = [
        ("t4", "l4"), ("a100-sxm-40", "a100-sxm", "h100-sxm", "h200-sxm", "b200"), ("a100-pcie", "h100-pcie"),
        ("rtx3090", "rtx4090", "rtx5090"), ("m3-max", "m4-max"), ("m2-ultra", "m3-ultra"), ("m4-pro", "m4-max"),
        ("a6000", "rtx-6000-ada", "rtx-pro-6000"), ("b200", "b300"),
    ]  # fmt: skip
    slower_memory = {("t4", "l4")}  # 300 GB/s after 320: a larger cache in its place
    for family in families:
        for older, newer in zip(family, family[1:], strict=False):
            old, new = ROWS["gpus"][older], ROWS["gpus"][newer]
            assert new["bf16_tflops"] >= old["bf16_tflops"], (older, newer)
            if (older, newer) not in slower_memory:
                assert new["hbm_gb_per_s"] >= old["hbm_gb_per_s"], (older, newer)


@pytest.mark.parametrize("name", HOSTS)
def test_dram_rates_fit_the_cores_and_the_capacity(name: str) -> None:
    host = load_host(name)
    if name in NO_CPU_PUBLISHED:
        assert host.cpu_cores is None and host.dram_bytes is None
        return
    assert host.cpu_cores is not None and host.dram_bytes is not None
    assert host.cpu_cores.best == int(host.cpu_cores.best)
    if host.dram_bytes_per_s is None:
        assert name in {"dgx-spark", "jetson-thor", "jetson-orin", "lambda-a6000"}
        return
    per_core = host.dram_bytes_per_s.best / 1e9 / host.cpu_cores.best
    assert 1.5 < per_core < (25 if host.unified_memory else 12)
    seconds_to_read_all = host.dram_bytes / host.dram_bytes_per_s.best
    assert 0.3 < seconds_to_read_all < 8
    assert host.os_reserve_bytes < host.dram_bytes / 4


@pytest.mark.parametrize("name", HOSTS)
def test_the_link_is_that_of_card_and_host(name: str) -> None:
    host = load_host(name)
    if host.gpu is None:
        assert host.link is None
        return
    assert host.link is not None
    rate = host.link.bytes_per_s
    assert rate.low <= rate.best <= rate.high
    if host.link.kind in ("c2c", "unified"):
        assert host.link.kind == "c2c" or host.unified_memory
        return
    generation = int(host.link.kind[4])
    newest = CARD_GENERATION[host.gpu.kernel_class]
    assert generation == (newest - 1 if name in OLDER_HOST_THAN_CARD else newest)
    theoretical = {3: 15.75e9, 4: 31.5e9, 5: 63.0e9}[generation]
    assert 0.5 * theoretical < rate.best < theoretical


@pytest.mark.parametrize("name", HOSTS)
def test_unified_hosts_and_only_they_have_a_share(name: str) -> None:
    host = load_host(name)
    assert (host.gpu_share_fraction is not None) == host.unified_memory
    assert (host.platform == "macos") == (host.category == "mac")
    if host.unified_memory:
        assert host.gpu is not None and host.gpu.hbm_bytes.best == host.dram_bytes


def test_cloud_prices_grow_with_the_instance() -> None:
    def usd(name: str) -> float:
        price = load_host(name).usd_per_hour
        assert price is not None
        return price

    pairs = [
        ("g5.xlarge", "g5.12xlarge"), ("g5.12xlarge", "g5.48xlarge"), ("g6e.xlarge", "g6e.12xlarge"),
        ("g6e.12xlarge", "g6e.48xlarge"), ("p5.4xlarge", "p5.48xlarge"), ("p5.48xlarge", "p5en.48xlarge"),
        ("p5en.48xlarge", "p6-b200.48xlarge"), ("p4d.24xlarge", "p4de.24xlarge"),
    ]  # fmt: skip
    for small, large in pairs:
        assert usd(small) < usd(large)


def test_a_cloud_slice_never_has_more_than_its_whole_machine() -> None:
    def figures(host: Host) -> tuple[float, float, float]:
        assert host.cpu_cores and host.dram_bytes and host.dram_bytes_per_s
        return host.cpu_cores.best, host.dram_bytes, host.dram_bytes_per_s.best

    pairs = [
        ("g5.xlarge", "g5.12xlarge"), ("g5.12xlarge", "g5.48xlarge"), ("g6e.xlarge", "g6e.12xlarge"),
        ("g6e.12xlarge", "g6e.48xlarge"), ("p5.4xlarge", "p5.48xlarge"), ("h100-lean", "h100-server"),
    ]  # fmt: skip
    for part, whole in pairs:
        assert all(
            small < large for small, large in zip(figures(load_host(part)), figures(load_host(whole)), strict=True)
        )


def test_every_row_stands_in_the_form_that_the_cutter_needs() -> None:
    file = catalog_files("hardware.toml")[0]
    assert Table("hosts", [file]).names() == HOSTS
    assert Table("gpus", [file]).names() == GPUS
