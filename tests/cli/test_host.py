"""``kvplan host list`` and ``kvplan host show``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from kvplan import fit
from kvplan.errors import CannotJudge
from tests.cli.kit import answer, kvplan
from tests.golden_kit import check_golden

GIB = 2**30


def names(*arguments: str) -> list[str]:
    return [row["name"] for row in answer("host", "list", *arguments)["hosts"]]


def test_every_listed_name_can_be_shown() -> None:
    for row in answer("host", "list")["hosts"]:
        sheet = answer("host", "show", row["name"])
        shared = ("name", "title", "aliases", "category", "gpus", "unified_memory", "usd_per_hour", "source")
        assert {name: sheet[name] for name in shared} == {name: row[name] for name in shared}
        assert sheet["unknown"] == [figure["name"] for figure in sheet["figures"] if figure["value"] is None]
        assert sheet["unknown"] == row["unknown"]
        for figure in sheet["figures"]:
            if figure["value"] is not None:
                assert figure["value"]["low"] <= figure["value"]["best"] <= figure["value"]["high"]


def test_filters() -> None:
    amd = set(names("--vendor", "AMD"))
    assert {"mi300x-server", "strix-halo", "rx7900xtx", "nd-mi300x-v5"} <= amd
    assert not amd & {"h100-server", "m4-max", "epyc-genoa"}
    without = names("--vendor", "cpu")
    assert {"epyc-genoa", "xeon-8592", "c8g.48xlarge"} <= set(without) and "rtx4090" not in without
    assert "ct6e-standard-8t" in names("--vendor", "google") and "trn2.48xlarge" in names("--vendor", "aws")
    assert "rtx4090" in names("--category", "Desktop") and "h100-server" not in names("--category", "desktop")
    assert {"m1", "m5-max"} <= set(names("--category", "mac"))
    assert "mi325x-server" in names("--vendor", "amd", "--min-hbm", "250", "--category", "server")


def test_min_hbm_is_of_one_gpu() -> None:
    assert "rtx4090" in names("--min-hbm", "23") and "rtx4090" not in names("--min-hbm", "24")
    assert "h100-server" in names("--min-hbm", "85GB") and "h100-server" not in names("--min-hbm", "80GiB")
    assert "h100-server" not in names("--min-hbm", "640GB"), "eight of 80 are not one of 640"
    assert "b200-server" in names("--min-hbm", "100") and "m3-ultra" in names("--min-hbm", "500")
    assert names("--min-hbm", "1.5GiB") == names("--min-hbm", "1.5")
    assert "epyc-genoa" not in names("--min-hbm", "0.001")


def test_search() -> None:
    assert names("b300")[:1] == ["b300-server"] and "p6-b300.48xlarge" in names("b300")
    assert names("Standard_ND96isr_H100_v5") == ["nd-h100-v5"], "aliases are searched too"
    assert names("RTX PRO 6000") == names("rtx pro 6000") and "g7e.48xlarge" in names("rtx pro 6000")
    assert names("mi300x", "--category", "cloud") == ["nd-mi300x-v5", "oci-mi300x-8x"]
    assert names("mi300x", "--vendor", "nvidia") == []


@pytest.mark.parametrize(
    ("arguments", "message", "advice"),
    [
        (("--vendor", "nvida"), "no vendor named 'nvida'", "did you mean nvidia?"),
        (("--vendor", "\x1b[31m"), "no vendor named", "known: amd, apple"),
        (("--category", "serve"), "no category named 'serve'", "did you mean server?"),
        (("--category", "phone"), "no category named 'phone'", "known: server, workstation, desktop"),
        (("rtx4091",), "no host named 'rtx4091'", "did you mean rtx4090"),
        (("--min-hbm", "lots"), "--min-hbm must look like 80GB, 48GiB or 48 (it is 'lots')", ""),
        (("--min-hbm", "\u00b2"), "--min-hbm must look like 80GB", ""),
        (("--min-hbm", "-1"), "--min-hbm must look like 80GB", ""),
    ],
)
def test_a_filter_that_means_nothing_is_one_clear_line(arguments: tuple[str, ...], message: str, advice: str) -> None:
    done = kvplan("host", "list", *arguments)
    assert done.code == 2 and not done.out
    lines = done.err.splitlines()
    assert lines[0].startswith("error: ") and message in lines[0] and len(lines) <= 2
    assert advice in done.err


def test_every_host_can_be_planned_for_or_says_what_it_lacks() -> None:
    """No host makes fit fail in an unclear way: an answer, or one line about what is not known."""
    refused = {}
    for name in names():
        try:
            outcome = fit(model="llama3-8b", host=name).to_json()["verdict"]["outcome"]
        except CannotJudge as error:
            refused[name] = error.message
        else:
            assert outcome in ("fits", "tight", "unlikely", "no", "unknown")
    nothing_known = {"ryzen-9950x", "epyc-7452-2x", "epyc-7742-2x", "epyc-9654", "epyc-9355-2x", "hbv5"}
    assert {name for name, message in refused.items() if "memory is not known" in message} == nothing_known
    assert all("not known" in message or "not modelled" in message for message in refused.values())
    assert len(refused) < 25


def test_the_list_says_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    rows = answer("host", "list")["hosts"]
    shown = " ".join(kvplan("host", "list").out.split())
    for figure, words in (("dram_bytes", "host memory"), ("dram_bytes_per_s", "its rate"), ("cpu_cores", "cores")):
        missing = sum(figure in row["unknown"] for row in rows)
        assert f"{words} of {missing}" in shown
    assert "?" not in kvplan("host", "list", "h100-server").out, "where all is known, nothing is said"


def test_the_list_is_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    lines = kvplan("host", "list").out.splitlines()
    headings = [line for line in lines[2:-3] if line and not line.startswith(" ")]
    assert headings == [
        "Servers, NVIDIA", "Servers, AMD", "Servers, Intel", "Workstations", "Desktops, NVIDIA", "Desktops, AMD",
        "Desktops, Intel", "Edge", "Macs", "Clouds, AWS", "Clouds, Azure", "Clouds, Google", "Clouds, others",
        "Without a GPU",
    ]  # fmt: skip
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in set(names())]
    assert sorted(listed) == sorted(names())
    assert not kvplan("host", "list", "--category", "edge").out.splitlines()[2].startswith("Edge")


def figures(name: str) -> dict[str, dict[str, object]]:
    return {figure["name"]: figure for figure in answer("host", "show", name)["figures"]}


def test_figures_say_what_they_rest_on() -> None:
    shown = figures("h100-server")
    assert shown["hbm_bytes"]["of"] == "gpu"
    assert round(shown["hbm_bytes"]["value"]["best"] / GIB, 1) == 79.2  # type: ignore[index]
    assert shown["cpu_cores"] == {
        "name": "cpu_cores", "of": "host", "value": {"low": 96.0, "best": 96.0, "high": 96.0}, "unit": "cores",
        "basis": None,
    }  # fmt: skip
    assert "DDR5-4800" in str(shown["dram_bytes_per_s"]["basis"])
    assert "nvbandwidth" in str(shown["link_bytes_per_s"]["basis"])
    assert isinstance(shown["dram_bytes"]["value"]["best"], int)  # type: ignore[index]


def test_what_is_not_known_is_null_and_named() -> None:
    sheet = answer("host", "show", "b300-server")
    assert sheet["unknown"] == ["dram_bytes", "dram_bytes_per_s", "cpu_cores"]
    assert sheet["cpu"] is None


@pytest.mark.parametrize(
    ("name", "has", "has_not"),
    [("m3-max", "gpu_share_fraction", "link_bytes_per_s"), ("rtx4090", "link_bytes_per_s", "gpu_share_fraction"),
     ("epyc-genoa", "dram_bytes", "hbm_bytes"), ("h100-server", "peer_bytes_per_s", "display_reserve_bytes")],
)  # fmt: skip
def test_only_figures_that_such_a_host_has(name: str, has: str, has_not: str) -> None:
    shown = figures(name)
    assert has in shown and has_not not in shown


def test_aliases_and_files(tmp_path: Path) -> None:
    assert answer("host", "show", "H100")["name"] == "h100-server"
    path = tmp_path / "box.toml"
    path.write_text('name = "box"\ngpu = "rtx4090"\ngpus = 2\nlink_gb_per_s = 20\n', encoding="utf-8")
    sheet = answer("host", "show", str(path))
    assert (sheet["name"], sheet["gpus"], sheet["link"]["kind"]) == ("box", 2, "measured")
    catalog = tmp_path / "hosts.toml"
    catalog.write_text('[hosts.box]\ngpu = "rtx4090"\naliases = ["kiste"]\n', encoding="utf-8")
    assert names("--catalog", str(catalog))[-1] == "box"
    assert answer("host", "show", "kiste", "--catalog", str(catalog))["aliases"] == ["kiste"]


def test_csv_has_the_fields_of_the_json() -> None:
    rows = list(csv.DictReader(io.StringIO(kvplan("host", "list", "--format", "csv").out)))
    assert list(rows[0]) == list(answer("host", "list")["hosts"][0])
    assert rows[0]["unified_memory"] == "false"


@pytest.mark.parametrize("columns", [80, 100, 160])
def test_the_screens(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("h100-server", "b300-server", "m3-max", "epyc-genoa"):
        shown = kvplan("host", "show", name).out
        assert max(map(len, shown.splitlines())) <= columns
        if columns == 100:
            check_golden(f"host-show-{name}.txt", shown)
    listed = kvplan("host", "list").out
    assert max(map(len, listed.splitlines())) <= columns
    assert "…" not in listed
