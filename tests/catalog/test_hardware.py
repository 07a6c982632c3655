from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kvplan.catalog.files import catalog_files, parse
from kvplan.catalog.hardware import host_table, link_named, list_hosts, load_gpu, load_host
from kvplan.catalog.hardware_rows import checked_row
from kvplan.domain.interval import Interval
from kvplan.errors import CatalogError, InputError, UnknownName

GIB = 2**30
Write = Callable[..., str]


@pytest.fixture(autouse=True)
def no_user_catalogs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str, name: str = "my.toml") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_file


def test_shipped_rows_obey_the_rules_of_user_rows() -> None:
    for section, rows in parse(catalog_files("hardware.toml")[0]).items():
        for name, row in rows.items():
            assert checked_row(section, row, name)


@pytest.mark.parametrize(
    ("name", "gpus", "gpu_gib", "cores", "dram_gib", "link_gb_per_s", "numa_nodes"),
    [
        ("rtx4090", 1, 23.51, 16, 128, 25.5, 1),  # CUDA's total; Ryzen 9 7950X
        ("h100-server", 8, 79.19, 96, 2048, 55.4, 2),
        ("h100-lean", 1, 79.19, 10, 251, 55.4, 1),  # 20 vCPUs
        ("gh200", 1, 95.0, 72, 480, 337, 1),
        ("p5.48xlarge", 8, 79.19, 96, 2048, 25.5, 2),  # a PCIe 4 host under PCIe 5 cards
        ("p5en.48xlarge", 8, 139.80, 96, 2048, 55.4, 2),
        ("nd-h100-v5", 8, 79.19, 96, 1900, 55.4, 2),  # 96 vCPUs are 96 cores there
        ("a3-highgpu-8g", 8, 79.19, 104, 1872, 55.4, 2),
        ("l4-edge", 2, 22.06, 16, 256, 25.5, 1),
    ],
)
def test_hosts_against_published_figures(
    name: str, gpus: int, gpu_gib: float, cores: int, dram_gib: float, link_gb_per_s: float, numa_nodes: int
) -> None:
    host = load_host(name)
    assert host.gpu is not None and host.link is not None and host.cpu_cores is not None
    assert host.gpus == gpus
    assert host.gpu.hbm_bytes.best / GIB == pytest.approx(gpu_gib, abs=0.005)
    assert host.cpu_cores.best == cores
    assert host.dram_bytes == dram_gib * GIB
    assert host.link.bytes_per_s.best == pytest.approx(link_gb_per_s * 1e9)
    assert host.numa_nodes == numa_nodes
    assert not host.unified_memory


@pytest.mark.parametrize(
    ("name", "pool_gib", "usable_gib"),
    [("m3-ultra", 512, 384), ("m4-max", 128, 107.5), ("dgx-spark", 128, 121.63), ("strix-halo", 128, 124)],
)
def test_unified_hosts_have_one_pool_and_a_share_of_it(name: str, pool_gib: float, usable_gib: float) -> None:
    host = load_host(name)
    assert host.gpu is not None and host.link is not None and host.gpu_share_fraction is not None
    assert host.unified_memory and host.link.kind == "unified"
    assert host.gpu.hbm_bytes == Interval.exact(pool_gib * GIB)
    assert host.dram_bytes == pool_gib * GIB
    assert host.gpu_share_fraction * pool_gib == pytest.approx(usable_gib, rel=0.01)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("4090", "rtx4090"),
        ("RTX-4090", "rtx4090"),
        ("h100x8", "h100-server"),
        ("grace-hopper", "gh200"),
        ("mac-studio-m3-ultra", "m3-ultra"),
        ("spark", "dgx-spark"),
        ("p5", "p5.48xlarge"),
        ("standard_nd96isr_h100_v5", "nd-h100-v5"),
    ],
)
def test_aliases_are_found_in_any_case(alias: str, name: str) -> None:
    assert load_host(alias).name == name


def test_what_a_row_leaves_to_a_class_is_marked() -> None:
    lean = load_host("h100-lean")
    assert lean.basis["cpu_cores"] == "half of 20 vCPUs (two threads a core)"
    assert "class" in lean.basis["link"] and "class" in lean.basis["dram_bytes_per_s"]
    assert "class" in lean.basis["os_reserve_bytes"]
    desktop = load_host("rtx3090")
    assert "class" in desktop.basis["dram_bytes"]
    assert desktop.gpu is not None and "class" in desktop.gpu.basis["kv_read_fraction"]
    assert load_host("nd-h100-v5").basis["cpu_cores"] == "all of 96 vCPUs (one thread a core)"


def test_a_cpu_only_host_has_no_gpu_and_no_link() -> None:
    host = load_host("epyc-genoa")
    assert (host.gpu, host.gpus, host.link) == (None, 0, None)


def test_the_listing_has_every_row_once() -> None:
    listings = list_hosts()
    assert [listing.host.name for listing in listings] == host_table().names()
    assert {listing.file for listing in listings} == {"hardware.toml"}
    assert "4090" in next(listing.aliases for listing in listings if listing.host.name == "rtx4090")


def test_gpus_by_name() -> None:
    assert load_gpu("4090").name == "RTX 4090 24 GB"
    assert load_gpu("h100-sxm").hbm_bytes_per_s == 3.35e12
    with pytest.raises(UnknownName, match="no GPU named 'rtx4091'"):
        load_gpu("rtx4091")
    with pytest.raises(InputError, match="no memory of its own"):
        load_gpu("gb10")


def test_an_unknown_host_gets_a_suggestion_and_the_command_that_lists() -> None:
    with pytest.raises(UnknownName) as caught:
        load_host("rtx409")
    assert caught.value.message == "no host named 'rtx409'"
    assert "rtx4090" in str(caught.value.help) and "kvplan host list" in str(caught.value.help)


@pytest.mark.parametrize("name", ["", " ", "x" * 10_000, "\x1b[31m", "☃"])
def test_odd_names_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(UnknownName) as caught:
        load_host(name)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 100


MY_BOX = """
[hosts.mybox]
title = "My box"
gpu = "rtx4090"
gpus = 2
cpu_cores = 16
dram_gib = 128
dram_gb_per_s = 60
link = "pcie4x16"
source = "my desk"
"""


@pytest.mark.parametrize("text", [MY_BOX, MY_BOX.replace("[hosts.mybox]", 'name = "mybox"')])
def test_a_user_file_with_one_host(text: str, write: Write) -> None:
    host = load_host(write(text))
    assert (host.name, host.title, host.gpus, host.source) == ("mybox", "My box", 2, "my desk")
    assert host.cpu_cores == Interval.exact(16.0)
    assert host.dram_bytes_per_s == Interval.exact(60e9)
    assert host.link is not None and host.link.bytes_per_s.best == pytest.approx(25.5e9)


def test_a_user_file_may_bring_its_own_gpu(write: Write) -> None:
    inline = load_host(write('[hosts.a]\ngpu = { hbm_gib = 47.4, hbm_gb_per_s = 1008, vendor = "nvidia" }\n'))
    table = load_host(write('[hosts.a]\ngpu = "mine"\n[gpus.mine]\nhbm_gib = 47.4\nhbm_gb_per_s = 1008\n'))
    for host in (inline, table):
        assert host.gpu is not None and host.gpu.hbm_bytes.best == 47.4 * GIB
        assert host.link is None and host.cpu_cores is None and host.dram_bytes is None


def test_a_user_host_with_unified_memory(write: Write) -> None:
    host = load_host(write('[hosts.a]\ngpu = { hbm_gb_per_s = 500 }\nlink = "unified"\ndram_gib = 256\n'))
    assert host.unified_memory and host.gpu is not None and host.gpu.hbm_bytes.best == 256 * GIB
    assert load_host(write('[hosts.a]\ngpu = "gb10"\ndram_gib = 128\n')).unified_memory


def test_a_measured_link_and_intervals(write: Write) -> None:
    text = '[hosts.a]\ngpu = "rtx4090"\nlink_gb_per_s = { low = 9, best = 11, high = 12, basis = "riser" }\n'
    host = load_host(write(text))
    assert host.link is not None and host.link.kind == "measured"
    assert host.link.bytes_per_s == pytest.approx((9e9, 11e9, 12e9))
    assert host.basis["link"] == "riser"


def test_a_reserve_may_be_nothing_or_an_interval_from_nothing(write: Write) -> None:
    head = '[hosts.a]\ngpu = "rtx4090"\ndisplay_reserve_gib = '
    assert load_host(write(head + "0\n")).display_reserve_bytes == (0, 0, 0)
    host = load_host(write(head + '{ low = 0, best = 0.5, high = 1, basis = "my desk" }\n'))
    assert host.display_reserve_bytes == (0, GIB / 2, GIB)
    assert host.basis["display_reserve_bytes"] == "my desk"


def test_fp8_rates_reach_the_domain(write: Write) -> None:
    assert load_gpu("h100-sxm").fp8_flops == 1979e12
    assert load_gpu("a100-sxm").fp8_flops is None
    host = load_host(write("[hosts.a]\ngpu = { hbm_gib = 10, bf16_tflops = 50, fp8_tflops = 100 }\n"))
    assert host.gpu is not None and host.gpu.fp8_flops == 100e12


