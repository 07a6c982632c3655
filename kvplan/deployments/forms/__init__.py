"""Forms of deployment files, one file each, found by this folder. A file defines ``FORM``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kvplan.deployments.interface import Form, Source


@cache
def all_forms() -> tuple[Form, ...]:
    """Every form, the most particular first."""
    forms = [import_module(f"{__name__}.{info.name}").FORM for info in iter_modules(__path__)]
    return tuple(sorted(forms, key=lambda form: (form.order, form.name)))


def form_of(source: Source) -> Form | None:
    """The form that recognises a file."""
    return next((form for form in all_forms() if form.recognises(source)), None)
