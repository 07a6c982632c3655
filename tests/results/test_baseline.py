"""A repository's old findings: they don't count until they get worse, whatever else is edited around them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvplan.errors import InputError
from kvplan.results.baseline import SCHEMA, Known, is_worse
from kvplan.results.fingerprints import margin_of
from kvplan.rules.interface import Finding
from tests.results.check_kit import SHORT, TOO_LONG, checked, failing

FILES = {"deploy/serve.sh": TOO_LONG}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def baseline_of(folder: Path, files: dict[str, str] = FILES) -> str:
    """A baseline with what is found there now."""
    path = str(folder / "kvplan-baseline.json")
    assert checked(folder, files, baseline=path, update_baseline=True).exit_code == 0
    return path


def test_what_is_written(repository: Path) -> None:
    document = json.loads(Path(baseline_of(repository)).read_text(encoding="utf-8"))
    assert document["schema"] == SCHEMA
    (record,) = document["findings"]
    assert record["path"] == "deploy/serve.sh"
    assert (record["deployment"], record["settings"], record["level"]) == ("serve", ["max_model_len"], "fail")
    figures = failing(checked(repository, FILES)).figures
    expected = figures["needed_bytes"]["best"] / figures["pool_bytes"]["best"]
    assert record["margin"] == pytest.approx(expected, rel=1e-3) and expected > 1.5
    assert set(record) == {"fingerprint", "rule", "path", "deployment", "settings", "level", "margin"}
    assert "serve.sh:" not in json.dumps(document)


def test_a_baseline_is_the_same_bytes_again(repository: Path) -> None:
    path = baseline_of(repository)
    before = Path(path).read_bytes()
    assert Path(baseline_of(repository)).read_bytes() == before
    assert before.endswith(b"}\n") and b"\r" not in before


@pytest.mark.parametrize("edited", [
    TOO_LONG,
    TOO_LONG.replace("pip", "# moved\n# down\npip"),
    TOO_LONG.replace("  --max-model-len 65536", "  --max-num-seqs 16 --max-model-len 65536"),
    TOO_LONG.replace("65536", "60000"),  # better, and still too long
])  # fmt: skip
def test_what_is_known_does_not_count(repository: Path, edited: str) -> None:
    path = baseline_of(repository)
    answer = checked(repository, {"deploy/serve.sh": edited}, baseline=path)
    assert (failing(answer).suppressed, answer.exit_code, answer.gone) == ("baseline", 0, 0)


@pytest.mark.parametrize(("files", "why"), [
    ({"deploy/serve.sh": TOO_LONG.replace("65536", "98304")}, "the margin is worse"),
    ({"deploy/serve.sh": SHORT, "deploy/other.sh": TOO_LONG}, "another file"),
    ({"deploy/serve.sh": TOO_LONG.replace("  --max-model-len 65536", "  --enforce-eager")}, "another cause"),
])  # fmt: skip
def test_what_is_new_or_worse_counts(repository: Path, files: dict[str, str], why: str) -> None:
    path = baseline_of(repository)
    answer = checked(repository, files, baseline=path)
    assert (failing(answer).suppressed, answer.exit_code) == (None, 1), why


def test_what_is_fixed_is_counted_and_dropped_by_an_update(repository: Path) -> None:
    path = baseline_of(repository)
    assert checked(repository, {"deploy/serve.sh": SHORT}, baseline=path).gone == 1
    assert checked(repository / "other", {"serve.sh": SHORT}, baseline=path).gone == 0  # nothing was looked at there
    baseline_of(repository, {"deploy/serve.sh": SHORT})
    assert json.loads(Path(path).read_text(encoding="utf-8"))["findings"] == []
    assert checked(repository, FILES, baseline=path).exit_code == 1


def test_two_findings_that_are_alike_are_two(repository: Path) -> None:
    """Two deployments of one name in one file: the second one that appears is not covered by the first."""
    twice = TOO_LONG + TOO_LONG.partition("\n")[2].replace("--max-model-len", "--enforce-eager --max-model-len")
    path = baseline_of(repository)
    answer = checked(repository, {"deploy/serve.sh": twice}, baseline=path)
    names = [item.deployment for item in answer.findings if item.level == "fail"]
    assert len(names) == 2 and answer.exit_code == 1
    assert checked(repository, {"deploy/serve.sh": twice}, baseline=baseline_of(
        repository, {"deploy/serve.sh": twice})).exit_code == 0  # fmt: skip


def test_a_suppressed_finding_does_not_need_the_baseline(repository: Path) -> None:
    rule = failing(checked(repository, FILES)).rule
    reason = TOO_LONG.replace("vllm serve", f"# kvplan: ignore[{rule}] agreed\nvllm serve")
    document = json.loads(Path(baseline_of(repository, {"deploy/serve.sh": reason})).read_text(encoding="utf-8"))
    assert document["findings"] == []


def test_nothing_recognised_writes_no_baseline(repository: Path) -> None:
    path = repository / "new.json"
    answer = checked(repository, {"notes.txt": "nothing\n"}, baseline=str(path), update_baseline=True)
    assert (answer.exit_code, path.exists()) == (3, False)


@pytest.mark.parametrize("text", [
    "", "[]", "{}", '{"schema": "kvplan.fit/1", "findings": []}', '{"schema": "kvplan.baseline/1"}', "[" * 100_000,
    "1" * 9999,
])  # fmt: skip
def test_a_file_that_is_no_baseline(repository: Path, text: str) -> None:
    (repository / "b.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="is no baseline"):
        checked(repository, FILES, baseline=str(repository / "b.json"))


def test_odd_records_do_no_harm(repository: Path) -> None:
    odd = [1, None, {}, {"fingerprint": 3}, {"fingerprint": "a", "margin": "x", "level": []}]
    (repository / "b.json").write_text(json.dumps({"schema": SCHEMA, "findings": odd}), encoding="utf-8")
    assert checked(repository, FILES, baseline=str(repository / "b.json")).exit_code == 1


def test_a_missing_baseline_says_how_to_get_one(repository: Path) -> None:
    with pytest.raises(InputError) as caught:
        checked(repository, FILES, baseline=str(repository / "none.json"))
    assert "--update-baseline" in str(caught.value.help)


@pytest.mark.parametrize(("figures", "margin"), [
    ({"needed_bytes": {"low": 1, "best": 3, "high": 9}, "pool_bytes": {"low": 1, "best": 2, "high": 9}}, 1.5),
    ({"used_bytes": 10, "limit_bytes": 8}, 1.25),
    ({"used_cores": {"best": 3.0}, "limit_cores": 2}, 1.5),
    ({"used_bytes_per_s": 5.0, "limit_bytes_per_s": 10.0}, 0.5),
    ({"itl_s": {"best": 0.06}, "objective_s": 0.05}, 1.2),
    ({"context_tokens": 65536, "max_context_tokens": 32768}, 2.0),
    ({"weight_bytes": {"best": 6}, "overhead_bytes": {"best": 2}, "budget_bytes": {"best": 4}, "free_bytes": 1}, 2.0),
    ({"needed_bytes": 3, "pool_bytes": {"best": -1}}, None),
    ({"needed_bytes": None, "pool_bytes": 4}, None),
    ({"gpus": 3}, None), ({}, None), ({"used_bytes": float("nan"), "limit_bytes": 3}, None),
])  # fmt: skip
def test_how_far_over_its_limit_a_finding_is(figures: dict[str, object], margin: float | None) -> None:
    assert margin_of(figures) == (None if margin is None else pytest.approx(margin))


def test_worse_is_a_harder_level_or_a_larger_margin() -> None:
    def finding(level: str, used: float) -> Finding:
        return Finding("KV101", level, "a", "a:1", "", figures={"used_bytes": used, "limit_bytes": 1.0})

    assert is_worse(Known("warn", 1.5), finding("fail", 1.0))
    assert is_worse(Known("warn", 1.5), finding("warn", 1.51))
    assert not is_worse(Known("warn", 1.5), finding("warn", 1.5001))
    assert not is_worse(Known("fail", None), finding("warn", 9.0))
