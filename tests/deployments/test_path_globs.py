from __future__ import annotations

import pytest

from kvplan.deployments.path_globs import glob_matches


@pytest.mark.parametrize(("pattern", "path", "matches"), [
    ("prod/**", "prod/a.yaml", True), ("prod/**", "prod/x/a.yaml", True), ("prod/**", "staging/prod/a.yaml", False),
    ("**/prod/*.yaml", "prod/a.yaml", True), ("**/prod/*.yaml", "x/y/prod/a.yaml", True),
    ("prod/*.yaml", "prod/x/a.yaml", False), ("prod", "prod/x/a.yaml", True), ("prod/", "prod/a.yaml", True),
    ("*.sh", "deep/in/serve.sh", True), ("*.sh", "serve.sh.bak", False), ("serve.sh", "a/serve.sh", True),
    ("./deploy/a.yaml", "deploy/a.yaml", True), ("a?.yaml", "ab.yaml", True), ("a+.yaml", "aa.yaml", False),
    ("-", "-", True),
])  # fmt: skip
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert glob_matches(pattern, path) is matches
