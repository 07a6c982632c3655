"""The name of a GGUF file or repository -> the model of a catalog, and how its weights are stored.

Names of GGUF files follow a habit, not a standard: the model's name, then the quantization. Where that name is one
model of the catalogs it is that one; anything else is a question, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvplan.catalog.files import Table
from kvplan.domain.weight_scheme import SCHEMES

_QUANTIZATION = re.compile(
    r"(?<![a-z0-9])(?:ud[-_.])?((?:i?q\d(?:_[0-9kx](?:_(?:xxs|xs|s|m|l|xl|nl))?|_(?:xxs|xs|s|m|l|nl))?)|bf16|f16|fp16|f32"
    r"|mxfp4(?:_moe)?|tq[12]_0)(?![a-z0-9])",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"-\d{5}-of-\d{5}$")
_NOISE = re.compile(r"(?:^|[-_. ])(?:gguf|ggml|imat|imatrix|i1|ud|qat|mtp|nv|assistant)(?=$|[-_. ])", re.IGNORECASE)
_OWN_MIX = re.compile(r"(?:^|[-_.])(?:ud|qat|i1)(?=[-_.])", re.IGNORECASE)
_TUNED = re.compile(r"(?:instruct|chat|it|hf|base|text)$")
_OWNERS = ("unsloth_", "bartowski_", "ggml-org_", "lmstudio-community_", "qwen_", "google_", "meta-llama_",
           "mistralai_", "openai_", "nvidia_", "deepseek-ai_", "zai-org_", "microsoft_")  # fmt: skip
"""Organizations that downloaders put before a file's name."""
_SCHEME = {"f16": "fp16", "fp16": "fp16", "bf16": "bf16", "f32": "fp32", "mxfp4_moe": "mxfp4", "q2_k_l": "q2_k",
           "q3_k_xl": "q3_k_l", "q4_k_l": "q4_k_m", "q4_k_xl": "q4_k_m", "q5_k_l": "q5_k_m", "q5_k_xl": "q5_k_m",
           "q6_k_l": "q6_k", "q6_k_xl": "q6_k", "q8_k_xl": "q8_0", "q2_k_xl": "q2_k", "q8": "q8_0",
           "q4_k": "q4_k_m", "q5_k": "q5_k_m", "q3_k": "q3_k_m"}  # fmt: skip
"""Names of mixes -> the nearest that has a figure. ``_L`` and ``_XL`` keep some tensors in more bits, about 3 %."""
DEFAULT_QUANTIZATION = "q4_k_m"
"""What ``-hf`` takes of a repository without a quantization. Source: llama-server's help of ``--hf-repo``."""


class GgufName(NamedTuple):
    """What a name says."""

    candidates: tuple[str, ...]
    """Names under which a catalog may have the model, the most likely first."""
    scheme: str | None
    """A name of weight_scheme.SCHEMES; None where the name has no quantization that kvplan knows."""
    quantization: str
    """As written; empty where there is none."""
    exact: bool = True
    """False for mixes of their own (``UD-``, ``_XL``, QAT), whose bits are only near those of the scheme."""


def gguf_name(text: str) -> GgufName:
    """``/models/Qwen3-8B-Q4_K_M.gguf``, ``unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL``, ``hf.co/org/repo:Q8_0``."""
    name = re.sub(r"^(?:hf\.co|huggingface\.co|https?://[^/]+)/", "", text.strip())
    repository, _, tag = name.partition(":")
    owner, _, rest = repository.rpartition("/")
    last = re.sub(r"\.gguf$", "", rest, flags=re.IGNORECASE)
    last = _SPLIT.sub("", last)
    for prefix in _OWNERS:
        last = last[len(prefix) :] if last.lower().startswith(prefix) else last
    matches = list(_QUANTIZATION.finditer(tag or last))
    written = matches[-1][1] if matches else ""
    stem = last[: matches[-1].start()] if matches and not tag else last
    if "gguf" in stem.lower() and re.search(r"gguf[_-]\w", stem, re.IGNORECASE):
        stem = re.split(r"gguf[_-]", stem, flags=re.IGNORECASE)[-1]
    stem = _NOISE.sub("", stem).strip("-_. ")
    scheme, own = scheme_of(written), _OWN_MIX.search(tag or last) is not None
    exact = scheme is not None and not own and written.lower() in (scheme, "f16")
    return GgufName(tuple(_candidates(owner, stem)), scheme, written, exact)


def scheme_of(written: str) -> str | None:
    """The weight scheme of a quantization as file names have it; None for none and for an unknown one."""
    word = written.lower().replace("-", "_")
    word = _SCHEME.get(word, word)
    return word if word and word in dict.keys(SCHEMES) else None


class CatalogNames:
    """Names of a catalog's models as people write them."""

    def __init__(self, table: Table) -> None:
        self._exact = table.aliases() | {name.lower(): name for name in table.names()}
        self._bare: dict[str, set[str]] = {}
        for spelling, name in self._exact.items():
            self._bare.setdefault(_bare(spelling), set()).add(name)

    def find(self, text: str) -> str | None:
        """The model of a name or an alias in any case."""
        return self._exact.get(text.lower())

    def likely(self, candidates: tuple[str, ...]) -> list[str]:
        """Models that these names may mean: the first that is a name itself, else those of the same letters."""
        found = next((name for name in map(self.find, candidates) if name is not None), None)
        if found is not None:
            return [found]
        return sorted({name for candidate in candidates for name in self._bare.get(_bare(candidate), ())})


def catalog_name(name: GgufName, names: CatalogNames) -> tuple[str | None, list[str]]:
    """The catalog's model, or None and the models that it could be: none, or more than one."""
    likely = names.likely(tuple(candidate for candidate in name.candidates if candidate))
    return (likely[0] if len(likely) == 1 else None), likely


def _candidates(owner: str, stem: str) -> Iterator[str]:
    if not stem:
        return
    organization = owner.rsplit("/", 1)[-1]
    if organization and "/" not in owner:
        yield f"{organization}/{stem}"
    yield stem
    yield f"{stem}-Instruct"


def _bare(name: str) -> str:
    word = re.sub(r"[^a-z0-9]+", "", name.rsplit("/", 1)[-1].lower())
    word = re.sub(r"^meta(?=llama)", "", word)
    shorter = _TUNED.sub("", word)
    return shorter if len(shorter) >= 4 else word
