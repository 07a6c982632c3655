from __future__ import annotations

import time

from kvplan.deployments.yaml_tree import documents, maps_with


def test_lines_and_styles() -> None:
    roots, fault = documents("a: 1\nb:\n  - 'x'\n  - |\n    two\n    lines\n")
    assert fault is None
    items = roots[0].get("b")
    assert items is not None
    assert [(item.text, item.line, item.style) for item in items.items] == [("x", 3, "'"), ("two\nlines\n", 4, "|")]


def test_merge_keys_and_aliases() -> None:
    roots, _ = documents("base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\nd: *b\n")
    assert (roots[0].scalar("c", "x"), roots[0].scalar("c", "y"), roots[0].scalar("d", "y")) == ("1", "3", "2")


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    start = time.perf_counter()
    _, fault = documents("\n".join(rows))
    assert fault is not None and "aliases expanded" in fault.message
    assert time.perf_counter() - start < 1.0


def test_depth_is_limited() -> None:
    for text in ("[" * 100_000, "{a: " * 500, "".join(f"{'  ' * n}a:\n" for n in range(500))):
        _, fault = documents(text)
        assert fault is not None


def test_an_alias_inside_itself() -> None:
    _, fault = documents("a: &a [*a]\n")
    assert fault is not None and "itself" in fault.message


def test_faults_carry_their_line() -> None:
    for text, line in (("a: 1\nb: [\n", 3), ("a: *nobody\n", 1), ("a: 1\n\tb: 2\n", 2), ("a: 'x\n", 2)):
        _, fault = documents(text)
        assert fault is not None
        assert abs(fault.line - line) <= 1


def test_a_shared_map_is_walked_once() -> None:
    roots, _ = documents("a: &a {containers: []}\nb: [*a, *a, *a]\n")
    assert len(list(maps_with(roots[0], "containers"))) == 1
