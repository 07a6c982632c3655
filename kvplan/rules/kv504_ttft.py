"""KV504: the first token takes longer than the stated objective, on an idle replica."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.domain.interval import Interval
from kvplan.rules.context import Context
from kvplan.rules.fitting import level_of
from kvplan.rules.interface import Finding, finding

ID = "KV504"
TITLE = "the time to first token is over its objective"
LEVEL = "fail"


def check(context: Context) -> Iterator[Finding]:
    judged = context.judged
    if judged is None or judged.share is None or judged.configured.ttft_s is None:
        return
    objective, ttft = judged.deployment.objectives.ttft_s, judged.configured.ttft_s
    level = None if objective is None else level_of(ttft, Interval.exact(objective))
    if objective is None or level is None:
        return
    workload = judged.deployment.workload
    message = (
        f"the first token of a prompt of {workload.prompt_tokens:,} tokens takes {ttft.best:.3g} s "
        f"({ttft.low:.3g}..{ttft.high:.3g}), and the objective is {objective:g} s"
    )
    yield finding(
        ID, level, context, ("ttft_ms", "prompt_tokens", "context"), message,
        figures={
            "ttft_s": dict(ttft._asdict()),
            "objective_s": objective,
            "prompt_tokens": workload.prompt_tokens,
            "prefix_hit_fraction": workload.prefix_hit_fraction,
        },
        formula="(2 x active parameters x tokens + attention) / prefill rate of a replica, less what is reused",
        remedy="more GPUs for each replica, a shorter prompt, or reuse of prefixes (prefix_hit_fraction)",
    )  # fmt: skip
