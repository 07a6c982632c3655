"""``kvplan fit`` on a screen, as a person sees it at three widths, without colour and with it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from kvplan.deployments.words import Words
from kvplan.render.fit_actions import run_it
from kvplan.render.fit_rows import screenful
from kvplan.render.fit_table import render
from kvplan.render.fit_words import arithmetic
from kvplan.results.fit import FitResult, fit
from tests.golden_kit import check_golden
from tests.render.answers import ANSWERS, long_context, three_hosts, unified, weights_too_large

WIDTHS = (80, 100, 160)
MOST_LINES_AT_100 = 41
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

every_answer = pytest.mark.parametrize("name", ANSWERS)


def drawn(monkeypatch: pytest.MonkeyPatch, name: str, columns: int | None) -> str:
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    return render(ANSWERS[name]())


def prose(text: str) -> list[str]:
    """All lines but those of the command to paste, which may be as long as their longest flag."""
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if line.startswith("Run ")]
    if starts:
        end = lines.index("", starts[0])
        del lines[starts[0] + 1 : end]
    return lines


@every_answer
@pytest.mark.parametrize("columns", WIDTHS)
def test_golden(monkeypatch: pytest.MonkeyPatch, name: str, columns: int) -> None:
    check_golden(f"fit-{name}-{columns}.txt", drawn(monkeypatch, name, columns))


@pytest.mark.parametrize("name", ["long-context", "three-hosts"])
def test_golden_with_colour(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plain = drawn(monkeypatch, name, 100)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = drawn(monkeypatch, name, 100)
    check_golden(f"fit-{name}-100-colour.txt", coloured)
    bare = [line.rstrip() for line in ESCAPE.sub("", coloured).splitlines()]
    assert bare == plain.splitlines(), "colour adds nothing to what is said"


@every_answer
@pytest.mark.parametrize("columns", range(60, 170, 7))
def test_no_line_is_wider_than_the_screen(monkeypatch: pytest.MonkeyPatch, name: str, columns: int) -> None:
    text = drawn(monkeypatch, name, columns)
    assert [line for line in prose(text) if len(line) > columns] == []
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@every_answer
def test_one_screen_and_no_colour_where_nobody_asked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("NO_COLOR")
    text = drawn(monkeypatch, name, None)
    assert "\x1b" not in text, "stdout is no terminal here"
    assert max(map(len, prose(text))) <= 100
    assert text.count("\n") <= MOST_LINES_AT_100


@every_answer
def test_the_first_line_is_the_answer(name: str) -> None:
    answer = ANSWERS[name]()
    first = render(answer).splitlines()[0]
    assert re.match(r"(FITS|TIGHT|UNLIKELY|NO)\b", first)
    if isinstance(answer, FitResult):
        assert answer.assessment.verdict.sentence.startswith(first)


def test_full_token_counts_and_every_budget_with_its_limit() -> None:
    text = render(long_context())
    assert "8 users x 131,072 tokens" in text
    row = next(line for line in text.splitlines() if line.startswith("offload-retrieve "))
    assert re.search(r" \d+/73 +\d+/2040 +[\d.]+/55 +[\d.]+/96 +\d+ +[\d.]+ \([\d.]+\.\.[\d.]+\)  FITS <- best$", row)


def test_a_no_is_followed_by_its_arithmetic_and_it_adds_up() -> None:
    assessment = long_context().assessment
    text = arithmetic(assessment.strategy("hbm"), assessment.deployment)
    weights, kv, engine, total, limit = map(float, re.findall(r"\d+\.\d", text))
    assert (weights, kv) == (15.0, 128.0), "8.03 B parameters of two bytes; 8 x 131072 tokens of 128 KiB"
    assert round(weights + kv + engine, 1) == total > limit
    assert text.endswith("3 users fit.")


def test_a_time_per_token_is_not_given_where_the_bytes_have_no_place() -> None:
    row = next(line for line in render(long_context()).splitlines() if line.startswith("hbm "))
    assert re.search(r" - +NO HBM 2\.0x$", row)


def test_a_winner_that_no_engine_has_is_not_the_command_to_paste() -> None:
    answer = long_context()
    winner = answer.assessment.verdict.strategy
    command = run_it(answer.assessment)
    assert command is not None and winner is not None
    assert winner not in command.label and "stock engine" in command.label
    assert f"About {winner}:" in render(answer)


def test_the_command_survives_a_narrow_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    command = run_it(long_context().assessment)
    assert command is not None
    lines = drawn(monkeypatch, "long-context", 60).splitlines()
    start = lines.index(next(line for line in lines if line.startswith("vllm serve")))
    pasted = "\n".join(lines[start : lines.index("", start)])
    assert "\\\n" in pasted
    assert shlex.split(pasted.replace("\\\n", "")) == shlex.split(command.text)


def test_strategies_without_a_row_are_named_in_one_line_each() -> None:
    text = " ".join(render(unified()).split())
    assert "N/A, CPU and GPU share one pool of memory here" in text
    excused = screenful(unified().assessment).excused
    assert {"offload-stream", "kv-fp8"} <= {item.id for item in excused}
    assert all(item.id in text for item in excused)
    assert "Same as hbm here: offload-stream, weight-offload" in render(
        fit(Words(model="llama3-8b", host="h100-server", gpus=1, context="8k"))
    )
    assert "judged at a hit fraction of 0" in " ".join(render(weights_too_large()).split())


def test_a_no_says_what_would_make_it_a_yes() -> None:
    text = render(weights_too_large())
    answer = weights_too_large()
    assert "What would make it fit:" in text
    assert all(remedy.change in text for remedy in answer.remedies)


def test_the_matrix_has_a_column_for_each_host_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn(monkeypatch, "three-hosts", 80).splitlines()
    head = next(line for line in lines if line.startswith("strategy"))
    assert head.split() == ["strategy", "h100-server", "rtx4090", "m3-ultra"]
    stream = next(line for line in lines if line.startswith("offload-stream"))
    assert stream.endswith("N/A unified")
    for one in three_hosts().fits:
        winner = one.assessment.verdict.strategy
        starred = [line for line in lines if winner and line.startswith(f"{winner} ") and " *" in line]
        assert winner is None or starred


def test_many_hosts_are_drawn_below_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = three_hosts()
    many = answer.__class__(answer.fits * 3)
    lines = render(many).splitlines()
    assert sum(line.startswith("strategy") for line in lines) == 3
    assert max(map(len, lines)) <= 80


@pytest.fixture
def oddly_named(tmp_path: Path) -> Words:
    """A model whose name would be markup to Rich and to Markdown, and colour to a terminal."""
    config = {
        "_name_or_path": "[red]x[/]|`a`\x1b[31m\N{CJK UNIFIED IDEOGRAPH-6A21}",
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 4, "hidden_size": 512,
        "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 1000,
        "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return Words(model=str(tmp_path), host="rtx4090", context="4k")


def test_names_are_printed_as_they_are(oddly_named: Words) -> None:
    text = render(fit(oddly_named))
    assert "[red]x[/]|`a`" in text
    assert "\x1b" not in text


def test_unmarked_strategies_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without HBM among the strategies, and with one that can't be judged, a screen still has its parts."""
    words = Words(model="llama3-8b", host="rtx4090", strategies=("kv-fp8", "kv-nvfp4"))
    text = render(fit(words))
    assert "FITS <- best" in text
    assert "No kernel in vllm on RTX 4090 24 GB: kv-nvfp4." in text
    alone = render(fit(Words(model="llama3-8b", host="rtx4090", strategies=("kv-nvfp4",))))
    assert "strategy  " not in alone
    assert "\n\n\n" not in alone
