"""How a command ends: the exit code, and one clear line where something went wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress

import typer

from kvplan.cli.outputs import forget_stdout, prepare_streams
from kvplan.cli.usage import UsageFault, usage_words
from kvplan.errors import KvplanError

BUG_EXIT_CODE = 70
INTERRUPTED_EXIT_CODE = 130
USAGE_EXIT_CODE = 2


def run(build: Callable[[], typer.Typer], arguments: list[str]) -> None:
    """Run the application and exit the process with its code."""
    prepare_streams()
    as_json = wants_json(arguments)
    try:
        code = build()(args=arguments, standalone_mode=False, prog_name="kvplan")
        sys.stdout.flush()
    except KvplanError as error:
        code = report(error.code, error.message, error.where, error.help, as_json, error.exit_code)
    except (typer.Abort, KeyboardInterrupt) as error:  # Typer makes an Abort of every EOFError
        lost = error.__cause__
        code = _unexpected(lost, as_json) if isinstance(lost, EOFError) else INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        forget_stdout()
        code = 0
    except UsageFault as error:
        message, advice = usage_words(error)
        code = report("usage", message, None, advice, as_json, USAGE_EXIT_CODE) if message else USAGE_EXIT_CODE
    except Exception as error:
        code = _unexpected(error, as_json)
    sys.exit(code if isinstance(code, int) else 0)


def _unexpected(error: Exception, as_json: bool) -> int:
    """The exit code of what no command foresaw: mostly a bug."""
    if isinstance(error, RecursionError):
        return report("input", "the input is nested too deeply", None, None, as_json, USAGE_EXIT_CODE)
    if isinstance(error, OSError) and error.errno and error.filename is None:  # no file of its own: stdout
        forget_stdout()
        return report("input", f"cannot write the result: {error.strerror}", None, None, as_json, USAGE_EXIT_CODE)
    if os.environ.get("KVPLAN_DEBUG"):
        raise error
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    advice = "this is a bug in kvplan; please report it with the command (KVPLAN_DEBUG=1 shows where it happened)"
    return report("bug", text, None, advice, as_json, BUG_EXIT_CODE)


def report(code: str, message: str, where: str | None, help: str | None, as_json: bool, exit_code: int) -> int:
    """Print the error: one line and one hint on stderr; with ``--format json`` an envelope on stdout as well.

    Where one of them can't be written (a full disk, a reader that has gone away) the exit code still tells.
    """
    if as_json:
        error = {"code": code, "message": message, "where": where, "help": help}
        try:
            print(json.dumps({"schema": "kvplan.error/1", "error": error}, indent=2), flush=True)
        except OSError:
            forget_stdout()
    line = f"{where}: {message}" if where else message
    try:
        print(f"error: {line}" + (f"\nhelp: {help}" if help else ""), file=sys.stderr, flush=True)
    except OSError:  # what could not be written must not be tried again when the interpreter ends
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return exit_code


def wants_json(arguments: list[str]) -> bool:
    """Whether the arguments ask for JSON, read without parsing them all: a wrong flag must be reported as JSON too."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=False)
    return any(
        first.lower() in ("--format=json", "-fjson") or (first in ("--format", "-f") and second.lower() == "json")
        for first, second in pairs
    )
