"""What a reader of one strategy's figures must know beside them."""

from __future__ import annotations

from kvplan.assess import constants
from kvplan.assess.frame import Frame
from kvplan.core.answers import Question
from kvplan.core.served import mean_tokens, running_users
from kvplan.core.shapes import Plan
from kvplan.domain.deployment import Deployment
from kvplan.strategies.interface import Strategy


def notes_of(frame: Frame, strategy: Strategy, best: Plan, question: Question) -> tuple[str, ...]:
    """The strategy's own notes, those of the host's layout, and whom the rate is of."""
    own = strategy.notes(frame.situation)
    return (*own, *_numa_notes(frame.deployment, strategy), *queue_notes(best, question))


def _numa_notes(deployment: Deployment, strategy: Strategy) -> tuple[str, ...]:
    nodes = deployment.host.numa_nodes or 1
    if not strategy.second_pool or deployment.layout.gpus >= nodes:
        return ()
    return (
        f"of {nodes} NUMA nodes those without its GPU count {constants.REMOTE_NODE_GAIN.best:g} of their cores and DRAM"
        " rate: pin it to the GPU's own",
    )


def queue_notes(best: Plan, question: Question) -> tuple[str, ...]:
    """Whom the rate is of, where outputs are known and not all sequences find a place at once."""
    if best.traffic.output_tokens == 0.0:
        return ()
    running = running_users(best, mean_tokens(best, question.context_tokens), question.users)
    if running in (0.0, question.users):
        return ()
    return (f"{running:,.0f} of {question.users:,.0f} sequences run at once, the rest queue: tokens/s are of those",)
