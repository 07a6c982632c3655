"""KV410: a file, or a part of one, cannot be read or is not recognised. It belongs to no deployment.

The rest of a file behind a cap fails: a gate that passes what it has not read would be open.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.interface import Unreadable
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding

ID = "KV410"
TITLE = "a file can't be read"
LEVEL = "unknown"


def check(context: Context) -> Iterator[Finding]:
    """Nothing: a deployment that is there was read."""
    return iter(())


def of_file(fault: Unreadable) -> Finding:
    """The finding for a file."""
    return Finding(ID, fault.level, None, str(fault.place), fault.message, remedy=fault.remedy)
