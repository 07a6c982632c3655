"""One strategy on one deployment: excuse it, or put it through the core and read the answer."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.assess import numbers
from kvplan.assess.budgets import Judged, budgets
from kvplan.assess.longest import request_alone, tokens_at_load, why_not_alone, worse
from kvplan.core.accounts import Loads
from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.kv_cache import growing_bytes_per_token
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import FULL, heaviest, loads, longest_context, most_users, outcome
from kvplan.domain.assessment import OUTCOMES, RESOURCES, AccuracyLoss, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import NATIVE_16_BIT, KvFormat
from kvplan.engines import find_engine
from kvplan.engines.interface import KvKernel
from kvplan.strategies import all_strategies
from kvplan.strategies.interface import Accuracy, Excuse, Situation, Strategy

USERS_CEILING = 65536.0


class Frame(NamedTuple):
    """What all strategies of one deployment have in common."""

    situation: Situation
    resident_kernel: KvKernel | None
    """The KV type that ``--kv-cache-dtype`` made the engine's own; None for 16 bits."""
    topology_excuse: Excuse | None

    @property
    def deployment(self) -> Deployment:
        return self.situation.deployment


def kernel_of(frame: Frame, strategy: Strategy) -> KvKernel | None:
    """The KV kernel that a strategy runs with; None for the 16-bit cache, or where there is none."""
    if strategy.kv_suffix is None:
        return frame.resident_kernel
    return frame.situation.kernels.get(strategy.kv_suffix)


def plan_ends(frame: Frame, strategy: Strategy) -> tuple[Plan, Plan, Plan]:
    """The strategy's plan at its optimistic, best and pessimistic end."""
    return plan_end(frame, strategy, 0), plan_end(frame, strategy, 1), plan_end(frame, strategy, 2)


def plan_end(frame: Frame, strategy: Strategy, end: int) -> Plan:
    """The strategy's plan at one end: 0 optimistic, 1 best, 2 pessimistic."""
    deployment, policy = frame.deployment, frame.situation.policy
    kernel = kernel_of(frame, strategy)
    kv_format: KvFormat = kernel.format if kernel else NATIVE_16_BIT
    gpu = deployment.host.gpu
    assert gpu is not None  # assess gives every host a compute device
    charges = strategy.charges(frame.situation)[end]
    if strategy.kv_suffix is None and kernel is not None:
        charges = charges._replace(kv_rate_fraction=kernel.format.step_rate_fraction)
    return Plan(
        numbers.kv_growths(deployment.model, kv_format, deployment.layout, policy),
        numbers.model_work(deployment, numbers.weight_bytes(deployment)[end]),
        charges,
        numbers.gpu_rates(gpu, deployment, end),
        numbers.host_rates(deployment, end),
        numbers.limits(deployment, policy, end),
        numbers.traffic(deployment),
    )


def judge(frame: Frame, strategy: Strategy) -> StrategyAssessment:
    """The assessment of one strategy."""
    excuse = find_excuse(frame, strategy)
    if excuse is not None:
        return _excused(frame, strategy, excuse)
    deployment = frame.deployment
    users = float(deployment.workload.users)
    tokens = tokens_at_load(deployment, frame.situation.policy)
    context = tokens.best
    ends = plan_ends(frame, strategy)
    low, best, high = (loads(end, length, users) for end, length in zip(ends, tokens, strict=True))
    placed = place(ends[1], context, users)
    step = decode_step(ends[1], placed, context, users)
    asked = demand(ends[1], placed, step, context, users)
    judged = Judged(deployment, frame.situation.policy, strategy, ends, (low, best, high), placed, asked)
    code = outcome(low, best, high, deployment.objectives.margin_fraction)
    found, reason = OUTCOMES[code], ""
    bound = None if code <= 1 else binding(low if code == 3 else best)
    alone = request_alone(deployment, ends)
    if alone is not None and worse(code, alone):
        found, reason = alone.outcome, why_not_alone(deployment, alone, ends[1].limits.hbm_bytes)
        bound = "hbm" if alone.outcome in ("unlikely", "no") else None
    if frame.topology_excuse is not None:
        found, bound, reason = frame.topology_excuse
    itl = None if has_no_place(low) else Interval(*map(_itl_s, ends, tokens, (users,) * 3))
    tokens_ceiling = float(deployment.model.max_context_tokens or 2**24)
    sharers = users if alone is None else 1.0
    return StrategyAssessment(
        id=strategy.id,
        title=strategy.title,
        outcome=found,
        bound_by=bound,
        reason=reason,
        kv_bytes_per_token=growing_bytes_per_token(ends[1].kv),
        budgets=budgets(judged),
        users_max=_from_ends([most_users(*at, USERS_CEILING) for at in zip(ends, tokens, strict=True)]),
        context_tokens_max=_from_ends([longest_context(end, sharers, tokens_ceiling) for end in ends]),
        itl_s=itl,
        ttft_s=_ttft_s(deployment, ends, context, users) if itl else None,
        decode_tokens_per_s=itl.map(lambda seconds: users / seconds) if itl else None,
        accuracy=accuracy_loss(frame, strategy),
        flags=_command(frame, strategy, judged),
        overload=heaviest(low),
        evidence=strategy.evidence,
        notes=(*strategy.notes(frame.situation), *_numa_notes(deployment, strategy)),
        longest_request=alone,
    )


