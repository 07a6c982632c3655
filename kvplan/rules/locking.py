"""What to do about a model that no catalog has: ``kvplan lock`` writes down what ``check`` has to know of it."""

from __future__ import annotations

import shlex

from kvplan.deployments.found import FoundDeployment
from kvplan.rules.named_models import hub_part, is_path


def locking_remedy(found: FoundDeployment, name: str) -> str | None:
    """The command that locks the model; None for a name that is neither a path nor one of the Hub."""
    path = found.place.path
    command = f"kvplan lock {shlex.quote(path) if path != '-' else 'PATH'}"
    if hub_part(found.engine, name) is not None:
        return f"{command} --fetch"
    if is_path(name):
        return f"{command}, where the file is, or [models] of .kvplan.toml: {name!r} = 'OWNER/NAME'"
    return None
