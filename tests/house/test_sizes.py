"""Size and shape: no long files, no long functions, no vague names, units converted in one place."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "kvplan"
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)

MOST_FILE_LINES = 250
MOST_FUNCTION_LINES = 40
MOST_PARAMETERS = 7

VAGUE_WORDS = {"util", "utils", "helper", "helpers", "manager", "managers", "misc"}
UNITLESS_NAMES = {"size", "memory", "bandwidth", "latency", "throughput", "batch_size"}
BYTE_UNITS = {10**9, 2**30}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_where(wanted: Callable[[Path], bool]) -> pytest.MarkDecorator:
    """One test for each file of the package that is wanted."""
    chosen = [path for path in FILES if wanted(path)]
    return pytest.mark.parametrize("path", chosen, ids=lambda path: path.relative_to(PACKAGE).as_posix())


every_file = files_where(lambda path: True)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> list[ast.arg]:
    """All that a caller may pass; ``self`` and ``cls`` are not."""
    listed = function.args.posonlyargs + function.args.args
    listed = listed[1:] if listed and listed[0].arg in {"self", "cls"} else listed
    return listed + function.args.kwonlyargs


def function_lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def too_large_functions(tree: ast.Module) -> list[str]:
    """One line for each function beyond the limits."""
    return [
        f"line {function.lineno}: {function.name} has {lines} lines and {count} parameters"
        for function in functions(tree)
        for lines, count in [(function_lines(function), len(parameters(function)))]
        if lines > MOST_FUNCTION_LINES or count > MOST_PARAMETERS
    ]


def defined_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a file gives: classes, functions, parameters, fields and variables, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | Function):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def vague_names(tree: ast.Module) -> list[str]:
    """The names that say neither what they are nor their unit."""
    return [
        f"line {line}: {name}"
        for name, line in defined_names(tree)
        if name.lower() in UNITLESS_NAMES or VAGUE_WORDS & set(name.lower().split("_"))
    ]


def byte_units(tree: ast.Module) -> list[int]:
    """Lines that spell 2^30 or 10^9 in any way: a literal, a power or a shift."""
    return sorted({node.lineno for node in ast.walk(tree) if isinstance(node, ast.expr) and _value(node) in BYTE_UNITS})


def _value(node: ast.expr) -> float | None:
    """The number that a literal, or a power or shift of two literals, stands for."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
        left, right = node.left.value, node.right.value
        if isinstance(left, int | float) and isinstance(right, int) and 0 <= right <= 64:
            if isinstance(node.op, ast.Pow):
                return left**right
            if isinstance(node.op, ast.LShift) and isinstance(left, int):
                return left << right
    return None


@every_file
def test_files_are_short(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= MOST_FILE_LINES, f"{lines} lines"


@files_where(lambda path: path.parent != PACKAGE / "cli")  # signatures there are Typer's lists of options
def test_functions_are_small(path: Path) -> None:
    assert not too_large_functions(parse(path))


@every_file
def test_names_say_what_and_in_which_unit(path: Path) -> None:
    assert not VAGUE_WORDS & set(path.stem.split("_"))
    assert not vague_names(parse(path))


@every_file
def test_units_are_converted_in_one_place(path: Path) -> None:
    if path == PACKAGE / "units.py":
        assert byte_units(parse(path)), "units.py is where they belong"
    else:
        assert not byte_units(parse(path)), "convert with kvplan.units"


@files_where(lambda path: path.parent.name in {"core", "domain"})
def test_the_core_and_the_domain_are_documented(path: Path) -> None:
    tree = parse(path)
    assert ast.get_docstring(tree)
    public = [node for node in tree.body if isinstance(node, ast.ClassDef | Function) and node.name[0] != "_"]
    assert [node.name for node in public if not ast.get_docstring(node)] == []


def test_the_checks_find_what_they_look_for() -> None:
    """A file with every fault, so that a check that finds nothing has looked."""
    lines = "\n".join(f"    x{i} = {i}" for i in range(MOST_FUNCTION_LINES))
    tree = ast.parse(f"def f():\n{lines}\ndef g(a, b, c, d, *, e, f, h, i): ...\n")
    assert len(too_large_functions(tree)) == 2

    vague = "size = 1\ndef f(bandwidth): ...\nclass M:\n    def page_helper(self): ...\n"
    assert len(vague_names(ast.parse(vague))) == 3
    assert vague_names(ast.parse("block_size = intermediate_size = memory_bytes = 1\nx = array.size\n")) == []

    spelled = ["2**30", "1 << 30", "1024**3", "10**9", "1e9", "1_000_000_000", "1073741824"]
    assert byte_units(ast.parse("\n".join(spelled))) == list(range(1, len(spelled) + 1))
    assert byte_units(ast.parse("2**20\n1e6\n1e12\n'1e9'\n")) == []
