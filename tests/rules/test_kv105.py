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


def test_the_remedy_is_below_the_share(tmp_path: Path) -> None:
    """A card of 23.5 GiB at 0.85 leaves a little less than SGLang's own reserve: the remedy must not be 0.85 again."""
    text = toml("[settings]\nmax_model_len = 4096\nmem_fraction_static = {}\n", SGLANG + 'host = "rtx4090"\n')
    (item,) = found(tmp_path, text.format(0.85), "KV105", "a.toml")
    fraction = float(str(item.remedy).rsplit(" ", 1)[1])
    assert fraction < 0.85
    assert found(tmp_path, text.format(fraction), "KV105", "a.toml") == []
