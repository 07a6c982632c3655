"""What every rule has: one file, one id, one section of the documentation, one test file."""

from __future__ import annotations

import re
from pathlib import Path

from kvplan.rules import all_rules
from kvplan.rules.interface import LEVELS


def test_the_id_is_the_files_name() -> None:
    for rule_id, rule in all_rules().items():
        assert re.fullmatch(r"KV[1-6]\d\d", rule_id)
        assert rule.__name__.rsplit(".", 1)[1].startswith(rule_id.lower() + "_")  # type: ignore[attr-defined]
        assert rule.LEVEL in LEVELS
        assert rule.TITLE
        assert (rule.__doc__ or "").startswith(f"{rule_id}: ")


def test_every_rule_is_documented_and_tested(repository: Path) -> None:
    text = (repository / "docs" / "rules.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (KV\d{3})$", text, re.MULTILINE) == list(all_rules())
    for rule_id in all_rules():
        assert (repository / "tests" / "rules" / f"test_{rule_id.lower()}.py").exists()
