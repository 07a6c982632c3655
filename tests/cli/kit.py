"""Commands run in this process: as the console script does, with what they print and the code they end with."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any, NamedTuple

from kvplan.cli import COMMANDS, build_app
from kvplan.cli.failures import run


class Done(NamedTuple):
    """One command that has ended."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """What it printed as JSON."""
        value: dict[str, Any] = json.loads(self.out)
        return value


def kvplan(*arguments: str) -> Done:
    """Run one command."""
    out, err = io.StringIO(), io.StringIO()
    commands = (arguments[0],) if arguments and arguments[0] in COMMANDS else COMMANDS
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(lambda: build_app(commands), list(arguments))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return Done(code, out.getvalue(), err.getvalue())


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    """The JSON of a command that must end so and say nothing else."""
    done = kvplan(*arguments, "--format", "json")
    assert done.code == code, done.err
    assert code != 0 or done.err == ""
    return done.answer
