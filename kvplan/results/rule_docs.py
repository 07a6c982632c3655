"""The documentation of the rules, section by section, as it comes with kvplan."""

from __future__ import annotations

import re
from pathlib import Path

_HEAD = re.compile(r"^## (KV\d{3})$", re.MULTILINE)


def rule_sections() -> dict[str, str]:
    """Rule id -> its section of ``docs/rules.md`` as Markdown. Empty where the file did not come along."""
    package = Path(__file__).parent.parent
    for path in (package / "data" / "rules.md", package.parent / "docs" / "rules.md"):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        parts = _HEAD.split(text)
        return {name: section.strip() for name, section in zip(parts[1::2], parts[2::2], strict=True)}
    return {}


def section_in_words(rule: str) -> tuple[str, tuple[str, ...]]:
    """A rule's section without its Markdown: the text, then its example and its fix; empty where there is none."""
    text, notes = "", []
    for paragraph in rule_sections().get(rule, "").split("\n\n"):
        for line in re.split(r"\n(?=\*\w+:\*)", paragraph.strip()):
            plain = re.sub(r"[`*]", "", " ".join(line.split()))
            if line.startswith("*") and not line.startswith("**"):
                notes.append(plain)
            else:
                text = f"{text} {plain}".strip()
    return text, tuple(notes)
