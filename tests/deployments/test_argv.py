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


def test_one_entry_of_a_json_flag_is_not_the_flag() -> None:
    assert "speculative_config" not in values("m --speculative-config.method ngram")


def test_every_setting_is_a_flag() -> None:
    assert set(SETTINGS) <= TABLE.flags
    assert {"enforce-eager", "enable-expert-parallel"} <= SWITCHES
    for flag in TABLE.flags:
        assert TABLE.named(f"--{flag}") == flag
        assert TABLE.named(f"--{flag.replace('-', '_')}") == flag
