"""The model that llama-server or Ollama is told to load, found in the catalogs by its name; or the question."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kvplan.catalog.files import CatalogFile, Table, catalog_files
from kvplan.catalog.models import SECTION, SHIPPED
from kvplan.deployments.names.gguf import DEFAULT_QUANTIZATION, CatalogNames, GgufName, catalog_name, gguf_name
from kvplan.deployments.names.ollama import ollama_name
from kvplan.domain.model import Model
from kvplan.domain.weight_scheme import NOT_QUANTIZED, SCHEMES
from kvplan.engines.interface import LLAMA_SERVERS
from kvplan.units import shorten

OWN_MIX = (0.82, 1.06)
"""Bytes of a mix of somebody's own, relative to the plain one of its name. Source: files of the Hub, gemma-4-31B QAT
``UD-Q4_K_XL`` 16.1 GB where Q4_K_M has 19; ``UD-Q4_K_XL`` of Qwen3-8B 5.1 GB where it has 5.0."""


class Named(NamedTuple):
    """A catalog's model."""

    catalog_name: str
    gguf: GgufName | None
    """None where a catalog has the file itself, with how its weights are stored."""


def is_llama_server(engine: str) -> bool:
    """Whether this engine is a llama-server underneath."""
    return engine in LLAMA_SERVERS


def named_model(engine: str, text: str, catalog: tuple[str, ...]) -> Named | str:
    """The model, or the question that the name leaves open."""
    names = catalog_names(catalog)
    name = gguf_name(text) if engine != "ollama" else ollama_name(text)
    for spelling in (text, text.rsplit("/", 1)[-1]):
        found = names.find(spelling)
        if found is not None and (engine != "ollama" or name is None or _is_exact(spelling)):
            stored = spelling.lower().endswith(".gguf") or name is None
            return Named(found, None if stored else name)
    if name is None:
        return f"which model is {shorten(text)!r}? kvplan's table of Ollama's library does not have it"
    found, likely = catalog_name(name, names)
    if found is not None:
        return Named(found, name)
    wanted = name.candidates[0] if name.candidates else shorten(text)
    if likely:
        return f"which model is {wanted!r}: {', '.join(likely[:4])}?"
    return f"which model is {shorten(wanted)!r}? no catalog has it"


def _is_exact(text: str) -> bool:
    """Whether Ollama is told of a file or a repository instead of a name of its library."""
    return text.lower().endswith(".gguf") or text.startswith(("hf.co/", "huggingface.co/"))


def weights_of_name(named: Named, model: Model, engine: str) -> tuple[str | None, str | None]:
    """(weight scheme, question): a name without a quantization leaves 16-bit models open, except for hub names."""
    gguf = named.gguf
    if gguf is None or (gguf.scheme is None and not gguf.quantization and model.dtype not in NOT_QUANTIZED):
        return None, None
    if model.dtype in SCHEMES and SCHEMES[model.dtype].experts_only:
        return None, None  # gpt-oss: files of every name keep the experts in MXFP4, as they were trained
    if gguf.scheme is not None:
        return gguf.scheme, None
    if gguf.quantization:
        return None, f"quantization {gguf.quantization!r} is not modelled"
    if len(gguf.candidates) == 3 or engine == "ollama":
        return DEFAULT_QUANTIZATION, None
    return None, f"how are the weights of {gguf.candidates[0]!r} stored? its name has no quantization such as Q4_K_M"


def catalog_names(catalog: tuple[str, ...]) -> CatalogNames:
    """Names of the catalogs' models as people write them."""
    return _names(catalog_files(SHIPPED, catalog))


@lru_cache(maxsize=4)
def _names(files: tuple[CatalogFile, ...]) -> CatalogNames:
    return CatalogNames(Table(SECTION, files))
