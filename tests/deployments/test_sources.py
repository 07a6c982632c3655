from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.source_files import LARGEST_FILE_BYTES, read_source
from kvplan.deployments.sources import read_deployments
from kvplan.errors import InputError

TOML = 'schema = "kvplan.deployment/1"\nmodel = "llama3-8b"\n'


def faults(path: Path) -> list[str]:
    return [fault.message for fault in read_deployments([str(path)])[1]]


def test_a_folder_is_searched_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b/z.toml", "a/y.toml", ".hidden/x.toml", "node_modules/w.toml", "a/readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TOML)
    found, _ = read_deployments([str(tmp_path), str(tmp_path / "a" / "y.toml")])
    assert [item.name for item, _ in found] == ["y", "z"]


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_deployments([str(tmp_path / "none")])
    with pytest.raises(InputError):
        read_deployments(["nul\0byte"])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.sh").write_bytes(b"#!/bin/sh\nvllm serve \0")
    (tmp_path / "latin.sh").write_bytes(b"#!/bin/sh\n# caf\xe9\nvllm serve x\n")
    (tmp_path / "big.yaml").write_bytes(b"vllm: x\n" + b"#" * LARGEST_FILE_BYTES)
    assert faults(tmp_path / "binary.sh") == ["is not a text file"]
    assert faults(tmp_path / "latin.sh") == ["is not UTF-8 text"]
    assert faults(tmp_path / "big.yaml") == ["is larger than 4 MiB, so it is no deployment file"]
    assert len(faults(tmp_path)) == 3


def test_a_huge_sparse_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "sparse.toml"
    with path.open("wb") as file:
        file.write(TOML.encode())
        file.truncate(50 * 2**30)
    assert isinstance(read_source(str(path)), Unreadable)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system")
def test_a_pipe_never_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sh")
    assert "not a regular file" in faults(tmp_path / "pipe.sh")[0]
    assert faults(tmp_path) == []


def test_links_in_circles(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.toml").symlink_to("self.toml")
    (tmp_path / "a.toml").write_text(TOML)
    found, unreadable = read_deployments([str(tmp_path)])
    assert (len(found), unreadable) == (1, [])
    assert "symbolic links" in faults(tmp_path / "self.toml")[0]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(TOML.encode())

    monkeypatch.setattr(sys, "stdin", Input)
    found, _ = read_deployments(["-"])
    assert str(found[0][0].settings["model"].place) == "-:2"


def test_a_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TOML.replace("\n", "\r\n").encode())
    source = read_source(str(path))
    assert isinstance(source, Source)
    assert source.text == TOML
