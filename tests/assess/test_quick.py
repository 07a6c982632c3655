"""The quick search names the strategy that the whole assessment names."""

from __future__ import annotations

import pytest

from kvplan.assess import assess
from kvplan.assess.quick import best_that_works
from kvplan.deployments.resolve import resolve
from kvplan.deployments.words import Words


@pytest.mark.parametrize("kv_cache_dtype", [None, "fp8"])
@pytest.mark.parametrize("context", [16384, 131072])
@pytest.mark.parametrize("users", [1, 8, 24, 64, 4000])
def test_the_same_as_the_verdict(kv_cache_dtype: str | None, context: int, users: int) -> None:
    words = Words(
        model="llama3-8b", host="h100-server", gpus=1, context=context, users=users, kv_cache_dtype=kv_cache_dtype
    )
    deployment = resolve(words)
    verdict, best = assess(deployment).verdict, best_that_works(deployment)
    found = (best.outcome, best.id) if best is not None else None
    assert found == ((verdict.outcome, verdict.strategy) if verdict.strategy else None)
