"""One strategy on one deployment: excuse it, or put it through the core and read the answer."""

from __future__ import annotations

from typing import NamedTuple

from kvplan.assess.accuracy import accuracy_loss, too_lossy
from kvplan.assess.budgets import budgets
from kvplan.assess.frame import Frame, plan_ends
from kvplan.assess.judged import Judged
from kvplan.assess.layouts import nothing_to_move, unknown_layout
from kvplan.assess.longest import request_alone, tokens_at_load, why_not_alone, worse
from kvplan.assess.notes import notes_of
from kvplan.assess.served import spread_rate
from kvplan.core.accounts import Loads
from kvplan.core.answers import Answers, Question, Questions
from kvplan.core.kv_cache import growing_bytes_per_token
from kvplan.core.verdicts import FULL, heaviest, outcome
from kvplan.domain.assessment import OUTCOMES, RESOURCES, RequestAlone, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Host
from kvplan.domain.interval import Interval
from kvplan.engines import find_engine
from kvplan.engines.interface import is_there
from kvplan.strategies.interface import Excuse, Strategy

USERS_CEILING = 65536.0
_GPU_RATE = "memory rate of the GPU"
_MATRIX_RATE = "matrix rate of the GPU, for the time to first token"
_BOUND_BY = {_GPU_RATE: "itl", _MATRIX_RATE: "ttft"}
"""Inputs that are no budget, and the objective that can't be judged without them."""
_FLAGS = {
    "dram_capacity": "--dram-gib", "dram_bandwidth": "--dram-gb-per-s", "link": "--link", "cpu_cores": "--cpu-cores",
}  # fmt: skip


def judge(frame: Frame, strategy: Strategy, *, longest: bool = True) -> StrategyAssessment:
    """The assessment of one strategy; without ``longest`` the context that would fit is not looked for."""
    excuse = find_excuse(frame, strategy)
    if excuse is not None:
        return _excused(frame, strategy, excuse)
    deployment, ends = frame.deployment, plan_ends(frame, strategy)
    alone = request_alone(deployment, ends)
    questions = _questions(frame, alone, longest=longest)
    answers = frame.answer_ends(ends, questions)
    low, best, high = (answer.loads for answer in answers)
    middle, last = answers[1:]
    judged = Judged(
        deployment, frame.situation.policy, strategy, ends, (low, best, high), middle.placed, middle.demand, last.placed
    )
    loss = accuracy_loss(frame, strategy)
    found = _with_loss(_found(frame, judged, alone), too_lossy(deployment.task, loss))
    itl = None if has_no_place(low) else Interval(*(answer.itl_s for answer in answers))
    return StrategyAssessment(
        id=strategy.id,
        title=strategy.title,
        outcome=found.outcome,
        bound_by=found.bound_by,
        reason=found.sentence,
        kv_bytes_per_token=growing_bytes_per_token(ends[1].kv),
        budgets=budgets(judged),
        users_max=_from_ends([answer.users_max for answer in answers]),
        context_tokens_max=_from_ends([answer.context_tokens_max for answer in answers]) if longest else None,
        itl_s=itl,
        ttft_s=_ttft_s(deployment, answers) if itl else None,
        decode_tokens_per_s=_tokens_per_s(answers),
        accuracy=loss,
        flags=_command(frame, strategy, judged),
        overload=heaviest(low),
        method=_method_name(frame, strategy),
        evidence=strategy.proof(frame.situation),
        notes=notes_of(frame, strategy, ends[1], questions[1]),
        longest_request=alone,
    )


def _questions(frame: Frame, alone: RequestAlone | None, *, longest: bool) -> Questions:
    """The load at the three ends. Where lengths differ, the longest context is that of one request."""
    deployment = frame.deployment
    users = float(deployment.workload.users)
    sharers = users if alone is None else 1.0
    ceiling = float(deployment.model.max_context_tokens or 2**24) if longest else 0.0
    lengths = tokens_at_load(deployment, frame.situation.policy)
    low, best, high = (Question(length, users, sharers, USERS_CEILING, ceiling) for length in lengths)
    return low, best, high


class _Found(NamedTuple):
    outcome: str
    bound_by: str | None
    sentence: str


def _found(frame: Frame, judged: Judged, alone: RequestAlone | None) -> _Found:
    """The outcome of the whole load, unless the longest request or the layout is worse."""
    if frame.topology_excuse is not None:
        return _Found(*frame.topology_excuse)
    low, best, high = judged.loads
    code = outcome(low, best, high, judged.deployment.objectives.margin_fraction)
    if alone is not None and worse(code, alone):
        limit_bytes = judged.ends[1].limits.hbm_bytes
        return _Found(alone.outcome, alone.bound_by, why_not_alone(judged.deployment, alone, limit_bytes))
    return _Found(OUTCOMES[code], None if code <= 1 else binding(low if code == 3 else best), "")


