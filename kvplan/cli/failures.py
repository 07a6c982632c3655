"""How a command ends: the exit code, and one clear line where something went wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import typer

from kvplan.cli.outputs import forget_stdout
from kvplan.cli.usage import UsageFault, usage_words
from kvplan.errors import KvplanError

BUG_EXIT_CODE = 70
USAGE_EXIT_CODE = 2


def run(build: Callable[[], typer.Typer], arguments: list[str]) -> None:
    """Run the application and exit the process with its code."""
    as_json = wants_json(arguments)
    try:
        code = build()(args=arguments, standalone_mode=False, prog_name="kvplan")
        sys.stdout.flush()
    except KvplanError as error:
        code = report(error.code, error.message, error.where, error.help, as_json, error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        forget_stdout()
        code = 0
    except UsageFault as error:
        message, advice = usage_words(error)
        code = report("usage", message, None, advice, as_json, USAGE_EXIT_CODE) if message else USAGE_EXIT_CODE
    except RecursionError:
        code = report("input", "the input is nested too deeply", None, None, as_json, USAGE_EXIT_CODE)
    except Exception as error:
        if os.environ.get("KVPLAN_DEBUG"):
            raise
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        where = "this is a bug in kvplan; please report it with the command (KVPLAN_DEBUG=1 shows where it happened)"
        code = report("bug", text, None, where, as_json, BUG_EXIT_CODE)
    sys.exit(code if isinstance(code, int) else 0)


def report(code: str, message: str, where: str | None, help: str | None, as_json: bool, exit_code: int) -> int:
    """Print the error: one line and one hint on stderr; with ``--format json`` an envelope on stdout as well."""
    if as_json:
        error = {"code": code, "message": message, "where": where, "help": help}
        print(json.dumps({"schema": "kvplan.error/1", "error": error}, indent=2))
    line = f"{where}: {message}" if where else message
    print(f"error: {line}", file=sys.stderr)
    if help:
        print(f"help: {help}", file=sys.stderr)
    return exit_code


def wants_json(arguments: list[str]) -> bool:
    """Whether the arguments ask for JSON, read without parsing them all: a wrong flag must be reported as JSON too."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=False)
    return any(
        first.lower() in ("--format=json", "-fjson") or (first in ("--format", "-f") and second.lower() == "json")
        for first, second in pairs
    )
