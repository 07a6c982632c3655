"""Files that a script writes with ``cat > FILE <<EOF``: read as what they are, each value with its line there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.shell.expansions import Expansion, Lookup

_REFERENCE = re.compile(r"\\([$`\\])|\$\{([A-Za-z_]\w*)(?::?-([^${}\n]*))?\}|\$([A-Za-z_]\w*)")
MOST_DOCUMENTS = 50


class Document(NamedTuple):
    """The text of such a file."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class EmbeddedSource(Source):
    """A part of a script that is a file of its own: its form shows by its content alone."""

    @property
    def suffix(self) -> str:
        return ""


def filled_in(text: str, lookup: Lookup) -> str:
    """A text with the variables that the script knows; the others stay, for whoever reads the file."""

    def one(match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        known: Expansion = lookup(match[2] or match[4])
        if known.reason is None and known.words is None and "\n" not in known.text:
            return known.text
        return match[3] if match[3] is not None and known.place is None else match[0]

    return _REFERENCE.sub(one, text)


def read_documents(
    documents: list[Document], source: Source
) -> tuple[list[FoundDeployment], list[Unreadable], tuple[str, ...]]:
    """What those of a known form hold; any other is no deployment file."""
    from kvplan.deployments.forms import form_of

    found: list[FoundDeployment] = []
    unread: list[Unreadable] = []
    claims: list[str] = []
    for document in documents[:MOST_DOCUMENTS]:
        text = "\n" * (document.line - 1) + document.text
        inner = EmbeddedSource(source.path, text, source.folder, source.opener, folder_lister=source.folder_lister)
        form = form_of(inner)
        if form is None or form.name == "shell":
            continue
        reading = form.read(inner)
        found += reading.deployments
        unread += reading.unreadable
        claims += reading.claims
    for document in documents[MOST_DOCUMENTS:][:1]:
        message = f"not read further: more than {MOST_DOCUMENTS} files that the script writes"
        unread.append(Unreadable(source.at(document.line), message, level="fail"))
    return found, unread, tuple(claims)
