"""Forms that kvplan recognises and does not read: said as unknown, each with what to do, instead of passed over.

A file of another platform is reported once. An engine that is not judged (TGI, Triton ...) may stand beside others in
a file of a known form: it is reported where it is, and the rest of the file is read.
"""

from __future__ import annotations

import re

from kvplan.deployments.interface import Form, Reading, Source, Unreadable
from kvplan.deployments.other_platforms import ENGINES, OWN_FILE, PLATFORMS, TRACES, Platform

LONGEST_BYTES = 2_000_000
_RUN_HERE = re.compile(r"image|repositor|command|args|entrypoint|cmd|run|serve|from|exec", re.IGNORECASE)
_FILES = (".yaml", ".yml", ".json", ".sh", ".bash", ".service", ".container", ".env", ".tf", "")


class OtherForms:
    """What other platforms and engines have."""

    name = "other"
    order = 12
    names = ("*.yaml", "*.yml", "*.json", "*.tf", "*.nomad", "*.hcl", "*.template", "*.env", ".env")
    traces = TRACES

    def recognises(self, source: Source) -> bool:
        if len(source.text) > LONGEST_BYTES:
            return False
        return platform_of(source) is not None or bool(engines_in(source))

    def read(self, source: Source) -> Reading:
        platform = platform_of(source)
        if platform is not None:
            message = f"{platform.called}: this form is recognised and not read, so nothing in it is judged"
            return Reading([], [Unreadable(source.at(_line(source, platform)), message, platform.advice)])
        unread = engines_in(source)
        following = _next_form(source)
        if following is None:
            return Reading([], unread)
        reading = following.read(source)
        said = {item.place for item in unread}
        others = [item for item in reading.unreadable if item.place not in said]
        return Reading(reading.deployments, [*unread, *others], reading.claims)


def platform_of(source: Source) -> Platform | None:
    """The platform that a file is written for."""
    return next((platform for platform in PLATFORMS if _is(platform, source)), None)


def _is(platform: Platform, source: Source) -> bool:
    if source.suffix not in platform.suffixes:
        return False
    if platform.names and not re.search(platform.names, source.name, re.IGNORECASE):
        return False
    manifest = "apiVersion" in source.text
    if manifest and "kind" not in platform.patterns[0]:
        return False
    return all(re.search(pattern, source.text) for pattern in platform.patterns)


def engines_in(source: Source) -> list[Unreadable]:
    """One for each engine that is started here and not judged, where it is first."""
    if source.suffix not in _FILES and not source.name.lower().startswith("dockerfile"):
        return []
    found = []
    for engine in ENGINES:
        if not any(word in source.text for word in engine.words):
            continue
        for match in re.finditer(engine.pattern, source.text):
            before = source.text[source.text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if "#" in before or not _RUN_HERE.search(before):
                continue
            line = source.text.count("\n", 0, match.start()) + 1
            message = f"{engine.called} is started here: this engine is recognised and not judged"
            found.append(Unreadable(source.at(line), message, OWN_FILE))
            break
    return found


def _line(source: Source, platform: Platform) -> int:
    match = re.search(platform.patterns[0], source.text)
    return source.text.count("\n", 0, match.start()) + 1 if match is not None else 1


def _next_form(source: Source) -> Form | None:
    from kvplan.deployments.forms import all_forms

    return next((form for form in all_forms() if form.name != FORM.name and form.recognises(source)), None)


FORM = OtherForms()
