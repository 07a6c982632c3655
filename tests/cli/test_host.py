"""``kvplan host list`` and ``kvplan host show``."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

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
        for figure in sheet["figures"]:
            if figure["value"] is not None:
                assert figure["value"]["low"] <= figure["value"]["best"] <= figure["value"]["high"]


def test_filters() -> None:
    assert {"mi300x-server", "strix-halo"} == set(names("--vendor", "AMD"))
    assert names("--vendor", "cpu") == ["epyc-genoa", "xeon-8592"]
    assert "rtx4090" in names("--min-hbm", "23") and "rtx4090" not in names("--min-hbm", "24")
    assert "h100-server" in names("--min-hbm", "640GB") and "h100-server" not in names("--min-hbm", "700GB")
    assert names("--min-hbm", "1.5GiB") == names("--min-hbm", "1.5")


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
