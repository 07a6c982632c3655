"""Paths -> the deployments of their files: folders searched, overlays joined with what they are laid over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import translate
from functools import cache
from re import Pattern
from re import compile as compile_pattern

from kvplan.deployments.commands import traces as traces_of_commands
from kvplan.deployments.forms import all_forms, form_of
from kvplan.deployments.found import FoundDeployment
from kvplan.deployments.interface import Source, Unreadable
from kvplan.deployments.kustomize.build import FILE_NAMES
from kvplan.deployments.source_files import SKIPPED_FOLDERS, Tree, read_source
from kvplan.errors import InputError
from kvplan.units import shorten


def read_deployments(paths: Sequence[str]) -> tuple[list[tuple[FoundDeployment, Source]], list[Unreadable]]:
    """Every deployment in these files and folders. A path that does not exist is a usage error: it may be misspelt."""
    found: list[tuple[FoundDeployment, Source]] = []
    unreadable: list[Unreadable] = []
    claims_of: dict[str, set[str]] = {}
    asked: set[str] = set()
    trees: dict[str, Tree] = {}
    for path, asked_for, top in _files(paths):
        traces = None if asked_for or os.path.basename(path) in FILE_NAMES else _traces()
        source = read_source(path, traces=traces, tree=_tree_of(path, top, trees))
        if source is None or isinstance(source, Unreadable):
            unreadable += [source] if source is not None else []
            continue
        if asked_for:
            asked.add(os.path.normpath(source.path))
        deployments, faults, claims = _read(source, asked_for)
        files = [*claims, *(file for item in deployments for file in item.files)]
        claims_of[os.path.normpath(source.path)] = {os.path.normpath(file) for file in files}
        found += [(item, source) for item in deployments]
        unreadable += faults
    claimed = _superseded(claims_of) - asked
    left = [(item, source) for item, source in found if os.path.normpath(source.path) not in claimed]
    own = {item.place for item, source in left if item.place.path == source.path}
    left = [(item, source) for item, source in left if item.place.path == source.path or item.place not in own]
    return left, [item for item in dict.fromkeys(unreadable) if os.path.normpath(item.place.path) not in claimed]


def _superseded(claims_of: dict[str, set[str]]) -> set[str]:
    """The files of which another one is a fuller reading. Of two that claim each other neither is: a circle."""
    return {
        file
        for claimer, files in claims_of.items()
        for file in files
        if file == claimer or claimer not in claims_of.get(file, ())
    }


def _read(source: Source, asked_for: bool) -> tuple[list[FoundDeployment], list[Unreadable], tuple[str, ...]]:
    """What one file holds; a file that was named itself and holds nothing says so."""
    form = form_of(source)
    if form is None:
        names = ", ".join(sorted(form.name for form in all_forms()))
        nothing = Unreadable(source.at(1), "no deployment is recognised in this file", f"forms: {names}")
        return [], [nothing] if asked_for else [], ()
    reading = form.read(source)
    unreadable = list(reading.unreadable)
    if asked_for and not reading.deployments and not unreadable and not reading.claims:
        unreadable.append(Unreadable(source.at(1), f"no engine is started in this {form.name} file"))
    return reading.deployments, unreadable, reading.claims


@cache
def _traces() -> tuple[bytes, ...]:
    """Every file that some form recognises has one of these."""
    return tuple(sorted({*traces_of_commands(), *(trace for form in all_forms() for trace in form.traces)}))


@cache
def _names() -> Pattern[str]:
    """The file names for which a folder is searched."""
    return compile_pattern(
        "|".join(translate(name) for name in sorted({n for form in all_forms() for n in form.names}))
    )


def _tree_of(path: str, top: str, trees: dict[str, Tree]) -> Tree | None:
    """The tree of a path, one for all the files of a folder below ``top``; none for standard input."""
    if path == "-":
        return None
    folder = os.path.dirname(path)
    if folder not in trees:
        tree = Tree(path, top)
        trees[folder] = next((known for known in trees.values() if known.root == tree.root), tree)
    return trees[folder]


def _files(paths: Sequence[str]) -> Iterator[tuple[str, bool, str]]:
    """(file, whether it was named itself, what was named), each once, in the order given, folders by names."""
    seen: set[str] = set()
    for path in paths:
        for file, asked_for in _files_of(path):
            same = os.path.realpath(file) if file != "-" else file
            if same not in seen:
                seen.add(same)
                yield file, asked_for, path


def _files_of(path: str) -> Iterator[tuple[str, bool]]:
    if path == "-":
        yield path, True
        return
    try:
        exists, folder = os.path.lexists(path), os.path.isdir(path)
    except ValueError:
        exists, folder = False, False
    if not exists:
        raise InputError("no such file or folder", where=shorten(path, 200))
    if not folder:
        yield path, True
        return
    for top, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            file = os.path.join(top, name)
            if _names().match(name.lower()) and os.path.isfile(file):
                yield os.path.normpath(file), False
