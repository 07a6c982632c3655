"""One line for each document that cannot be read, and all the others."""

from __future__ import annotations

import time

from kvplan.deployments.interface import Source
from kvplan.deployments.yaml_files import MOST_FAULTS, repeated_keys, yaml_of


def names(text: str) -> tuple[list[str], list[int]]:
    file = yaml_of(Source("a.yaml", text))
    return [next(iter(root.entries)) for root in file.roots], [item.place.line for item in file.unreadable]


def test_the_documents_around_faults() -> None:
    text = "a: 1\n---\nb: [1\n---\nc: 3\n---\n\td: x\n---\ne: *no\n---\nf: &f [*f]\n--- # last\ng: 1\n"
    assert names(text) == (["a", "c", "g"], [4, 7, 9, 11])


def test_a_bomb_does_not_hide_what_follows() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    start = time.perf_counter()
    assert names("\n".join(rows) + "\n---\nb: 1\n")[0] == ["b"]
    assert time.perf_counter() - start < 2.0


def test_faults_are_counted() -> None:
    start = time.perf_counter()
    assert len(names("---\na: ]\n" * 3000)[1]) == MOST_FAULTS
    assert time.perf_counter() - start < 5.0


def test_lines_of_a_text_inside_a_file() -> None:
    file = yaml_of(Source("a.yaml", "x"), "a: 1\nb: [\n", 10)
    assert file.unreadable[0].place.line in (11, 12)
    assert yaml_of(Source("a.yaml", "x"), "a: 1\nb: 2\n", 10).roots[0].entries["b"].line == 11


def test_repeated_keys() -> None:
    source = Source("a.yaml", "a: 1\nb: {c: 1, c: 2}\na: 3\n")
    complaints = repeated_keys(yaml_of(source).roots[0], source)
    assert [(item.place.line, item.level) for item in complaints] == [(2, "warn"), (3, "warn")]
    assert yaml_of(source).roots[0].scalar("a") == "3"


def test_a_merged_key_is_no_repeated_one() -> None:
    source = Source("a.yaml", "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\nc:\n  x: 4\n  <<: *a\n")
    root = yaml_of(source).roots[0]
    assert repeated_keys(root, source) == []
    assert (root.scalar("b", "x"), root.scalar("c", "x"), root.scalar("c", "y")) == ("3", "4", "2")


def test_large_numbers_stay_text() -> None:
    assert yaml_of(Source("a.yaml", "a: " + "9" * 5000)).roots[0].scalar("a") == "9" * 5000