def _with_loss(found: _Found, why: str) -> _Found:
    """TIGHT at best where the task loses too much; any other reason is said as well."""
    if not why or found.outcome not in ("fits", "tight"):
        return found
    return _Found("tight", None, "; ".join(text for text in (found.sentence, why) if text))


def find_excuse(frame: Frame, strategy: Strategy) -> Excuse | None:
    """Why a strategy can't be judged by figures here: no second pool, no kernel, or an input that is not known."""
    deployment = frame.deployment
    host = deployment.host
    layout = unknown_layout(deployment) or nothing_to_move(deployment, strategy.id)
    if layout is not None:
        return layout
    if strategy.second_pool and host.unified_memory:
        return Excuse("na", "unified", _one_pool(host))
    if strategy.kv_suffix is not None:
        kernel = frame.situation.kernels.get(strategy.kv_suffix)
        if kernel is None:
            return Excuse("no", "kernel", _no_kernel(deployment, strategy.kv_suffix))
        if not kernel.verified:
            gpu = host.gpu.name if host.gpu else "a CPU"
            text = f"nobody has settled that {deployment.engine.name} reads {strategy.kv_suffix} KV on {gpu}"
            return Excuse("unknown", "kernel", f"{text} ({kernel.source})")
    excuse = strategy.excuse(frame.situation)
    if excuse is not None:
        return excuse
    missing = _missing_inputs(deployment, strategy)
    if missing:
        flags = [_FLAGS[name] for name in missing if name in _FLAGS]
        advice = f" (give {', '.join(flags)})" if flags else ""
        bound = _BOUND_BY.get(missing[0], missing[0])
        return Excuse("unknown", bound, f"not known for {host.name}: {', '.join(missing)}{advice}")
    return None


def _no_kernel(deployment: Deployment, suffix: str) -> str:
    """The engine has none for this GPU or this model, or this version has none yet."""
    choice, gpu = deployment.engine, deployment.host.gpu
    newest = find_engine(choice.name).kv_kernels(gpu).get(suffix) if gpu else None
    if newest is not None and not is_there(newest, choice.version):
        return f"{choice.name} {choice.version} has no {suffix} KV kernel yet: {newest.since} has one"
    return f"{choice.name} has no {suffix} KV kernel for {gpu.name if gpu else 'a CPU'}"


def _one_pool(host: Host) -> str:
    if host.gpu is not None and host.gpu.kernel_class == "cpu":
        return "there is no GPU here: everything is in host memory already"
    return "CPU and GPU share one pool of memory here, so there is no second pool to offload to"


def _missing_inputs(deployment: Deployment, strategy: Strategy) -> list[str]:
    host = deployment.host
    missing = [] if host.gpu and host.gpu.hbm_bytes_per_s else [_GPU_RATE]
    if deployment.objectives.ttft_s is not None and host.gpu is not None and host.gpu.flops is None:
        missing.append(_MATRIX_RATE)
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
        method=_method_name(frame, strategy),
        evidence=strategy.proof(frame.situation),
    )


def _method_name(frame: Frame, strategy: Strategy) -> str | None:
    method = strategy.method(frame.situation)
    return None if method is None else method.name


def has_no_place(optimistic: Loads) -> bool:
    """Whether the bytes do not fit even at the optimistic end: then nothing runs, and no time can be given."""
    return optimistic.hbm > FULL or optimistic.dram_capacity > FULL


def binding(load: Loads) -> str:
    """The budget that binds: the fullest resource that is over, else the objective that is missed."""
    over = [(getattr(load, name), name) for name in RESOURCES if getattr(load, name) > FULL]
    if over:
        return max(over)[1]
    return "ttft" if load.ttft > load.itl else "itl"


def _ttft_s(deployment: Deployment, answers: Answers) -> Interval | None:
    if deployment.host.gpu is None or deployment.host.gpu.flops is None:
        return None
    return Interval(*(answer.ttft_s for answer in answers))


def _tokens_per_s(answers: Answers) -> Interval | None:
    """Of those who run at once; None where nobody does at best."""
    fast, best, slow = (answer.tokens_per_s for answer in answers)
    return spread_rate(slow, best, fast) if best else None


def _from_ends(values: list[float]) -> Interval:
    """Most that fits: the pessimistic end is the low one."""
    return Interval(values[2], values[1], values[0])


def _command(frame: Frame, strategy: Strategy, judged: Judged) -> str | None:
    if frame.topology_excuse is not None and frame.topology_excuse.bound_by == "kernel":
        return None
    flags = strategy.flags(frame.situation, judged.cautious)
    engine, kernel = find_engine(frame.deployment.engine.name), frame.resident_kernel
    if strategy.kv_suffix is None and kernel is not None:
        chosen = engine.kv_flags(kernel, frame.deployment)
        flags = None if flags is None or chosen is None else (*chosen, *flags)
    return None if flags is None else engine.command(frame.deployment, flags) or None
