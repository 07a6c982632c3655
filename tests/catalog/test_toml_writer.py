"""What is written as TOML comes back as it was."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.catalog.toml_writer import table_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
VALUES: Any = st.recursive(
    st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=40,
)


@given(TEXT, st.dictionaries(TEXT, VALUES, max_size=6))
def test_it_comes_back(name: str, table: dict[str, Any]) -> None:
    assert tomllib.loads(table_text(("models", name), table)) == {"models": {name: table}}


def test_the_layout_of_the_shipped_catalogs() -> None:
    config = {"list": [1], "sub": {"a": [2]}}
    table = {"name": "A", "rope": {"type": "x", "factor": 2.0}, "config": config, "last": True}
    assert table_text(("models", "a.b"), table) == (
        '[models."a.b"]\nname = "A"\nrope = { type = "x", factor = 2.0 }\nlast = true\n'
        '[models."a.b".config]\nlist = [1]\n[models."a.b".config.sub]\na = [2]\n'
    )


def test_what_is_left_out_and_what_is_refused() -> None:
    assert table_text(("a",), {"x": None, "y": {"z": None}}) == "[a]\ny = {}\n"
    assert math.isnan(tomllib.loads(table_text(("a",), {"x": math.nan}))["a"]["x"])
    for value in ("\ud800", b"bytes", {"\ud800": 1}):
        with pytest.raises(ValueError):
            table_text(("a",), {"x": value})
