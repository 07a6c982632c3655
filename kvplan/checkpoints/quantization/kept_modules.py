"""Which matrices a quantization leaves in 16 bits, from the names that its config lists.

Embeddings, head, norms, routers, towers and MTP joints stay in every scheme, so only what goes beyond them changes
the bytes. Lists hold plain names, globs, or regular expressions behind ``re:``; none of them is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from kvplan.checkpoints.config import Config
from kvplan.checkpoints.quantization import ADVICE, KEPT_LISTS, KEPT_TABLES
from kvplan.errors import CannotJudge
from kvplan.units import shorten

_ALWAYS_KEPT = re.compile(
    r"lm_head|(?:^|\W)(?:shared_)?head(?:$|\W)|output_layer|embed|wte|norm|score|bias|vision|visual|audio|image"
    r"|multi_?modal|mm_|projector|aligner|resampler|mtp|nextn|eh_proj|conv1d|a_log|dt_|sinks|rotary"
    r"|shared_expert_gate|in_proj_(?:ba|a|b)(?:$|\W)|(?:^|[.*_\\])(?:gate|router)(?:$|[.*$\\])"
)
_ATTENTION = re.compile(
    r"attn|attention|mixer|mamba|indexer|(?:^|\W)(?:q|k|v|o|qkv|q_a|q_b|kv_a|kv_b|wq|wk|wv|wo)(?:_proj|$|\W)"
)
_DENSE = re.compile(r"mlp|feed_forward|ffn|(?:gate|up|down)_proj|(?:^|\W)w[123]$")
_LAYERS = re.compile(r"(?:layers?|h|blocks)\W{1,3}(\d{1,5}(?:\|\d{1,5})*)")
_WHOLE_MTP = re.compile(r"^(?:\W*model\.)?\W*(?:mtp|nextn)\w*\W*(?:layers\W*)?$")
_MOST_ENTRIES = 200_000
_FEW_FRACTION = 0.02
"""So small a part of the matrices may be counted as quantized, with a warning."""
_MATRICES_PER_LAYER = 7


class Kept(NamedTuple):
    """What stays in 16 bits beyond what always does."""

    everywhere: frozenset[str] = frozenset()
    """Of ``attention``, ``dense``, ``shared`` and ``experts``, those that are kept in every layer."""
    modules: int = 0
    """Modules that are kept in some layers only, or whose place is not known."""
    example: str = ""
    mtp: bool = False
    """The multi-token-prediction heads stay whole."""


def kept_modules(section: Config, layers: int) -> Kept:
    """The modules that a quantization config leaves alone; ``layers`` are those of the model."""
    seen: dict[str, set[int]] = {}
    everywhere: set[str] = set()
    some: list[tuple[str, str]] = []
    mtp = False
    for text in _entries(section):
        name = text.removeprefix("re:").lower()[:400]
        group, numbers = _group(name), _layers(name)
        mtp = mtp or _WHOLE_MTP.match(name) is not None
        if group is None:
            continue
        if numbers and layers and min(numbers) >= layers:  # DeepSeek and GLM store MTP heads as further layers
            mtp = mtp or group in ("experts", "unknown")
        elif not numbers and group != "unknown":
            everywhere.add(group)
        else:
            some.append((group, text))
            seen.setdefault(group, set()).update(numbers)
    everywhere.update(group for group in seen if group != "unknown" and layers and len(seen[group]) >= 0.9 * layers)
    left = [text for group, text in some if group not in everywhere]
    return Kept(frozenset(everywhere), len(left), left[0] if left else "", mtp)


def _layers(name: str) -> list[int]:
    found = _LAYERS.search(name)
    return [int(number) for number in found[1].split("|")] if found else []


def with_kept(scheme: str, kept: Kept, section: Config, *, experts: bool, layers: int) -> tuple[str, tuple[str, ...]]:
    """The scheme, reduced to the routed experts where all else is kept, and what has to be said about it.

    Refused where the kept part is large and its share is not known: attention of a dense model, say.
    """
    if "experts" in kept.everywhere or (not experts and kept.everywhere):
        where = " and ".join(sorted(kept.everywhere))
        raise CannotJudge(
            f"the quantization leaves {where} matrices in 16 bits, and their share is not known from the config alone",
            where=section.where, help=ADVICE,
        )  # fmt: skip
    warnings = []
    if "attention" in kept.everywhere:
        scheme = experts_only(scheme)
        if "shared" not in kept.everywhere:
            warnings.append("attention stays in 16 bits: dense layers and shared experts are counted in 16 bits too")
    elif kept.everywhere:
        names = " and ".join(sorted(kept.everywhere))
        warnings.append(f"{names} matrices stay in 16 bits and are counted as quantized")
    if kept.modules and not scheme.endswith("-experts") and scheme != "mxfp4":
        if kept.modules > _FEW_FRACTION * _MATRICES_PER_LAYER * max(layers, 50):
            raise CannotJudge(
                f"the quantization leaves {kept.modules} modules in 16 bits ({shorten(kept.example)} ...), and their"
                " share is not known from the config alone", where=section.where, help=ADVICE,
            )  # fmt: skip
        warnings.append(
            f"{kept.modules} modules that stay in 16 bits ({shorten(kept.example)} ...) are counted as quantized"
        )
    return scheme, tuple(warnings)


def experts_only(scheme: str) -> str:
    """The name of a scheme where it holds for routed experts alone."""
    if scheme in ("mxfp4", "mxfp4-linear"):
        return "mxfp4"
    return scheme if scheme.endswith("-experts") else f"{scheme}-experts"


def names_experts(text: str) -> bool:
    """Whether a name or pattern means routed experts."""
    return "experts" in text and "shared_expert" not in text


def _entries(section: Config) -> Iterable[str]:
    """Names on any of the lists; GPTQModel and AutoRound put them into tables."""
    count = 0
    for key in KEPT_LISTS:
        value = section.get(key)
        if value is None:
            continue
        if not isinstance(value, list):
            raise section.wrong(key, value, "must be a list of names")
        count += len(value)
        yield from (item for item in value if isinstance(item, str))
    for key, table in ((key, section.section(key)) for key in KEPT_TABLES):
        for name in table.names() if table is not None else ():
            count += 1
            entry: Any = table.get(name) if table is not None else None
            bits = entry.get("bits", 16) if isinstance(entry, dict) else 16
            if key == "dynamic" and not name.startswith("-:"):
                raise CannotJudge(
                    "dynamic gives some modules another number of bits, and their share is not known from the config",
                    where=section.where, help=ADVICE,
                )  # fmt: skip
            if bits == 16:
                yield name.removeprefix("-:")
            else:
                yield f"unknown {name}"
    if count > _MOST_ENTRIES:
        raise section.wrong("the list of kept modules", None, f"may have {_MOST_ENTRIES:,} names")


def _group(name: str) -> str | None:
    """The part of a layer that a name means; None where it stays in 16 bits anyway."""
    if name.startswith("unknown "):
        return "unknown"
    if _ALWAYS_KEPT.search(name):
        return None
    if "shared_expert" in name or "share_expert" in name:
        return "shared"
    if names_experts(name):
        return "experts"
    if _ATTENTION.search(name):
        return "attention"
    return "dense" if _DENSE.search(name) else "unknown"
