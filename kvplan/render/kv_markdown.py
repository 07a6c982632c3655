"""``kvplan kv`` as Markdown, for issues and pull requests."""

from __future__ import annotations

from kvplan.render.kv_table import COLUMNS, facts, layer_cells, sentence
from kvplan.render.listing_markdown import table
from kvplan.results.kv import KvResult


def render(answer: KvResult) -> str:
    """The sentence, the facts, the layers."""
    lines = [f"**{sentence(answer)}**", ""]
    lines += [f"- {label}: {text}" for label, text in facts(answer)]
    lines += ["", *table(COLUMNS, [layer_cells(row) for row in answer.layers])]
    if answer.pool is not None and answer.pool.log_line:
        lines += ["", "```", answer.pool.log_line, "```"]
    lines += [f"\n> {text}." for text in (*answer.notes, *answer.warnings)]
    return "\n".join(lines) + "\n"
