"""``kvplan explain --list`` on a screen: names by kind, and what each is.

Combinations say what they are, methods stand with their strategies, and models and hosts have lists of their own:
they are left to the JSON.
"""

from __future__ import annotations

from kvplan.render.screen import Page
from kvplan.results.explain import TopicList

_KINDS = {"strategy": "Strategies", "figure": "Budgets, figures and verdicts", "rule": "Rules of kvplan check"}


def render(answer: TopicList) -> str:
    """The whole screen."""
    page = Page()
    for kind, heading in _KINDS.items():
        page.labelled(heading, "")
        page.pairs([(topic.name, topic.title) for topic in answer.topics if topic.kind == kind])
        page.gap()
    page.faint("Also combinations (kv-fp8+offload-retrieve), models (kvplan model list) and hosts (kvplan host list).")
    return page.text()
