from pathlib import Path

import pytest

from tests.rules.kit import checked, found, only, serve, toml

LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len"


def _between(tmp_path: Path) -> int:
    """A length that fits at the best estimate and not at the pessimistic end."""
    text = serve(f"{LLAMA} 131072")
    longest = next(item for item in checked(tmp_path, text, host="rtx3090").findings if item.rule == "KV102")
    low, best = longest.figures["longest_tokens"]["low"], longest.figures["longest_tokens"]["best"]
    assert low < best
    return int(low + best) // 2


def test_between_best_and_pessimistic_is_a_warning(tmp_path: Path) -> None:
    item = only(tmp_path, serve(f"{LLAMA} {_between(tmp_path)}"), "KV104", host="rtx3090")
    assert item.level == "warn"
    assert item.where.endswith(":3")
    assert found(tmp_path, serve(f"{LLAMA} {_between(tmp_path)} {item.remedy}"), "KV104", host="rtx3090") == []


def test_well_inside_is_none(tmp_path: Path) -> None:
    assert found(tmp_path, serve(f"{LLAMA} 8192"), "KV104", host="rtx3090") == []


def test_a_stated_margin_is_kept(tmp_path: Path) -> None:
    body = '[workload]\ncontext = "32k"\nusers = 8\n[objectives]\nmargin = '
    assert found(tmp_path, toml(f"{body}0.2"), "KV104", "a.toml") == []
    item = only(tmp_path, toml(f"{body}0.5"), "KV104", "a.toml")
    assert item.level == "warn"
    assert "less than the margin of 50%" in item.message


@pytest.mark.parametrize(("utilization", "warned"), [(0.98, True), (0.95, False), (0.9, False)])
def test_nearly_the_whole_card(tmp_path: Path, utilization: float, warned: bool) -> None:
    """vllm#57475: a card of 24 GB ran out of memory while graphs were captured, at 0.98."""
    text = serve(f"Qwen/Qwen3-4B --max-model-len 4096 --gpu-memory-utilization {utilization}")
    said = [item for item in found(tmp_path, text, "KV104", host="rtx4090") if "leaves" in item.message]
    assert bool(said) == warned


def test_a_check_that_is_switched_off(tmp_path: Path) -> None:
    """A committed compose file for GX10 sets the variable."""
    text = "export VLLM_SKIP_INIT_MEMORY_CHECK={}\nvllm serve Qwen/Qwen3-4B --max-model-len 4096\n"
    said = [item.message for item in found(tmp_path, text.format(1), "KV104", host="h100-server")]
    assert any("own check" in message for message in said)
    assert found(tmp_path, text.format(0), "KV104", host="h100-server") == []
