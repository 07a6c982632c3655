from __future__ import annotations

import json

import pytest

import tests.deployments.kit as kit
from kvplan.deployments.as_words import translate

TEXT = """# the chat service
schema = "kvplan.deployment/1"
model = "llama3-8b"
host = "h100-server"
gpus = 1
strategy = ["hbm", "kv-fp8"]

[settings]
tensor_parallel_size = 1
max-model-len = "32k"

[workload]
users = 8

[neighbours]
link_gb_per_s = 5
"""


def test_every_setting_has_its_line() -> None:
    item = kit.one(TEXT, "deploy/chat.toml")
    assert (item.name, item.form, str(item.place)) == ("chat", "kvplan", "deploy/chat.toml:2")
    assert kit.values(item) == {
        "model": "llama3-8b", "host": "h100-server", "gpus": 1, "strategy": ("hbm", "kv-fp8"), "tp": 1,
        "max_model_len": "32k", "users": 8, "other_link_gb_per_s": 5,
    }  # fmt: skip
    assert kit.lines(item) == {
        "model": 3, "host": 4, "gpus": 5, "strategy": 6, "tp": 9, "max_model_len": 10, "users": 13,
        "other_link_gb_per_s": 16,
    }  # fmt: skip


def test_other_toml_files_are_not_recognised() -> None:
    assert kit.read('[project]\nname = "x"\n', "pyproject.toml") == ([], [])
    assert kit.read(TEXT.replace("kvplan.deployment", "other"), "chat.toml") == ([], [])


def test_a_newer_schema_is_said() -> None:
    found, faults = kit.read(TEXT.replace("deployment/1", "deployment/2"), "chat.toml")
    assert not found
    assert faults[0].place.line == 2


def test_inline_tables_are_tables() -> None:
    item = kit.one('schema = "kvplan.deployment/1"\nmodel = "m"\nworkload = { users = 3 }\n', "a.toml")
    assert kit.lines(item)["users"] == 3


def test_the_engines_own_length_is_read_as_the_engine_reads_it() -> None:
    words = translate(kit.one(TEXT, "chat.toml")).values
    assert words["max_model_len"] == 32000
    in_workload = TEXT.replace("users = 8", 'context = "32k"')
    assert translate(kit.one(in_workload, "chat.toml")).values["context"] == 32768


@pytest.mark.parametrize("written", [
    'speculative_config = { method = "mtp", num_speculative_tokens = 2 }',
    "speculative_config = '{\"method\": \"mtp\", \"num_speculative_tokens\": 2}'",
    '[settings.speculative_config]\nmethod = "mtp"\nnum_speculative_tokens = 2',
])  # fmt: skip
def test_what_drafts_is_a_table_or_json(written: str) -> None:
    item = kit.one(f'schema = "kvplan.deployment/1"\nmodel = "m"\n[settings]\n{written}\n', "a.toml")
    assert item.complaints == ()
    assert json.loads(str(kit.values(item)["speculative_config"])) == {"method": "mtp", "num_speculative_tokens": 2}
    assert translate(item).words.speculative_config == kit.values(item)["speculative_config"]


def test_a_method_and_host_overrides_are_those_of_fit() -> None:
    overrides = {"cpu_cores": 16.0, "dram_gib": 500.0, "dram_gb_per_s": 300.0, "link": "pcie4x16", "hbm_gib": 70.0,
                 "numa_nodes": 1, "display_reserve_gib": 1.0}  # fmt: skip
    table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in overrides.items())
    text = f'schema = "kvplan.deployment/1"\nmodel = "m"\nmethod = "shadowkv"\n[host_overrides]\n{table}\n'
    words = translate(kit.one(text, "a.toml")).words
    assert words.method == "shadowkv"
    assert {name: getattr(words, name) for name in overrides} == overrides
