"""What kvplan cannot accept or cannot judge.

A plan that does not fit is a value with figures and remedies, never an exception. Exceptions are for input that
kvplan refuses, and each class carries the exit code that the command line ends with:

    KvplanError
     ├── InputError            2   a flag, a file or a value that cannot be used
     │    ├── UnknownName      2   no such model, host, strategy ... with a suggestion
     │    └── CatalogError     2   a row of a catalog file that is not valid
     └── CannotJudge           3   the input is readable, but kvplan does not know enough to answer
          └── UnknownArchitecture  3   a model_type whose KV layout kvplan does not know

A bug in kvplan ends with exit code 70 and asks for a report.
"""

from __future__ import annotations

from collections.abc import Iterable


class KvplanError(Exception):
    """Something that ends the command with one clear line: what, where, and what to do."""

    exit_code = 2
    code = "error"

    def __init__(self, message: str, *, where: str | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.help = help

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class InputError(KvplanError):
    """A flag, a file or a value that cannot be used."""

    code = "input"


class CatalogError(InputError):
    """A catalog row that is not valid; ``where`` names the file and the row."""

    code = "catalog"


class UnknownName(InputError):
    """A name that no catalog row, strategy or engine has."""

    code = "unknown_name"

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str], *, listing: str | None = None) -> UnknownName:
        """``kind`` is what was looked for ("model"); ``listing`` the command that lists what there is."""
        quoted = "".join(character if character.isprintable() else "?" for character in name)[:60]
        guesses = did_you_mean(quoted, known)
        advice = f"did you mean {' or '.join(guesses)}?" if guesses else ""
        if listing:
            advice = f"{advice} ({listing})" if advice else listing
        return cls(f"no {kind} named {quoted!r}", help=advice or None)


class CannotJudge(KvplanError):
    """Readable input about which kvplan does not know enough to give a verdict."""

    exit_code = 3
    code = "cannot_judge"


class UnknownArchitecture(CannotJudge):
    """A model whose KV layout kvplan does not know, so that any number would be a guess."""

    code = "unknown_architecture"


def did_you_mean(name: str, known: Iterable[str], limit: int = 2) -> list[str]:
    """The known names closest to ``name``, best first; a known name that starts with it counts as close."""
    names = list(known)
    import difflib  # only a mistake needs it

    lowered = name.lower()
    starts = sorted((item for item in names if lowered and item.lower().startswith(lowered)), key=len)
    close = difflib.get_close_matches(lowered, [item.lower() for item in names], n=limit, cutoff=0.6)
    by_lower = {item.lower(): item for item in names}
    return list(dict.fromkeys(starts[:limit] + [by_lower[item] for item in close]))[:limit]
