from pathlib import Path

import pytest

from tests.rules.kit import found, toml

SGLANG = 'engine = "sglang@0.5.23"\n'


def levels(folder: Path, top: str, fraction: float) -> list[str]:
    text = toml(f"[settings]\nmax_model_len = 32768\nmem_fraction_static = {fraction}\n", SGLANG + top)
    return [item.level for item in found(folder, text, "KV105", "a.toml")]


@pytest.mark.parametrize(("fraction", "expected"), [(0.15, ["fail"]), (0.88, []), (0.97, ["warn"]), (0.995, ["fail"])])
def test_the_share_has_two_sides(tmp_path: Path, fraction: float, expected: list[str]) -> None:
    """sglang#5372: nothing is left outside the pool at 0.95 with a second cache; too little does not hold weights."""
    assert levels(tmp_path, 'model = "llama3-8b"', fraction) == expected


def test_weights_are_said_once(tmp_path: Path) -> None:
    text = toml("[settings]\nmem_fraction_static = 0.15\n", SGLANG)
    assert found(tmp_path, text, "KV101", "a.toml") == []
