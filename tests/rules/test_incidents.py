"""Incidents that others reported, in tests/truth/incidents.jsonl: the same verdict by the same rule.

A row whose report leaves the model or the host open must be asked for it. A row with ``known_miss`` is one that is not
reached, and why: the day that it is, its test says so.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kvplan.units import gib
from tests.rules.kit import only, serve
from tests.truth_groups import incidents

ROWS = incidents.rows()
KEYS = {"url", "fact", "files", "assumed"}
MAY = {"host", "rule", "level", "missing", "says", "thin", "known_miss"}


def name_of(row: dict[str, Any]) -> str:
    rules = "-".join(incidents.listed(row.get("rule", "open")))
    return f"{'-'.join(row['url'].split('/')[4:7:2])}-{rules}-{row.get('level', row.get('missing'))}"


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_verdict_is_that_of_the_report(row: dict[str, Any], tmp_path: Path) -> None:
    findings = incidents.findings_of(row, tmp_path)
    if "missing" in row:
        assert incidents.is_asked(row, findings), findings
    else:
        assert incidents.is_matched(row, findings) == ("known_miss" not in row), findings


def test_rows_say_where_they_come_from() -> None:
    for row in ROWS:
        assert row.keys() >= KEYS and row.keys() <= KEYS | MAY, row["url"]
        assert row["url"].startswith("https://github.com/")
        assert ("missing" in row) != ("rule" in row)


def test_at_least_nine_of_ten_are_reached() -> None:
    assert incidents.misses(incidents.tallies()) == []


def test_every_rule_with_reported_incidents_has_a_row() -> None:
    """Rules of the incidents that were collected: each is tried by a file."""
    rules = Counter(rule for row in ROWS for rule in incidents.listed(row.get("rule")) if rule)
    expected = {f"KV{number}" for number in (
        *range(101, 109), *range(201, 210), 301, 302, 303, 401, 402, 403, 501, 502)}  # fmt: skip
    assert expected <= set(rules)


def figures(part: str, rule: str, folder: Path, *, level: str | None = None) -> dict[str, Any]:
    """Of the first finding of a rule for the incident whose address has this part."""
    for row in ROWS:
        if part in row["url"]:
            for item in incidents.findings_of(row, folder):
                if item.rule == rule and level in (None, item.level):
                    return item.figures
    raise AssertionError(f"{part} has no {rule}")


# Part of the address, what vLLM said: tokens that fit in the pool
POOLS = {"SubgraphRAG/issues/19": 39024, "api-for-open-llm/issues/259": 15248}


@pytest.mark.parametrize("part", POOLS)
def test_the_tokens_that_fit_are_about_those_that_the_engine_printed(part: str, tmp_path: Path) -> None:
    longest = figures(part, "KV102", tmp_path, level="fail")["longest_tokens"]
    assert longest["low"] * 0.93 <= POOLS[part] <= longest["high"]


def test_gemma_with_every_layer_in_full(tmp_path: Path) -> None:
    """880 KiB a token: 27.5 GiB for 32,768 tokens, and the error text says 27.19 available (RTX PRO 6000 at 0.95)."""
    row = next(row for row in ROWS if "27.19" in row["fact"])
    findings = incidents.findings_of(row, tmp_path)
    full = next(item.figures for item in findings if item.rule == "KV106")
    assert full["kv_bytes"] == 32768 * 880 * 1024 == gib(27.5)
    pool = next(item.figures for item in findings if item.rule == "KV104")["pool_bytes"]
    assert pool["low"] <= gib(27.19) <= pool["high"]


def test_a_million_tokens_of_a_model_of_128_kib_are_137_gb(tmp_path: Path) -> None:
    """llama.cpp issue 8101; the same model needs 16.00 GiB for 131,072 tokens (tpu-inference issue 223)."""
    needed = figures("llama.cpp/issues/8101", "KV102", tmp_path)["needed_bytes"]["best"]
    assert needed == pytest.approx(137.4e9, rel=0.01)
    assert figures("tpu-inference/issues/223", "KV102", tmp_path)["needed_bytes"]["best"] == gib(16)


def test_sixteen_gib_are_the_tokens_that_the_engine_printed(tmp_path: Path) -> None:
    """vLLM PR 44594: 16 GiB of KV of Qwen2.5-7B are 299,584 tokens, whole blocks of 16."""
    flags = "--max-model-len 8192 --kv-cache-memory-bytes 17179869184 --max-num-seqs 1024"
    item = only(tmp_path, serve(f"Qwen/Qwen2.5-7B-Instruct {flags}", "0.19.0"), "KV107", host="h100-server")
    assert item.figures["pool_tokens"] // 16 * 16 == 299584
