"""What ``.kvplan.toml`` says holds in ``check``: hosts, levels, ignores, the level that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvplan.errors import InputError
from kvplan.results.check import CheckResult, Gate, check
from tests.results.check_kit import SHORT, TOO_LONG, write

FILES = {"deploy/serve.sh": TOO_LONG, "other/short.sh": SHORT}


def checked(folder: Path, config: str, name: str = ".kvplan.toml", gate: Gate | None = None) -> CheckResult:
    """The files in a repository with this configuration; nothing else says which host they run on."""
    (folder / ".git").mkdir(exist_ok=True)
    write(folder, {**FILES, name: config})
    return check([str(folder)], gate=gate)


def fails(answer: CheckResult) -> list[tuple[str, str | None]]:
    """Rules that fail, with why they do not count."""
    return [(item.rule, item.suppressed) for item in answer.findings if item.level == "fail"]


def test_the_host_of_files_that_name_none(tmp_path: Path) -> None:
    answer = checked(tmp_path, 'host = "rtx4090"')
    assert fails(answer) == [("KV102", None)]
    assert answer.exit_code == 1
    larger = checked(tmp_path, 'host = "rtx4090"\n[paths."deploy/**"]\nhost = "h100-server"\n')
    assert fails(larger) == []
    assert {item.context.host.name for item in larger.deployments if item.context.host} == {"rtx4090", "h100-server"}


@pytest.mark.parametrize("glob", ["deploy/**", "serve.sh", "deploy"])
def test_an_ignore_holds_for_its_files(tmp_path: Path, glob: str) -> None:
    text = f'host = "rtx4090"\n[ignores."{glob}"]\nKV102 = {{ reason = "measured" }}\n'
    answer = checked(tmp_path, text)
    ((rule, why),) = fails(answer)
    assert (rule, "measured" in str(why)) == ("KV102", True)
    assert answer.exit_code == 0


def test_an_ignore_for_other_files_does_not(tmp_path: Path) -> None:
    text = 'host = "rtx4090"\n[ignores."other/**"]\nKV102 = { reason = "measured" }\n'
    answer = checked(tmp_path, text)
    assert fails(answer) == [("KV102", None)]
    assert any(item.rule == "KV418" and "not needed" in item.message for item in answer.findings)


def test_patterns_begin_in_the_folder_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / ".git").mkdir()
    write(tmp_path, {"deploy/.kvplan.toml": 'host = "rtx4090"\n[ignores."*.sh"]\nKV102 = { reason = "measured" }\n'})
    ((rule, why),) = fails(check([str(tmp_path / "deploy")]))
    assert (rule, "measured" in str(why)) == ("KV102", True)


def test_levels_and_the_level_that_fails(tmp_path: Path) -> None:
    milder = checked(tmp_path, 'host = "rtx4090"\n[severities]\nKV102 = "warn"\n')
    assert (fails(milder), milder.exit_code) == ([], 0)
    strict = checked(tmp_path, 'host = "rtx4090"\nfail_on = "warn"\n[severities]\nKV102 = "warn"\n')
    assert strict.exit_code == 1
    told = checked(tmp_path, 'host = "rtx4090"\nfail_on = "warn"\n[severities]\nKV102 = "warn"\n',
                   gate=Gate(fail_on="fail"))  # fmt: skip
    assert told.exit_code == 0


def test_a_pyproject_has_a_table_for_it(tmp_path: Path) -> None:
    answer = checked(tmp_path, '[tool.kvplan]\nhost = "rtx4090"\n', "pyproject.toml")
    assert fails(answer) == [("KV102", None)]


def test_what_it_names_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="KV999"):
        checked(tmp_path, '[ignores."*"]\nKV999 = { reason = "x" }\n')