def test_rows_of_a_catalog_file_lie_over_the_shipped_ones(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write('[hosts.rtx4090]\ngpu = "rtx3090"\naliases = ["home"]\n[gpus.rtx3090]\nhbm_gib = 20\n')
    assert load_host("home", [path]).gpu == load_gpu("rtx3090", [path])
    monkeypatch.setenv("KVPLAN_CATALOG", path)
    assert load_host("rtx4090").cpu is None
    assert load_host("h100-server").cpu_cores == Interval.exact(96.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gpus = 0", "gpus must be greater than 0 (it is 0)"),
        ("gpus = -1", "gpus must be greater than 0 (it is -1)"),
        ("gpus = 1.5", "gpus must be a whole number (it is 1.5)"),
        ("gpus = true", "gpus must be a whole number (it is True)"),
        ('dram_gib = "lots"', "dram_gib must be a number (it is 'lots')"),
        ("dram_gib = nan", "dram_gib must be a number (it is nan)"),
        ("dram_gib = inf", "dram_gib must be at most 1.04858e+06 (it is inf)"),
        ("dram_gib = 1e30", "dram_gib must be at most 1.04858e+06 (it is 1e+30)"),
        ("cpu_cores = 1000000000000000000000000000000", "cpu_cores must be at most 65,536"),
        ("cpu_cores = 0x" + "f" * 5000, "cpu_cores must be at most 65,536 (it is a number of thousands of digits)"),
        ("dram_gb_per_s = { low = 3, best = 2, high = 4 }", "dram_gb_per_s must have low <= best <= high"),
        ("dram_gb_per_s = { low = 3, best = 4 }", "dram_gb_per_s must be a number or { low, best, high, basis }"),
        ("dram_gb_per_s = [1, 2, 3]", "dram_gb_per_s must be a number (it is [1, 2, 3])"),
        ("gpu_share_fraction = 1.2", "gpu_share_fraction must be at most 1 (it is 1.2)"),
        ('link = "pcie9x16"', "link is not known; did you mean pcie"),
        ('category = "spaceship"', "category is not known; one of server, workstation"),
        ("title = 3", "title must be text (it is 3)"),
        ("notes = 'x'", "notes must be a list of texts (it is 'x')"),
        ("dram_gb = 128", "has no field 'dram_gb'"),
        ("display_reserve_gib = -1", "display_reserve_gib must not be negative (it is -1)"),
        ("display_reserve_gib = true", "display_reserve_gib must be a number (it is True)"),
        ("gpu = 5", "gpu must be the name of a GPU or a table (it is 5)"),
        ("gpu = 'rtx4091'", "gpu: the catalog has none named 'rtx4091'"),
        ("gpu = { hbm_gib = 0 }", "gpu: hbm_gib must be greater than 0 (it is 0)"),
        ("gpu = { hbm_gb_per_s = 900 }", "its GPU has no hbm_gib"),
        ("gpu = 'gb10'", "dram_gib is missing (with unified memory it is the GPU's memory too)"),
        ("gpu = 'gb10'\ndram_gib = 128\nlink = 'pcie4x16'", "link can't be pcie4x16"),
    ],
)
def test_a_bad_row_is_one_clear_line(line: str, message: str, write: Write, tmp_path: Path) -> None:
    head = "" if line.startswith("gpu =") else 'gpu = "rtx4090"\n'
    with pytest.raises(CatalogError) as caught:
        load_host(write(f"[hosts.box]\n{head}{line}\n"))
    assert str(caught.value).startswith(f"{tmp_path / 'my.toml'} [hosts.box]")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mistyped_field_gets_a_suggestion(write: Write) -> None:
    with pytest.raises(CatalogError) as caught:
        load_host(write('[hosts.box]\ngpu = "rtx4090"\ncpu_core = 16\n'))
    assert caught.value.help == "did you mean cpu_cores?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no host table"),
        ("[hosts]\n", "must hold one host table (it holds 0)"),
        ('[hosts.a]\ngpu = "rtx4090"\n[hosts.b]\ngpu = "rtx4090"\n', "must hold one host table (it holds 2)"),
        ("name = 3\n", "name must be text (it is 3)"),
        ('gpus = 2\nname = "x"\n', "gpu is missing, though the row has GPUs or a link to them"),
        ("nonsense", "is not valid TOML"),
    ],
)
def test_a_file_without_exactly_one_host_is_refused(text: str, message: str, write: Write) -> None:
    with pytest.raises(CatalogError) as caught:
        load_host(write(text))
    assert message in str(caught.value)


def test_a_path_that_is_not_there_is_refused_as_a_path(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="No such file"):
        load_host("absent.toml")
    with pytest.raises(CatalogError, match="is a folder"):
        load_host(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "kind", "gb_per_s"),
    [("pcie4x16", "pcie4x16", 25.5), ("PCIe5x8", "pcie5x8", 27.7), ("c2c", "c2c", 337), ("40", "measured", 40)],
)
def test_links_as_people_type_them(text: str, kind: str, gb_per_s: float) -> None:
    link = link_named(text)
    assert link.kind == kind
    assert link.bytes_per_s.best == pytest.approx(gb_per_s * 1e9)


@pytest.mark.parametrize("text", ["", "pcie6x16", "nan", "inf", "-1", "0", "1e30", "fast"])
def test_links_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="a link must be a class"):
        link_named(text)


def test_a_shipped_host_loads_without_pydantic() -> None:
    code = (
        "import sys; from kvplan.catalog.hardware import load_host; load_host('rtx4090');"
        "print([name for name in ('pydantic', 'numpy', 'rich', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
