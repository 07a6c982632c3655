"""What engines add to the time of a step."""

from __future__ import annotations

import pytest

from kvplan.engines import all_engines
from kvplan.engines.pace import Pace


@pytest.mark.parametrize("name", sorted(all_engines()))
def test_a_pace_is_an_ordered_record_with_a_source(name: str) -> None:
    pace = all_engines()[name].pace
    assert isinstance(pace, Pace) and pace.source
    for span in (pace.step_factor, pace.sequence_s, pace.prefill_wait_fraction, pace.eager_layer_s):
        assert 0.0 <= span.low <= span.best <= span.high
    assert pace.prefill_wait_fraction.high <= 1.0
    assert pace.step_factor.low > 0.0
