from __future__ import annotations

from kvplan.deployments.docker.interpolation import Interpolation
from kvplan.deployments.interface import Source
from kvplan.deployments.shell.expansions import Expansion
from kvplan.deployments.variable_files import variables_in


def test_lines_of_a_file() -> None:
    text = """# A=0
A=1
export B="two words" # c
C='$A'
D=${A}-$B
E=
F=x#y
G=${Q:-5}
H=$Q
I=$(date)
no line
"""
    found = variables_in(Source(".env", text))
    assert {name: item.text for name, item in found.items() if item.reason is None} == {
        "A": "1", "B": "two words", "C": "$A", "D": "1-two words", "E": "", "F": "x#y", "G": "5",
    }  # fmt: skip
    assert found["D"].place is not None
    assert found["D"].place.line == 5
    assert {name for name, item in found.items() if item.reason} == {"H", "I"}


def filled(text: str) -> str:
    values = Interpolation({"A": Expansion("1"), "EMPTY": Expansion("")})
    return values.marks.restored(values.filled(text))[0]


def test_interpolation() -> None:
    """Compose specification, interpolation: a colon also counts what is empty as unset."""
    assert filled("$A ${A} ${A:-2} ${A-2} $$A $${A} $5 $") == "1 1 1 1 $A ${A} $5 $"
    assert filled("${B:-x} ${B-y} ${B:-${A}} ${B:-}") == "x y 1 "
    assert filled("${EMPTY:-x} ${EMPTY-y}|${EMPTY}") == "x ||".replace("||", "|")
    assert filled("${A:+on} ${EMPTY:+on} ${EMPTY+on} ${B:+on}|") == "on  on |"
    assert filled("${A:?why}") == "1"
    assert filled("${B:?why}") == "${B:?why}"
