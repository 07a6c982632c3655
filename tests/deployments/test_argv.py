import json

import pytest

from kvplan.deployments.argv import Arguments, Word, read_arguments
from kvplan.deployments.commands.vllm_flags import SETTINGS, SWITCHES, TABLE
from kvplan.deployments.found import Place


def arguments(text: str, *, positional: bool = True) -> Arguments:
    return read_arguments([Word(part, Place("x", 1)) for part in text.split()], TABLE, positional_model=positional)


def values(text: str) -> dict[str, object]:
    return {name: setting.value for name, setting in arguments(text).settings.items()}


@pytest.mark.parametrize("text", [
    "m --max-model-len 8192", "m --max-model-len=8192", "m --max_model_len 8192", "--max-model-len 8192 m",
    "m --max-model 8192", "m --trust-remote-code --max-model-len 8192", "--model m --max-model-len 8192",
    "m --served-model-name a b c --max-model-len 8192", "--enforce m --no-enforce-eager --max-model-len 8192",
    "m --max-model-len 4096 --max-model-len 8192", "m --unheard-of x --max-model-len 8192",
])  # fmt: skip
def test_spellings_of_one_setting(text: str) -> None:
    found = values(text)
    assert (found["model"], found["max_model_len"]) == ("m", "8192")


@pytest.mark.parametrize(("text", "name", "value"), [
    ("m -tp 2", "tp", "2"), ("m -tp=2", "tp", "2"), ("m --tensor-parallel-size 2", "tp", "2"), ("m -dcp 8", "dcp", "8"),
    ("m -q fp8", "quantization", "fp8"), ("m --max-model-len -1", "max_model_len", "-1"),
    ("m --gpu-memory-util 0.9", "gpu_memory_utilization", "0.9"), ("m --enforce-eager", "enforce_eager", True),
    ("m --no-enforce-eager", "enforce_eager", False),
    ("m --max-num-batched-token 512", "max_num_batched_tokens", "512"),
])  # fmt: skip
def test_flags(text: str, name: str, value: object) -> None:
    assert values(text)[name] == value


def test_an_abbreviation_that_fits_several_flags_is_none() -> None:
    """argparse refuses ``--max`` and ``--max-num``: they could be several flags."""
    assert TABLE.named("--max-num") == "max-num"
    assert "max_num_seqs" not in values("m --max-num 5")


def test_the_older_entry_point_has_no_plain_model() -> None:
    found = arguments("stray --model m", positional=False).settings
    assert found["model"].value == "m"


def test_a_value_that_is_not_known_takes_the_earlier_one_with_it() -> None:
    words = [Word("m", Place("x", 1)), Word("--max-model-len", Place("x", 2)), Word("8192", Place("x", 2)),
             Word("--max-model-len", Place("x", 3)), Word("$X", Place("x", 3), "no value")]  # fmt: skip
    found = read_arguments(words, TABLE, positional_model=True)
    assert "max_model_len" not in found.settings
    assert [item.name for item in found.unresolved] == ["max_model_len"]


def test_more_flags_from_a_file_are_said() -> None:
    assert [item.name for item in arguments("--config serve.yaml").unresolved] == ["config"]


def test_entries_of_a_json_flag_make_the_object() -> None:
    """As vLLM documents it: ``--json-arg.key1 value``, ``--json-arg.key3.key4 value``, ``--json-arg.list+ a,b``."""
    found = values(
        "m --kv-transfer-config.kv_connector OffloadingConnector --kv_transfer_config.kv_role=kv_both"
        " --kv-transfer-config.kv_connector_extra_config.cpu_bytes_to_use 80G"
        " -cc.cudagraph_capture_sizes+ 1,2 -cc.cudagraph_capture_sizes+ 4 --compilation-config.mode 3"
    )
    assert json.loads(str(found["kv_transfer_config"])) == {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {"cpu_bytes_to_use": 80 * 2**30},
    }
    assert json.loads(str(found["compilation_config"])) == {"cudagraph_capture_sizes": ["1", "2", "4"], "mode": 3}


def test_an_entry_that_is_not_known_leaves_the_object_open() -> None:
    words = [Word("--speculative-config.method", Place("x", 1)), Word("$HOW", Place("x", 1), "no value")]
    found = read_arguments(words, TABLE)
    assert [item.name for item in found.unresolved] == ["speculative_config"]
    assert not found.settings


@pytest.mark.parametrize(("text", "value"), [
    ("--enable-chunked-prefill false", False), ("--enable-chunked-prefill=True", True),
    ("--no-enable-chunked-prefill", False), ("--disable-chunked-prefill", False), ("--enable-chunked-prefill m", True),
])  # fmt: skip
def test_a_switch_may_have_a_truth_value(text: str, value: bool) -> None:
    """vLLM took ``--enable-chunked-prefill False`` until 0.8; ``--disable-...`` for ``--enable-...`` since 0.33."""
    assert values(text)["chunked_prefill"] is value


def test_the_hybrid_manager_by_its_two_names() -> None:
    assert values("m --disable-hybrid-kv-cache-manager")["disable_hybrid_kv_cache_manager"] is True
    assert values("m --no-disable-hybrid-kv-cache-manager")["disable_hybrid_kv_cache_manager"] is False
    assert values("m --enable-hybrid-kv-cache-manager")["disable_hybrid_kv_cache_manager"] is False


@pytest.mark.parametrize(("text", "level", "words"), [
    ("m --max-modellen 8192", "warn", "--max-model-len"),
    ("m --gpu-memory-utilisation 0.9", "warn", "--gpu-memory-utilization"),
    ("m --max-num 5", "warn", "may be any of"), ("m -mml 5", "warn", "no flag -mml"),
    ("m --our-own-extension 5", "info", "no flag --our-own-extension"),
])  # fmt: skip
def test_a_flag_that_no_version_has(text: str, level: str, words: str) -> None:
    doubts = arguments(text).complaints
    assert [(doubt.level, doubt.stops) for doubt in doubts] == [(level, False)]
    assert words in f"{doubts[0].message} {doubts[0].remedy}"


@pytest.mark.parametrize(
    "text", ["m --swap-space 4", "m --served-model-name a b", "m --{{x}} 1", "m --no-enable-log-requests"]
)
def test_a_flag_of_some_version_is_not_doubted(text: str) -> None:
    assert arguments(text).complaints == []


def test_every_flag_that_is_met_is_kept() -> None:
    assert list(arguments("m -tp 2 --swap-space 4 --no-enforce-eager --unheard-of x").flags) == [
        "tensor-parallel-size", "swap-space", "enforce-eager", "unheard-of",
    ]  # fmt: skip


def test_every_setting_is_a_flag() -> None:
    assert set(SETTINGS) <= TABLE.flags
    assert {"enforce-eager", "enable-expert-parallel"} <= SWITCHES
    for flag in TABLE.flags:
        assert TABLE.named(f"--{flag}") == flag
        assert TABLE.named(f"--{flag.replace('-', '_')}") == flag
