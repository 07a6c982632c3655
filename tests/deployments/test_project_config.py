"""One configuration file for all of a project's deployment files."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from kvplan.deployments.project_config import Label, load_config
from kvplan.errors import InputError
from kvplan.results.check import check


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_that_it_may_say(folder: Path) -> None:
    (folder / "ci").mkdir()
    (folder / "ci" / "box.toml").write_text('name = "box"\ngpu = "l4"\ngpus = 1\n', encoding="utf-8")
    (folder / ".kvplan.toml").write_text(
        'host = "ci/box.toml"\nmargin = 0.1\nfail_on = "warn"\nbaseline = "ci/known.json"\ncatalog = ["ci/a.toml"]\n'
        '[labels]\n"Team-A" = { gpu = "NVIDIA-L4", gpus = 2 }\n"b" = "h100-server"\n'
        '[ignores."legacy/**"]\nKV201 = { reason = "measured", until = 2027-01-31 }\nKV104 = "as agreed"\n',
        encoding="utf-8",
    )
    config = load_config(["."])
    assert config.settings["host"].value == "ci/box.toml"
    assert (config.settings["margin"].value, config.fail_on) == (0.1, "warn")
    assert (config.baseline, config.catalog) == ("ci/known.json", ("ci/a.toml",))
    assert config.labels == {"team-a": Label(None, "NVIDIA-L4", 2), "b": Label("h100-server", None, None)}
    first, second = config.ignored("legacy/deep/a.yaml")
    assert (first.rule, first.reason, first.until, str(first.place)) == (
        "KV201", "measured", datetime.date(2027, 1, 31), ".kvplan.toml:10")  # fmt: skip
    assert (second.rule, second.reason, second.until) == ("KV104", "as agreed", None)
    assert config.ignored("new/a.yaml") == ()


def test_a_section_of_pyproject(folder: Path) -> None:
    text = '[project]\nname = "x"\n[tool.kvplan]\nhost = "l4-4x"\n[tool.kvplan.paths."a/**"]\nhost = "h100-server"\n'
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    config = load_config(["."])
    assert config.facts_for("a/b.yaml").host(None) == "h100-server"
    assert config.facts_for("b.yaml").host(None) == "l4-4x"
    assert config.facts_for("b.yaml").host("rtx4090") == "rtx4090"
    assert str(config.rules[0].settings["host"].place) == "pyproject.toml:6"
    (folder / "pyproject.toml").write_text('[project]\nname = "x"\n', encoding="utf-8")
    assert load_config(["."]).path == ""


@pytest.mark.parametrize(("text", "where", "message"), [
    ("hots = 'x'\n", 1, "no key 'hots' is known here"),
    ("host = 3\n", 1, "host must be text (it is 3)"),
    ("\nmargin = 'a'\n", 2, "margin must be a number"),
    ("fail_on = 'never'\n", 1, "fail_on must be one of fail, warn, unknown"),
    ("[paths.'a/**']\nhosts = 'x'\n", 2, "no key 'hosts' is known here"),
    ("[paths.'a/**'.workload]\ncontex = 3\n", 2, "no key 'contex' is known here"),
    ("[paths]\n'a/**' = 3\n", 2, "must be a table"),
    ("[labels]\na = 3\n", 2, "must be a host, or a table"),
    ("[labels]\na = { gpus = 2 }\n", 2, "must name a host or a gpu"),
    ("[labels]\na = { gpu = 'l4', gpus = 0 }\n", 2, "gpus must be a whole number"),
    ("[severities]\nKV1 = 'off'\n", 2, "'KV1' is no rule such as KV201"),
    ("[severities]\nKV101 = 'mild'\n", 2, "must be one of fail, warn, unknown, info, off"),
    ("[ignores.'a']\nKV101 = { until = 'soon', reason = 'x' }\n", 2, "until must be a date"),
    ("[ignores.'a']\nKV101 = { why = 'x' }\n", 2, "no key 'why' is known here"),
    ("[ignores]\nKV101 = 'x'\n", 2, "must be a table of rules"),
    ("host = \n", 1, "not valid TOML"),
    ("paths = 3\n", 1, "paths must be a table"),
    ("a" + ".a" * 200 + " = 1\n", 1, "more than 100 dots"),
])  # fmt: skip
def test_what_can_not_be_used_is_one_line_with_its_place(folder: Path, text: str, where: int, message: str) -> None:
    (folder / ".kvplan.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_config(["."])
    assert caught.value.where == f".kvplan.toml:{where}"
    assert message in caught.value.message
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [
    ("[severities]\nKV199 = 'off'\n", "no rule KV199"), ("[ignores.'a']\nKV199 = 'x'\n", "no rule KV199"),
    ("\nhost = 'h100-servr'\n", "no host named 'h100-servr'"), ("[paths.'a']\nhost = 'zz'\n", "no host named 'zz'"),
    ("[labels]\na = 'zz'\n", "no host named 'zz'"), ("[labels]\na = { gpu = 'Z9000' }\n", "no GPU named 'Z9000'"),
])  # fmt: skip
def test_what_it_names_must_be_there(folder: Path, text: str, message: str) -> None:
    (folder / ".kvplan.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        check(["."])
    assert message in caught.value.message
    assert caught.value.where == ".kvplan.toml:2"


def test_two_configurations_are_one_too_many(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / ".kvplan.toml").write_text("margin = 0.1\n", encoding="utf-8")
    assert load_config(["a"]).path == "a/.kvplan.toml"
    with pytest.raises(InputError, match="different configurations"):
        load_config(["a", "b"])