def find_excuse(frame: Frame, strategy: Strategy) -> Excuse | None:
    """Why a strategy can't be judged by figures here: no second pool, no kernel, or an input that is not known."""
    deployment = frame.deployment
    host = deployment.host
    if strategy.second_pool and host.unified_memory:
        return Excuse("na", "unified", _one_pool(host))
    if strategy.kv_suffix is not None:
        kernel = frame.situation.kernels.get(strategy.kv_suffix)
        gpu = host.gpu.name if host.gpu else "a CPU"
        if kernel is None:
            text = f"{deployment.engine.name} has no {strategy.kv_suffix} KV kernel for {gpu}"
            return Excuse("no", "kernel", text)
        if not kernel.verified:
            return Excuse("unknown", "kernel", f"{strategy.kv_suffix} KV on {gpu}: {kernel.source}")
    excuse = strategy.excuse(frame.situation)
    if excuse is not None:
        return excuse
    missing = _missing_inputs(deployment, strategy)
    if missing:
        return Excuse("unknown", missing[0], f"not known for {host.name}: {', '.join(missing)}")
    return None


def _one_pool(host: Host) -> str:
    if host.gpu is not None and host.gpu.kernel_class == "cpu":
        return "there is no GPU here: everything is in host memory already"
    return "CPU and GPU share one pool of memory here, so there is no second pool to offload to"


def _missing_inputs(deployment: Deployment, strategy: Strategy) -> list[str]:
    host = deployment.host
    missing = [] if host.gpu and host.gpu.hbm_bytes_per_s else ["memory rate of the GPU"]
    if deployment.objectives.ttft_s is not None and host.gpu is not None and host.gpu.flops is None:
        missing.append("matrix rate of the GPU, for the time to first token")
    if strategy.second_pool:
        needed = {
            "dram_capacity": host.dram_bytes,
            "dram_bandwidth": host.dram_bytes_per_s,
            "link": host.link,
            "cpu_cores": host.cpu_cores,
        }
        missing += [name for name, value in needed.items() if value is None]
    return missing


def _excused(frame: Frame, strategy: Strategy, excuse: Excuse) -> StrategyAssessment:
    return StrategyAssessment(
        id=strategy.id,
        title=strategy.title,
        outcome=excuse.outcome,
        bound_by=excuse.bound_by,
        reason=excuse.sentence,
        kv_bytes_per_token=None,
        budgets={},
        users_max=None,
        context_tokens_max=None,
        itl_s=None,
        ttft_s=None,
        decode_tokens_per_s=None,
        accuracy=accuracy_loss(frame, strategy),
        flags=None,
        evidence=strategy.evidence,
    )


def has_no_place(optimistic: Loads) -> bool:
    """Whether the bytes do not fit even at the optimistic end: then nothing runs, and no time can be given."""
    return optimistic.hbm > FULL or optimistic.dram_capacity > FULL


def binding(load: Loads) -> str:
    """The budget that binds: the fullest resource that is over, else the objective that is missed."""
    over = [(getattr(load, name), name) for name in RESOURCES if getattr(load, name) > FULL]
    if over:
        return max(over)[1]
    return "ttft" if load.ttft > load.itl else "itl"


def _numa_notes(deployment: Deployment, strategy: Strategy) -> tuple[str, ...]:
    nodes = deployment.host.numa_nodes or 1
    if not strategy.second_pool or deployment.layout.gpus >= nodes:
        return ()
    return (
        f"cores and DRAM of all {nodes} NUMA nodes are counted: pin it to the GPU's own, or keep to one node's share",
    )


def _itl_s(plan: Plan, context: float, users: float) -> float:
    return decode_step(plan, place(plan, context, users), context, users).itl_s


def _ttft_s(deployment: Deployment, ends: tuple[Plan, Plan, Plan], context: float, users: float) -> Interval | None:
    if deployment.host.gpu is None or deployment.host.gpu.flops is None:
        return None
    return Interval(*(ttft_s(end, place(end, context, users), context) for end in ends))


def _from_ends(values: list[float]) -> Interval:
    """Most that fits: the pessimistic end is the low one."""
    return Interval(values[2], values[1], values[0])


def accuracy_loss(frame: Frame, strategy: Strategy) -> AccuracyLoss:
    """What a strategy loses here: some scores are published up to a context only, and a KV type adds its own."""
    loss = strategy.loss(frame.situation)
    if strategy.kv_suffix is None and frame.resident_kernel is not None:
        loss = _loss_of_kernel(frame, frame.resident_kernel).plus(loss)
    return AccuracyLoss(loss.low, loss.high, loss.on, loss.source)


def _loss_of_kernel(frame: Frame, kernel: KvKernel) -> Accuracy:
    """What the KV type that ``--kv-cache-dtype`` chose loses: as the strategy of that type says."""
    suffix = next(name for name, known in frame.situation.kernels.items() if known is kernel)
    named = (item for item in all_strategies().values() if item.kv_suffix == suffix)
    return next((item.accuracy for item in named), Accuracy(None, None, "no task score found", "none"))


def _command(frame: Frame, strategy: Strategy, judged: Judged) -> str | None:
    flags = strategy.flags(frame.situation, judged.placed)
    if flags is None:
        return None
    return find_engine(frame.deployment.engine.name).command(frame.deployment, flags) or None
