"""One deployment -> an Assessment: every figure of one plan, strategy by strategy, and the verdict.

``numbers`` carries typed things into the core, ``judge`` puts one strategy through it, ``budgets`` reads the parts
back, ``verdict`` decides. A package rather than one file because the four have nothing else in common.
"""

from __future__ import annotations

from kvplan.assess import constants, numbers
from kvplan.assess.break_even import break_even
from kvplan.assess.calibrated import calibration_used, with_measured_terms, with_measured_total
from kvplan.assess.frame import Frame, numbers_of, plan_ends
from kvplan.assess.input_warnings import input_warnings
from kvplan.assess.judge import judge
from kvplan.assess.longest import tokens_at_load
from kvplan.assess.topology import layout_excuse, topology_excuse
from kvplan.assess.verdict import decide
from kvplan.assess.weight_formats import weight_excuse
from kvplan.core.cpu import numa_rate_fraction
from kvplan.core.kv_cache import growing_bytes_per_token
from kvplan.domain.assessment import Assessment, GpuMemory, StrategyAssessment
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval
from kvplan.domain.kv_format import NATIVE_16_BIT
from kvplan.engines import find_engine, natural_engine
from kvplan.engines.interface import KvKernel, kernels_for
from kvplan.errors import CannotJudge, InputError
from kvplan.strategies import all_strategies, find_strategy
from kvplan.strategies.interface import Excuse, Situation, Strategy

_NATIVE_TYPES = {"auto", "bf16", "bfloat16", "fp16", "f16", "float16", "half"}

NOT_MODELLED = (
    "queueing: TTFT is one request on an idle replica",
    "prefill that shares steps with decode, in ms a token",
    "network between hosts",
    "NVMe and remote KV tiers",
)


def assess(deployment: Deployment, strategy_ids: tuple[str, ...] = ()) -> Assessment:
    """Judge the strategies named, or all that make sense here.

    Raises CannotJudge where the engine does not run on such a host, InputError for settings that cannot be.
    """
    return assess_frame(build_frame(deployment), strategy_ids)


def assess_frame(frame: Frame, strategy_ids: tuple[str, ...] = ()) -> Assessment:
    """The same for what is prepared already."""
    deployment = frame.deployment
    judged = tuple(_judged(frame, strategy) for strategy in chosen_strategies(frame, strategy_ids))
    return Assessment(
        deployment=deployment,
        gpu_memory=gpu_memory(frame),
        strategies=judged,
        verdict=decide(deployment, judged),
        not_modelled=NOT_MODELLED,
        warnings=(*deployment.model.warnings, *frame.situation.policy.warnings, *input_warnings(deployment)),
    )


def _judged(frame: Frame, strategy: Strategy) -> StrategyAssessment:
    """One strategy's assessment, and where it pays if it reloads KV."""
    item = judge(frame, strategy)
    if not item.budgets or "offload-reuse" not in strategy.id.split("+"):
        return item
    deployment = frame.deployment
    tokens = tokens_at_load(deployment, frame.situation.policy).best * numbers.prompt_fraction(deployment.workload)
    return item._replace(break_even=break_even(plan_ends(frame, strategy), tokens))


def build_frame(deployment: Deployment) -> Frame:
    """What all strategies have in common, for this deployment."""
    deployment = deployment._replace(host=with_compute_device(deployment.host))
    engine = find_engine(deployment.engine.name)
    gpu = deployment.host.gpu
    assert gpu is not None
    if not engine.runs_on(gpu):
        where = "a host without a GPU" if gpu.kernel_class == "cpu" else gpu.name
        instead = natural_engine(deployment.host)
        raise CannotJudge(f"{engine.name} on {where} is not modelled", help=f"use --engine {instead}")
    deployment = with_measured_total(deployment)
    weights = numbers.weight_bytes(deployment).best
    policy = with_measured_terms(
        deployment, engine.memory_policy(deployment, weights), lambda other: engine.memory_policy(other, weights)
    )
    kernels = kernels_for(engine, gpu, deployment.model, deployment.engine.version)
    resident = resident_kernel(deployment.settings.kv_cache_dtype, kernels)
    situation, ends = Situation(deployment, policy, kernels), numbers_of(deployment, policy)
    return Frame(situation, resident, _excuse(deployment), ends)


def with_compute_device(host: Host) -> Host:
    """The host, with its CPU as the device that computes where it has no GPU: one pool, no second one."""
    if host.gpu is not None:
        return host
    if host.dram_bytes is None:
        raise CannotJudge(f"{host.name} has no GPU, and its memory is not known", help="give --dram-gib")
    nodes = float(host.numa_nodes or 1)
    reach = numa_rate_fraction(nodes, 1.0, constants.REMOTE_NODE_GAIN.best)
    cpu = Gpu(
        name=host.cpu or "CPU",
        vendor="cpu",
        kernel_class="cpu",
        hbm_bytes=Interval.exact(host.dram_bytes),
        hbm_bytes_per_s=host.dram_bytes_per_s.best * reach if host.dram_bytes_per_s else None,
        flops=host.cpu_cores.best * constants.CPU_FLOPS_PER_CORE if host.cpu_cores else None,
        weight_read_fraction=Interval(0.6, 0.75, 0.9),
        kv_read_fraction=Interval(0.5, 0.7, 0.9),
        step_overhead_s=Interval(0.0005, 0.001, 0.003),
        peer_bytes_per_s=None,
        source=host.source,
    )
    return host._replace(gpu=cpu, gpus=1, unified_memory=True)


