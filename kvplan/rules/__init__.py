"""What ``kvplan check`` looks for: one rule a file, found by this folder.

A rule's id is its file's name, its section in ``docs/rules.md`` and the word that suppresses it. The first digit names
the budget: 1 GPU memory, 2 host memory, 3 cores and layout, 4 settings, 5 speed and objectives, 6 links.

FAIL is said only where the optimistic end of an estimate is over its budget. Where only the best estimate is over, it
is a WARN; what an unknown input could turn round is UNKNOWN, and names the input.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

from kvplan.rules.interface import Rule

_RULE_FILE = re.compile(r"^(kv\d{3})_")


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by id, in the order of the ids."""
    names = sorted(info.name for info in iter_modules(__path__) if _RULE_FILE.match(info.name))
    rules = [cast(Rule, import_module(f"{__name__}.{name}")) for name in names]
    return {rule.ID: rule for rule in rules}
