"""Whole outputs, kept in tests/golden and compared byte for byte. KVPLAN_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare ``text`` with the golden file of that name."""
    path = GOLDEN / name
    if os.environ.get("KVPLAN_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no golden file {path.name}: run with KVPLAN_UPDATE_GOLDEN=1 and read what it wrote"
    assert text == path.read_text(encoding="utf-8")