def resident_kernel(flag: str | None, kernels: dict[str, KvKernel]) -> KvKernel | None:
    """The kernel that ``--kv-cache-dtype`` names, by the engine's own word or by kvplan's; None for 16 bits."""
    if flag is None or flag.lower() in _NATIVE_TYPES:
        return None
    wanted = flag.lower()
    for suffix, kernel in kernels.items():
        if wanted in (suffix, kernel.flag, kernel.format.name) or wanted.startswith(f"{suffix}_e"):
            return kernel
    known = ", ".join(sorted({"auto", *(kernel.flag for kernel in kernels.values())}))
    raise InputError(f"--kv-cache-dtype {flag!r} is not known for this engine and GPU", help=f"known: {known}")


def gpu_memory(frame: Frame) -> GpuMemory:
    """How one GPU is split: the engine's terms, and the KV pool as what is left.

    The terms err independently, so that the pool's ends lie where the root of their squares does.
    """
    deployment, policy = frame.deployment, frame.situation.policy
    weights = numbers.weight_bytes(deployment)
    terms = {
        "budget": policy.budget,
        "activation": policy.activation,
        "runtime": policy.runtime,
        "graphs": policy.graphs,
    }
    taken = (weights, policy.activation.bytes, policy.runtime.bytes, policy.graphs.bytes)
    left = policy.budget.bytes.less_independent(taken)
    pool = left.map(lambda value: max(value, 0.0)).scaled(1.0 - policy.state_pool_fraction)
    kv_format = frame.resident_kernel.format if frame.resident_kernel else NATIVE_16_BIT
    token_bytes = growing_bytes_per_token(numbers.kv_growths(deployment.model, kv_format, deployment.layout, policy))
    assert deployment.host.gpu is not None
    return GpuMemory(
        total_bytes=deployment.host.gpu.hbm_bytes.best,
        budget_bytes=policy.budget.bytes.best,
        weight_bytes=weights.best,
        activation_bytes=policy.activation.bytes.best,
        runtime_bytes=policy.runtime.bytes.best,
        graph_bytes=policy.graphs.bytes.best,
        kv_pool_bytes=pool,
        kv_pool_tokens=int(pool.best // token_bytes) if token_bytes else None,
        terms={name: (term.formula, term.source) for name, term in terms.items()},
        pool_levers=tuple((lever.flag, lever.bytes) for lever in policy.pool_levers),
        calibration=calibration_used(deployment, policy),
    )


def chosen_strategies(frame: Frame, strategy_ids: tuple[str, ...] = ()) -> list[Strategy]:
    """The strategies named; else all single ones, and the combinations whose parts both make sense here.

    Left out unless named: formats that lose far more than others, expert offload of a model without experts, and INT8
    where there is FP8, which is no larger and has published scores.
    """
    if strategy_ids:
        return [find_strategy(name) for name in dict.fromkeys(strategy_ids)]
    unified, kernels = frame.deployment.host.unified_memory, frame.situation.kernels
    there = {suffix for suffix, kernel in kernels.items() if kernel.verified}
    chosen = []
    for strategy in all_strategies().values():
        if "+" in strategy.id and (unified or strategy.kv_suffix not in there):
            continue
        if strategy.kv_suffix == "int8" and {"fp8", "int8"} <= there:
            continue
        if strategy.listed and not _makes_no_sense(frame, strategy):
            chosen.append(strategy)
    return chosen


def _makes_no_sense(frame: Frame, strategy: Strategy) -> bool:
    """Whether this model has nothing that the strategy could work on."""
    excuse = None if strategy.kv_suffix is not None and "+" not in strategy.id else strategy.excuse(frame.situation)
    return excuse is not None and excuse.outcome == "na"


def _excuse(deployment: Deployment) -> Excuse | None:
    limit = deployment.model.max_context_tokens
    asked = deployment.workload.context_tokens
    engine_limit = deployment.settings.max_model_len
    if engine_limit is not None and asked > engine_limit:
        text = f"--max-model-len {engine_limit:,} refuses sequences of {asked:,} tokens"
        return Excuse("no", "context", text)
    if limit is not None and engine_limit is not None and engine_limit > limit:
        text = f"{deployment.model.name} takes {limit:,} tokens at most, --max-model-len asks for {engine_limit:,}"
        return Excuse("no", "context", text)
    if limit is not None and asked > limit:
        return Excuse(
            "no", "context", f"{deployment.model.name} takes {limit:,} tokens at most, {asked:,} are asked for"
        )
    layout = topology_excuse(deployment.model, deployment.layout, deployment.host.gpus)
    return layout or layout_excuse(deployment) or weight_excuse(deployment)
