"""Rows of the catalog that many deployments name: read once where only shipped rows can be meant.

A run checks thousands of files, and most name one of a few hosts. Files of users are read every time, for they may
change, and a relative path means another file in another folder.
"""

from __future__ import annotations

import os
from functools import lru_cache

from kvplan.catalog.files import config_paths, listed_paths
from kvplan.catalog.hardware import load_gpu, load_host
from kvplan.catalog.models import load_model
from kvplan.domain.host import Gpu, Host
from kvplan.domain.model import Model


def host_by_name(name: str, catalog: tuple[str, ...]) -> Host:
    """``load_host``, remembered for shipped rows."""
    return _shipped_host(name) if _is_shipped(name, catalog) else load_host(name, catalog)


def gpu_by_name(name: str, catalog: tuple[str, ...]) -> Gpu:
    """``load_gpu``, remembered for shipped rows."""
    return _shipped_gpu(name) if _is_shipped(name, catalog) else load_gpu(name, catalog)


def model_by_name(name: str, catalog: tuple[str, ...]) -> Model:
    """``load_model``, remembered for shipped rows: a name of the Hub has a slash, and may be a path as well."""
    if catalog or os.path.exists(name) or config_paths() or listed_paths():
        return load_model(name, catalog)
    return _shipped_model(name)


def _is_shipped(name: str, catalog: tuple[str, ...]) -> bool:
    path = "/" in name or os.sep in name or name.endswith(".toml") or os.path.isfile(name)
    return not (path or catalog or config_paths() or listed_paths())


@lru_cache(maxsize=256)
def _shipped_host(name: str) -> Host:
    return load_host(name)


@lru_cache(maxsize=256)
def _shipped_gpu(name: str) -> Gpu:
    return load_gpu(name)


@lru_cache(maxsize=256)
def _shipped_model(name: str) -> Model:
    return load_model(name)
