"""Keys that a config.json states as null. TOML has no null, and a stated null can mean another model than no key does.

A row names such keys beside its config: ``null_keys = ["sliding_window", "text_config.head_dim"]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvplan.errors import CatalogError

_IRRELEVANT: Final = frozenset(
    ("_name_or_path", "auto_map", "id2label", "label2id", "task_specific_params", "transformers_version", "torchscript",
     "bad_words_ids", "chat_template")
)  # fmt: skip
"""Keys of every config.json that no KV layout depends on."""
_DEEPEST: Final = 32


def with_nulls(config: Mapping[str, Any], null_keys: Sequence[str], where: str) -> dict[str, Any]:
    """The config with its null keys stated again; tables are copied where they change."""
    found = dict(config)
    for dotted in null_keys:
        *path, last = dotted.split(".")
        level = found
        for part in path:
            inner = level.get(part, {})
            if not isinstance(inner, Mapping):
                raise CatalogError(f"null_keys: config has no table for {dotted!r}", where=where)
            level[part] = dict(inner)
            level = level[part]
        level.setdefault(last, None)
    return found


def without_nulls(keys: Mapping[str, Any], path: str = "") -> tuple[dict[str, Any], list[str]]:
    """(the keys that have a value, the dotted names of those that are null), less what no layout depends on."""
    found: dict[str, Any] = {}
    nulls: list[str] = []
    for key, value in keys.items():
        if key in _IRRELEVANT:
            continue
        if value is None:
            nulls.append(f"{path}{key}")
        elif isinstance(value, Mapping):
            found[key], inner = without_nulls(value, f"{path}{key}.")
            nulls += inner
        else:
            found[key] = value
    return found, nulls


def is_shallow(value: Any) -> bool:
    """Whether tables and lists stand in each other only as deep as in any real config."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inside = [list(item.values()) if isinstance(item, Mapping) else item for item in level]
        level = [item for items in inside for item in items if isinstance(item, (Mapping, list))]
        depth += 1
    return depth <= _DEEPEST
