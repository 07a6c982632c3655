"""What was wrong with the words of a command line, in one line and a hint.

Typer raises its own exceptions for these, of which versions before 0.26 had none and let Click's through; both have
the same attributes, and what they say is put into kvplan's words here.
"""

from __future__ import annotations

from typing import Any

from kvplan.errors import did_you_mean
from kvplan.units import shorten

try:
    from typer import TyperException as UsageFault
except ImportError:  # an older Typer
    from click import ClickException as UsageFault  # type: ignore[assignment]

__all__ = ["UsageFault", "usage_words"]


def usage_words(error: UsageFault) -> tuple[str, str]:
    """(what is wrong, what to do) about an option, an argument or a command; ("", "") where help was shown instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return "", ""
    context: Any = getattr(error, "ctx", None)
    listing = f"{context.command_path if context else 'kvplan'} --help"
    name: str = getattr(error, "option_name", "")
    if name and hasattr(error, "possibilities"):
        known = [option for param in context.command.params for option in param.opts] if context else []
        return f"no option named {shorten(name)!r}", _with_guess(name, known, listing)
    if name:
        return f"{name} needs a value", listing
    parameter: Any = getattr(error, "param", None)
    text = " ".join((getattr(error, "message", "") or "").split())
    if parameter is not None:
        shown = _parameter_name(parameter)
        return (f"{shown}: {text}" if text else f"{shown} is missing"), listing
    if text.startswith("No such command ") and context is not None:
        typed = text.split("'")[1] if "'" in text else text.removeprefix("No such command ")
        commands = list(context.command.commands)
        return f"no command named {shorten(typed)!r}", _with_guess(typed, commands, listing)
    if text.startswith("Got unexpected extra argument"):
        return f"no argument {shorten(text.rpartition('(')[2].rstrip(')'))!r} was expected", listing
    text = text or " ".join(error.format_message().split())
    return text[:1].lower() + text[1:].removesuffix("."), listing


def _with_guess(typed: str, known: list[str], listing: str) -> str:
    guesses = did_you_mean(typed, known, limit=1)
    return f"did you mean {guesses[0]}? ({listing})" if guesses else listing


def _parameter_name(parameter: Any) -> str:
    """``--model`` for an option, ``NAME`` for an argument."""
    first = str(parameter.opts[0])
    return first if first.startswith("-") else first.upper()
