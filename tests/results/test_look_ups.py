"""A copy of a deployment is judged once, and still speaks of its own lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvplan.results import look_ups
from tests.results.check_kit import TOO_LONG, checked

UNPINNED = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 65536\n"
LOWER = "# a comment more\n\nvllm serve meta-llama/Llama-3.1-8B-Instruct \\\n  --max-model-len 65536\n"


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the deployments that are really looked up."""
    names: list[str] = []

    def counted(found, *arguments):  # type: ignore[no-untyped-def]
        names.append(found.name)
        return real(found, *arguments)

    real = look_ups.look_up
    monkeypatch.setattr(look_ups, "look_up", counted)
    return names


def test_copies_are_judged_once_and_keep_their_lines(tmp_path: Path, judged: list[str]) -> None:
    files = {"first.sh": UNPINNED, "second.sh": LOWER, "third.sh": UNPINNED.replace("65536", "65552")}
    answer = checked(tmp_path, files)
    assert judged == ["first", "third"]
    found = {(item.deployment, item.rule): int(item.where.rsplit(":", 1)[1]) for item in answer.findings}
    alone = {
        (item.deployment, item.rule): int(item.where.rsplit(":", 1)[1])
        for name, text in files.items()
        for item in checked(tmp_path / name.removesuffix(".sh"), {name: text}).findings
    }
    assert found == alone
    assert {line for (name, _), line in found.items() if name == "second"} == {3, 4}


def test_what_differs_is_judged_by_itself(tmp_path: Path, judged: list[str]) -> None:
    checked(
        tmp_path, {"a.sh": TOO_LONG, "deeper/a.sh": TOO_LONG.replace("0.10.2", "0.10.1"), "z.sh": "vllm serve $M\n"}
    )
    assert len(judged) == 3


def test_a_number_and_its_text_are_not_the_same(tmp_path: Path, judged: list[str]) -> None:
    head = 'schema = "kvplan.deployment/1"\nmodel = "llama3-8b"\nhost = "rtx4090"\n[settings]\n'
    checked(tmp_path, {"a.toml": head + "max_num_seqs = 1\n", "b.toml": head + "max_num_seqs = true\n"})
    assert len(judged) == 2
