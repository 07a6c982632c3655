"""Paths as a repository names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvplan.results.places import Root


def test_from_the_nearest_folder_with_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / ".git").write_text("gitdir: elsewhere\n")  # as in a linked working tree
    monkeypatch.chdir(tmp_path / "deploy")
    root = Root()
    assert root.path("a.yaml") == root.path("./a.yaml") == root.path(str(tmp_path / "deploy/a.yaml")) == "deploy/a.yaml"
    assert root.path("../b.yaml") == "b.yaml"
    assert root.split("a b:c.yaml:7") == ("deploy/a b:c.yaml", 7)
    assert root.place("a.yaml:3") == "deploy/a.yaml:3"
    assert root.path("-") == "stdin"


def test_outside_of_any_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any(os.path.lexists(folder / ".git") for folder in tmp_path.parents):
        pytest.skip("the temporary folder is in a repository")
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir(), other.mkdir()
    monkeypatch.chdir(here)
    assert Root().path("deploy/a.yaml") == "deploy/a.yaml"
    assert Root().path("../other/a.yaml") == f"{other.as_posix()}/a.yaml"
    assert Root(str(other)).path("../other/a.yaml") == "a.yaml"
