"""Trace files: every public form, and one line for what can't be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kvplan.errors import InputError
from kvplan.traces.lengths import request_lengths

FORMS = {
    "azure.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.97,4808,10\r\n",
    "burst.csv": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,4808,10,4818,API\n",
    "vidur.csv": "arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,4808,10\n",
    "mooncake.jsonl": '{"timestamp": 0, "input_length": 4808, "output_length": 10, "hash_ids": [0]}\n\n',
    "spaced.csv": "arrived_at, num_prefill_tokens , num_decode_tokens\n0.1, 4808, 10\n",
    "floats.csv": "num_prefill_tokens,num_decode_tokens\n4808.0,1e1\n",
    "floats.json": '{"input_length": 4808.0, "output_length": 10}\n',
    "sharegpt.jsonl": '{"input_toks": 4808, "output_toks": 10, "arrival_time_ns": 1}\n',
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(FORMS[name], newline="")
    assert request_lengths(str(file)) == [(4808, 10)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "holds no requests"),
        ("a.csv", "x,y\n1,2\n", "no columns of prompt and output"),
        ("a.csv", "ContextTokens,GeneratedTokens\n1,2\n3,many\n", "GeneratedTokens must be a whole number"),
        ("a.csv", "ContextTokens,GeneratedTokens\n1\n", "GeneratedTokens must be a whole number"),
        ("a.csv", "ContextTokens,GeneratedTokens\n-1,2\n", "ContextTokens must be a whole number"),
        ("a.csv", "ContextTokens,GeneratedTokens\n10.5,2\n", "ContextTokens must be a whole number"),
        ("a.csv", "ContextTokens,GeneratedTokens\n1e999,2\n", "ContextTokens must be a whole number"),
        ("a.jsonl", '{"input_length": NaN, "output_length": 2}\n', "input_length must be a whole number"),
        ("a.jsonl", '{"input_length": 1, "output_length": 2}\n[1]\n', "is not a JSON object"),
        ("a.jsonl", '{"input_length": 1, "output_length": 2}\n{\n', "is not a JSON object"),
        ("a.jsonl", '{"input_length": true, "output_length": 2}\n', "input_length must be a whole number"),
        ("a.jsonl", '{"input_length": 1e300, "output_length": 2}\n', "input_length must be a whole number"),
    ],
)
def test_what_is_no_trace_is_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        request_lengths(str(file))


def test_a_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"input_length": 1, "output_length": 2}\n\n{"input_length": 1}\n')
    with pytest.raises(InputError) as caught:
        request_lengths(str(file))
    assert str(caught.value.where).endswith("a.jsonl:3")


def test_folders_pipes_and_missing_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("pipe.csv", "missing.csv", "\0.csv"):
        with pytest.raises(InputError):
            request_lengths(str(tmp_path / name))
