"""Every model on every host: whole assessments, with the core compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvplan.assess import assess_frame, build_frame
from kvplan.compiled import fast_answers
from kvplan.domain.assessment import Assessment
from kvplan.domain.deployment import Deployment


def assess_all(deployments: Iterable[Deployment], strategy_ids: tuple[str, ...] = ()) -> Iterator[Assessment]:
    """``assess`` for many deployments: the same figures to the last bit, several times as fast."""
    for deployment in deployments:
        yield assess_frame(build_frame(deployment)._replace(answer_ends=fast_answers), strategy_ids)
