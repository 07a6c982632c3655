from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvplan.catalog.files import CatalogFile, Table, catalog_files, digest, parse, read_file
from kvplan.errors import CatalogError

SHIPPED = [name for name in ("hardware.toml", "models.toml") if (Path(__file__).parents[2] / name).exists()]


@pytest.fixture(autouse=True)
def no_user_catalogs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("KVPLAN_CATALOG", raising=False)


def user(text: str, path: str = "my.toml") -> CatalogFile:
    return CatalogFile(path, text, shipped=False)


def shipped(text: str) -> CatalogFile:
    return CatalogFile("hosts.toml", text, shipped=True)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_row_cut_out_equals_the_row_of_the_whole_file(name: str) -> None:
    file = catalog_files(name)[0]
    whole = parse(file)
    for section, rows in whole.items():
        table = Table(section, [file])
        assert table.names() == list(rows)
        for row_name, row in rows.items():
            assert table.row(row_name)[0] == row
        expected = {alias.lower(): row_name for row_name, row in rows.items() for alias in row.get("aliases", [])}
        assert table.aliases() == expected


def test_a_cut_row_keeps_its_sub_tables_and_stops_at_the_next_row_even_of_a_longer_name() -> None:
    file = shipped(
        "# first line\n"
        '[models.a]\nx = 1\naliases = ["One", "two"]\n[models.a.config]\ny = 2\n[[models.a.kv]]\nz = 3\n'
        '[models.a-b]\nx = 4\n[models."c.d"]\nx = 5\n[models."c.d".config]\ny = 6\n'
        '[gpus.a]\naliases = ["three"]\n'
    )
    table = Table("models", [file])
    assert table.names() == ["a", "a-b", "c.d"]
    assert table.row("a")[0] == {"x": 1, "aliases": ["One", "two"], "config": {"y": 2}, "kv": [{"z": 3}]}
    assert table.row("a-b")[0] == {"x": 4}
    assert table.row("c.d")[0] == {"x": 5, "config": {"y": 6}}
    assert table.aliases() == {"one": "a", "two": "a"}
    assert Table("gpus", [file]).aliases() == {"three": "a"}


def test_find_takes_names_and_aliases_in_any_case_and_names_first() -> None:
    table = Table("hosts", [shipped('# x\n[hosts.Box]\naliases = ["Alias", "other"]\n[hosts.other]\nx = 1\n')])
    assert table.find("Box") == table.find("bOX") == table.find("ALIAS") == "Box"
    assert table.find("other") == "other"
    assert table.find("nothing") is None


def test_a_later_file_replaces_a_row_whole_and_leaves_the_others() -> None:
    first = shipped("# x\n[hosts.a]\nx = 1\ny = 1\n[hosts.b]\nx = 2\n")
    table = Table("hosts", [first, user("[hosts.a]\nx = 9\n[hosts.c]\nx = 3\n")])
    assert table.names() == ["a", "b", "c"]
    assert table.row("a")[0] == {"x": 9}
    assert table.row("a")[1].path == "my.toml"
    assert table.row("b")[0] == {"x": 2}


def test_user_files_may_have_any_toml_form() -> None:
    table = Table("hosts", [user('hosts = { a = { x = 1, aliases = [\n"q",\n] }, "b.c" = { x = 2 } }\n')])
    assert table.names() == ["a", "b.c"]
    assert table.find("Q") == "a"
    assert Table("models", [user("")]).names() == []


def test_order_is_shipped_config_folder_environment_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "kvplan"
    folder.mkdir(parents=True)
    for path in (folder / "b.toml", folder / "a.toml", folder / ".hidden.toml", folder / "a.txt", tmp_path / "e.toml"):
        path.write_text("", encoding="utf-8")
    (tmp_path / "x.toml").write_text("", encoding="utf-8")
    monkeypatch.setenv("KVPLAN_CATALOG", f"{tmp_path / 'e.toml'}{os.pathsep}")
    files = catalog_files("hardware.toml", [str(tmp_path / "x.toml")])
    assert [Path(file.path).name for file in files] == ["hardware.toml", "a.toml", "b.toml", "e.toml", "x.toml"]
    assert [file.shipped for file in files] == [True, False, False, False, False]


def test_shipped_files_are_found_from_any_working_directory(tmp_path: Path) -> None:
    code = "from kvplan.catalog.files import catalog_files; print(catalog_files('hardware.toml')[0].path)"
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("hardware.toml", 0)


def test_a_missing_shipped_file_is_one_clear_line() -> None:
    with pytest.raises(CatalogError, match=r"nothing\.toml: the catalog that comes with kvplan is missing"):
        catalog_files("nothing.toml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[hosts.a]\nx = \n", r"bad\.toml:2: is not valid TOML"),
        (b"\xff\xfe\x00", "is not a text file in UTF-8"),
        (b"[hosts.a]\nx = 1\n[hosts.a]\nx = 2\n", "is not valid TOML"),
        (b"x = " + b"[" * 90_000, "nested too deeply|is not valid TOML"),
        (b"x = 1\ny = '" + b"z" * 100_000 + b"'\n", r"bad\.toml:2: a line is longer than 100,000 characters"),
        (b"[hosts" + b".a" * 40_000 + b"]\n", r"bad\.toml:1: a key has more than 100 dots"),
        (b"x = " + b"9" * 5000, "is not valid TOML"),
        (b"[host.a]\nx = 1\n", "a catalog has no table or key 'host'"),
        (b"hosts = 3\n", r"\[hosts\] must hold one table a row"),
        (b"[hosts]\na = 3\n", r"bad\.toml \[hosts\.a\]: must be a table \(it is 3\)"),
        (b"[hosts.a]\naliases = 'b'\n", "aliases must be a list of names"),
        (b"#" * (16 * 2**20 + 1), "larger than 16 MiB"),
    ],
)
def test_a_bad_user_file_is_one_clear_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(CatalogError, match=message) as caught:
        Table("hosts", [read_file(str(path))])
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_typo_in_a_section_name_gets_a_suggestion() -> None:
    with pytest.raises(CatalogError) as caught:
        Table("hosts", [user("[host.a]\nx = 1\n")])
    assert caught.value.help == "did you mean [hosts.NAME]?"


def test_things_that_are_no_files_are_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent.toml", "No such file"),
        (loop, "can't be read"),
        (fifo, "is not a regular file"),
        ("nul\0.toml", "can't be read"),
    ):
        with pytest.raises(CatalogError, match=message) as caught:
            read_file(str(path))
        assert str(caught.value).isprintable()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "locked.toml"
    path.write_text("", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(CatalogError, match="Permission denied"):
        read_file(str(path))


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf[hosts.a]\r\nx = 1\r\n")
    assert Table("hosts", [read_file(str(path))]).row("a")[0] == {"x": 1}


def test_the_digest_follows_the_text_and_nothing_else() -> None:
    known = "crc32:352441c2"  # of "abc", the published check value
    assert digest([user("abc", "a.toml")]) == digest([user("abc", "b.toml")]) == known
    assert digest([user("a"), user("b")]) != digest([user("ab"), user("")])
