"""Names that a new row may have: what people can type after ``--model`` and ``--host``, and what is not taken."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from kvplan.catalog.files import Table
from kvplan.errors import InputError
from kvplan.units import shorten

LONGEST_NAME = 120

_WORD = r"[^\W_][\w.+:-]*"
_ONE_WORD = re.compile(_WORD)
_WITH_OWNER = re.compile(rf"{_WORD}(?:/{_WORD})?")
_FILE_ENDINGS = (".json", ".gguf", ".safetensors", ".toml")


def checked_name(text: str, kind: str) -> str:
    """The name of a model or a host as it will be looked up; letters of any script are letters."""
    name = unicodedata.normalize("NFC", text.strip())
    form, example = (_WITH_OWNER, "my-llama or me/my-llama") if kind == "model" else (_ONE_WORD, "my-box")
    if not form.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InputError(
            f"{shorten(text)!r} can't be the name of a {kind}",
            help=f"letters, digits and . _ - + : after the first letter, as in {example}",
        )
    if name.lower().endswith(_FILE_ENDINGS):
        raise InputError(f"{shorten(text)!r} would be taken for a file", help=f"a name such as {example}")
    return name


def refuse_taken(table: Table, name: str, aliases: Sequence[str], kind: str, *, replace: bool) -> None:
    """InputError where a name or an alias already means another row, unless it is to be replaced."""
    for word in dict.fromkeys((name, *aliases)):
        found = table.find(word)
        if found is None or (found == name and replace):
            continue
        if found != word and found.lower() == word.lower():
            raise InputError(f"there is a {kind} {found!r} already; names must differ in more than case")
        if found == word and word != name:
            raise InputError(f"--alias {word!r} is the name of a {kind}, which goes before any alias")
        if not replace:
            _, file = table.row(found)
            of = "" if found == word else f" (an alias of {found})"
            shown = f"kvplan {kind} show {word}; " if kind != "calibration" else ""
            raise InputError(
                f"there is a {kind} {word!r} already{of}, in {file.path}",
                help=f"{shown}--replace lays the new one over it",
            )
