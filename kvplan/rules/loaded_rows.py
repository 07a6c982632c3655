"""Rows of the catalogs that many deployments name: read once for the same text of the same files.

A run checks thousands of files, and most name one of a few hosts and models. Files of users are looked at every time,
for they may change, and what may be a path is read anew: a relative one means another file in another folder.
"""

from __future__ import annotations

import os
from functools import lru_cache

from kvplan.catalog.files import CatalogFile, catalog_files
from kvplan.catalog.hardware import SHIPPED as HOSTS
from kvplan.catalog.hardware import load_gpu, load_host
from kvplan.catalog.models import SHIPPED as MODELS
from kvplan.catalog.models import load_model
from kvplan.domain.host import Gpu, Host
from kvplan.domain.model import Model


def host_by_name(name: str, catalog: tuple[str, ...]) -> Host:
    """``load_host``, remembered."""
    return load_host(name, catalog) if _may_be_path(name) else _host(name, catalog, catalog_files(HOSTS, catalog))


def gpu_by_name(name: str, catalog: tuple[str, ...]) -> Gpu:
    """``load_gpu``, remembered."""
    return load_gpu(name, catalog) if _may_be_path(name) else _gpu(name, catalog, catalog_files(HOSTS, catalog))


def model_by_name(name: str, catalog: tuple[str, ...]) -> Model:
    """``load_model``, remembered: a name of the Hub has a slash, and may be a path as well."""
    if os.path.exists(name):
        return load_model(name, catalog)
    return _model(name, catalog, catalog_files(MODELS, catalog))


def _may_be_path(name: str) -> bool:
    return "/" in name or os.sep in name or name.endswith(".toml") or os.path.isfile(name)


@lru_cache(maxsize=256)
def _host(name: str, catalog: tuple[str, ...], files: tuple[CatalogFile, ...]) -> Host:
    return load_host(name, catalog)


@lru_cache(maxsize=256)
def _gpu(name: str, catalog: tuple[str, ...], files: tuple[CatalogFile, ...]) -> Gpu:
    return load_gpu(name, catalog)


@lru_cache(maxsize=256)
def _model(name: str, catalog: tuple[str, ...], files: tuple[CatalogFile, ...]) -> Model:
    return load_model(name, catalog)
