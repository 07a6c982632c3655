"""``kvplan kv`` as CSV: one row a kind of layer, and the total; bytes are per GPU."""

from __future__ import annotations

import csv
import io

from kvplan.results.kv import KvResult, layer_json

COLUMNS = ("kind", "layers", "bytes_per_token", "window_tokens", "bytes_per_sequence")


def render(answer: KvResult) -> str:
    """The total's bytes per token are what one more token costs once every window is full."""
    text = io.StringIO()
    rows = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    rows.writeheader()
    rows.writerows(layer_json(row) for row in answer.layers)
    whole = answer.to_json()
    rows.writerow({
        "kind": "total",
        "layers": sum(row.layers for row in answer.layers),
        "bytes_per_token": whole["kv_bytes_per_token"],
        "bytes_per_sequence": whole["kv_bytes_per_sequence"],
    })  # fmt: skip
    return text.getvalue()
