"""What every test stands on: the same environment on every machine, and examples that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

# Colours, widths and a user's own catalogs would change what commands print.
_FOREIGN_VARIABLES = (
    "COLUMNS",
    "FORCE_COLOR",
    "GITHUB_ACTIONS",
    "KVPLAN_CATALOG",
    "LINES",
    "PY_COLORS",
    "TERMINAL_WIDTH",
)

settings.register_profile("kvplan", deadline=None, derandomize=True, database=None)
settings.load_profile("kvplan")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top folder of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session", autouse=True)
def plain_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same environment for every test and every command that it starts."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _FOREIGN_VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("NO_COLOR", "1")
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield
