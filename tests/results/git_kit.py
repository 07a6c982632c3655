"""Small git repositories, made by plumbing that depends on no configuration of the user's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.results.check_kit import write

_NOBODY = {
    "GIT_AUTHOR_NAME": "nobody", "GIT_AUTHOR_EMAIL": "nobody@example.org", "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "nobody", "GIT_COMMITTER_EMAIL": "nobody@example.org",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    """What a git command prints."""
    command = ["git", "-C", str(folder), "-c", "init.defaultBranch=main", *arguments]
    done = subprocess.run(command, env={**os.environ, **_NOBODY}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository_with(folder: Path, *commits: dict[str, str | None]) -> Path:
    """A repository with these commits, each of some files; None removes one. The first is tagged ``c0``, and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for number, files in enumerate(commits):
        write(folder, {name: text for name, text in files.items() if text is not None})
        for name in (name for name, text in files.items() if text is None):
            (folder / name).unlink()
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
        git(folder, "tag", f"c{number}")
    return folder


def state_of(folder: Path) -> dict[str, bytes]:
    """Every file of a repository and its git folder, to see that nothing touched them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
