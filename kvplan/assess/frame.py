"""What all strategies of one deployment have in common, and the plans that each of them makes of it."""

from collections.abc import Callable
from typing import NamedTuple

from kvplan.assess import numbers, rates
from kvplan.core.answers import Answers, Ends, Questions, answer_ends
from kvplan.core.shapes import Charges, GpuRates, HostRates, Limits, ModelWork, Plan, Traffic
from kvplan.domain.deployment import Deployment
from kvplan.domain.kv_format import NATIVE_16_BIT, KvFormat
from kvplan.engines.interface import KvKernel, MemoryPolicy
from kvplan.strategies.interface import Excuse, Situation, Strategy


class EndNumbers(NamedTuple):
    """One end of the uncertainty, as far as no strategy changes it."""

    model: ModelWork
    gpu: GpuRates
    host: HostRates
    limits: Limits
    traffic: Traffic


class Frame(NamedTuple):
    """What all strategies of one deployment have in common."""

    situation: Situation
    resident_kernel: KvKernel | None
    """The KV type that ``--kv-cache-dtype`` made the engine's own; None for 16 bits."""
    topology_excuse: Excuse | None
    ends: tuple[EndNumbers, EndNumbers, EndNumbers]
    """Optimistic, best, pessimistic."""
    answer_ends: Callable[[Ends, Questions], Answers] = answer_ends
    """The core that answers: as Python runs it, or compiled where many deployments are judged."""

    @property
    def deployment(self) -> Deployment:
        return self.situation.deployment


def numbers_of(deployment: Deployment, policy: MemoryPolicy) -> tuple[EndNumbers, EndNumbers, EndNumbers]:
    """The deployment in plain numbers, at the three ends."""
    gpu = deployment.host.gpu
    assert gpu is not None  # assess gives every host a compute device
    weights = numbers.weight_bytes(deployment)
    low, best, high = (
        EndNumbers(
            numbers.model_work(deployment, weights[end], end),
            rates.slowed(rates.gpu_rates(gpu, deployment, end), policy.read_fraction[2 - end]),
            rates.host_rates(deployment, end),
            numbers.limits(deployment, policy, end),
            numbers.traffic(deployment, policy, end),
        )
        for end in range(3)
    )
    return low, best, high


def kernel_of(frame: Frame, strategy: Strategy) -> KvKernel | None:
    """The KV kernel that a strategy runs with; None for the 16-bit cache, or where there is none."""
    if strategy.kv_suffix is None:
        return frame.resident_kernel
    return frame.situation.kernels.get(strategy.kv_suffix)


def plan_ends(frame: Frame, strategy: Strategy) -> Ends:
    """The strategy's plan at its optimistic, best and pessimistic end."""
    deployment, policy = frame.deployment, frame.situation.policy
    kernel = kernel_of(frame, strategy)
    kv_format: KvFormat = kernel.format if kernel else NATIVE_16_BIT
    growths = numbers.kv_growths(deployment.model, kv_format, deployment.layout, policy)

    def plan(charges: Charges, end: EndNumbers, layer_s: float) -> Plan:
        if kernel is not None:
            sync_s = charges.sync_s_per_layer + layer_s
            charges = charges._replace(kv_rate_fraction=kernel.format.step_rate_fraction, sync_s_per_layer=sync_s)
        return Plan(growths, end.model, charges, end.gpu, end.host, end.limits, end.traffic)

    low, best, high = map(plan, strategy.charges(frame.situation), frame.ends, kv_format.layer_s)
    return low, best, high
