"""JSON values of flags, with vLLM's numbers that have a suffix."""

from __future__ import annotations

from typing import Any

import pytest

from kvplan.deployments.json_values import add_entry, parse_json


@pytest.mark.parametrize(("text", "value"), [
    ('{"a": 80G}', {"a": 80 * 2**30}), ('{"a":80g, "b": [1k, 2K]}', {"a": 80 * 10**9, "b": [1000, 2048]}),
    ('{"a": "80G"}', {"a": "80G"}), ("3", 3), ('{"a": 1.5k}', {"a": 1500}),
])  # fmt: skip
def test_numbers_with_a_suffix(text: str, value: object) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a": 9x}', '{"a": 0.0001K}', "--x"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_entries() -> None:
    """vLLM's own example: --json-arg.key3.key4 and --json-arg.key2+ with several values."""
    entries: dict[str, Any] = {}
    for written, text in (("--x.a", "1"), ("--x.b.c", "true"), ("--x.b.d", "word"), ("--x.l+", "e,f"), ("--x.l+", "g"),
                          ("--x.n", "2k"), ("--x.a.z", "3")):  # fmt: skip
        add_entry(entries, written, text)
    assert entries == {"a": {"z": 3}, "b": {"c": True, "d": "word"}, "l": ["e", "f", "g"], "n": 2000}
