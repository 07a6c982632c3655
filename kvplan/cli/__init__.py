"""The command line: one file a command, each a few lines: read, assess, judge, render.

``main`` loads only the command that is asked for, since importing all of them costs more than most answers.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import typer

from kvplan import __version__
from kvplan.cli.failures import run
from kvplan.cli.quick import QuickGroup

COMMANDS = ("fit", "check", "diff", "lock", "kv", "sweep", "calibrate", "model", "host", "explain", "schema")
"""In the order in which ``--help`` lists them; each is a module of this folder with ``register(app)``."""


def main() -> None:
    """The console script."""
    run(lambda: build_app(_only(sys.argv[1:])), sys.argv[1:])


def build_app(commands: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """The application with these commands."""
    app = typer.Typer(
        name="kvplan",
        cls=QuickGroup,
        help="Which KV-cache strategy fits this model on this host, and which budget binds the others?",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": _with_dashes},
    )
    app.callback()(_global_options)
    for name in commands:
        import_module(f"kvplan.cli.{name}").register(app)
    return app


def _with_dashes(option: str) -> str:
    """vLLM takes ``--max_model_len`` for ``--max-model-len``, and people paste it."""
    return option.replace("_", "-")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kvplan {__version__}")
        raise typer.Exit


def _global_options(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Taken before any command; the callback ends the process, so that no command is missed."""


def _only(arguments: list[str]) -> tuple[str, ...]:
    """The one command that the arguments name; all of them for help, completion and misspelt names."""
    if arguments and arguments[0] in COMMANDS and "_KVPLAN_COMPLETE" not in os.environ:
        return (arguments[0],)
    return COMMANDS
