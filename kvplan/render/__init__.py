"""Answers -> text. One file a format; Rich only where a table is drawn.

A family of results has a function that returns its renderers by format name, and each renderer is imported when it is
used, so that JSON never loads Rich.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Renderer = Callable[[Any], str]


def lazily(module: str, function: str) -> Renderer:
    """A renderer that imports its module on first use."""

    def render(answer: Any) -> str:
        from importlib import import_module

        text: str = getattr(import_module(f"kvplan.render.{module}"), function)(answer)
        return text

    return render


def fit_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan fit``."""
    return {
        "table": lazily("fit_table", "render"),
        "json": lazily("json_text", "render"),
        "markdown": lazily("fit_markdown", "render"),
        "csv": lazily("fit_csv", "render"),
    }


def kv_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan kv``."""
    return {
        "table": lazily("kv_table", "render"),
        "json": lazily("json_text", "render"),
        "markdown": lazily("kv_markdown", "render"),
        "csv": lazily("kv_csv", "render"),
    }


def sweep_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan sweep``."""
    return {
        "table": lazily("sweep_table", "render"),
        "csv": lazily("sweep_csv", "render"),
        "json": lazily("json_text", "render"),
    }


def listing_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan model list`` and ``kvplan host list``."""
    return {
        "table": lazily("listing_table", "render"),
        "json": lazily("json_text", "render"),
        "markdown": lazily("listing_markdown", "render"),
        "csv": lazily("listing_csv", "render"),
    }


def topic_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan explain --list``."""
    return {
        "table": lazily("explain_list", "render"),
        "json": lazily("json_text", "render"),
        "csv": lazily("listing_csv", "render"),
    }


def sheet_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan model show`` and ``kvplan host show``."""
    return {"table": lazily("listing_sheet", "render"), "json": lazily("json_text", "render")}


def import_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan model import`` and ``kvplan host import``."""
    return {"table": lazily("import_page", "render"), "json": lazily("json_text", "render")}


def explain_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan explain``."""
    return {"table": lazily("explain_table", "render"), "json": lazily("json_text", "render")}


def calibrate_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan calibrate``."""
    return {"table": lazily("calibrate_table", "render"), "json": lazily("json_text", "render")}


def check_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan check``."""
    return {
        "text": lazily("check_table", "render"),
        "table": lazily("check_table", "render"),
        "concise": lazily("check_concise", "render"),
        "json": lazily("json_text", "render"),
        "sarif": lazily("check_sarif", "render"),
        "junit": lazily("check_junit", "render"),
        "github": lazily("check_github", "render"),
        "gitlab": lazily("check_gitlab", "render"),
        "markdown": lazily("check_markdown", "render"),
    }


def lock_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan lock``."""
    return {"table": lazily("lock_page", "render"), "json": lazily("json_text", "render")}


def diff_formats() -> Mapping[str, Renderer]:
    """Formats of ``kvplan diff``."""
    return {
        "text": lazily("diff_table", "render"),
        "table": lazily("diff_table", "render"),
        "json": lazily("json_text", "render"),
        "markdown": lazily("diff_markdown", "render"),
    }
