"""What a GPU and its host reach, at one end of the uncertainty: 0 optimistic, 1 best, 2 pessimistic."""

from __future__ import annotations

from kvplan.assess import constants, speeds
from kvplan.assess.link_classes import duplex_fraction, out_fraction
from kvplan.core.cpu import numa_rate_fraction
from kvplan.core.shapes import GpuRates, HostRates
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval
from kvplan.engines import find_engine
from kvplan.engines.interface import LLAMA_SERVERS


def gpu_rates(gpu: Gpu, deployment: Deployment, end: int) -> GpuRates:
    """What one GPU reaches at one end: 0 optimistic, 1 best, 2 pessimistic."""
    host = deployment.host
    gain = speeds.prefill_gain(deployment, gpu, end)
    pace, shares_experts = find_engine(deployment.engine.name).pace, deployment.layout.ep > 1
    rate = gpu.hbm_bytes_per_s or constants.UNLIMITED
    flops = gpu.flops or rate * constants.FLOPS_PER_BYTE_UNKNOWN
    if deployment.model.experts is not None:
        gain *= constants.MOE_PREFILL_FRACTION[2 - end]
    over_pcie = gpu.peer_bytes_per_s is None
    link = (host.link.bytes_per_s if host.link else constants.UNKNOWN_PCIE_BYTES_PER_S)[2 - end]
    peer = link if gpu.peer_bytes_per_s is None else constants.ALL_REDUCE_FRACTION[2 - end] * gpu.peer_bytes_per_s
    return GpuRates(
        weight_bytes_per_s=rate * gpu.weight_read_fraction[2 - end] * unpacking_fraction(deployment, gpu)[2 - end],
        kv_bytes_per_s=rate * gpu.kv_read_fraction[2 - end],
        decode_flops=flops * constants.DECODE_UTILIZATION * speeds.decode_gain(deployment, gpu),
        prefill_flops=flops * (gpu.prefill_fraction or constants.PREFILL_UTILIZATION)[2 - end] * gain,
        step_overhead_s=speeds.step_overhead_s(gpu, deployment, end),
        all_reduce_s=(constants.ALL_REDUCE_PCIE_S if over_pcie else constants.ALL_REDUCE_S)[end],
        peer_bytes_per_s=peer,
        prefill_peer_gain=_prefill_peer_gain(gpu.peer_bytes_per_s, end),
        peer_over_link=1.0 if over_pcie else 0.0,
        moe_layer_s=constants.MOE_LAYER_S[end] + (constants.EXPERT_EXCHANGE_S[end] if shares_experts else 0.0),
        first_token_s=constants.FIRST_TOKEN_S[end],
        sequence_s=pace.sequence_s[end],
        launch_s=pace.eager_layer_s[end] * deployment.model.layers if deployment.settings.enforce_eager else 0.0,
    )


def _prefill_peer_gain(peer_bytes_per_s: float | None, end: int) -> float:
    """All-reduces of a prefill pass relative to those of a step: they are larger."""
    if peer_bytes_per_s is None:
        return 1.0
    most = constants.PREFILL_ALL_REDUCE_MOST_BYTES_PER_S[2 - end]
    prefill = min(constants.PREFILL_ALL_REDUCE_FRACTION[2 - end] * peer_bytes_per_s, most)
    return prefill / (constants.ALL_REDUCE_FRACTION[2 - end] * peer_bytes_per_s)


def slowed(gpu: GpuRates, fraction: float) -> GpuRates:
    """The same where weights and KV are read at this share of the rate."""
    weights, kv = gpu.weight_bytes_per_s * fraction, gpu.kv_bytes_per_s * fraction
    return gpu._replace(weight_bytes_per_s=weights, kv_bytes_per_s=kv)


def unpacking_fraction(deployment: Deployment, gpu: Gpu) -> Interval:
    """Rate at which decode reads weights of this type on this device, relative to 16-bit ones of as many bytes."""
    scheme = deployment.weight_scheme
    slow_memory = (gpu.hbm_bytes_per_s or 0.0) < constants.GDDR_BYTES_PER_S
    unified = deployment.host.unified_memory
    if not scheme.llama_cpp and deployment.engine.name in LLAMA_SERVERS and not (slow_memory or unified):
        return constants.LLAMA_CPP_HBM_FRACTION
    plain = gpu.kernel_class == "apple" and scheme.read_fraction.best >= constants.PLAIN_BLOCK_FRACTION
    unpacks_well = slow_memory and (plain or not unified)
    if not (scheme.llama_cpp and unpacks_well) or scheme.read_fraction.is_exact:
        return scheme.read_fraction
    gains = zip(scheme.read_fraction, constants.GDDR_UNPACKING_GAIN, strict=True)
    return Interval(*(min(fraction * gain, 1.0) for fraction, gain in gains))


def host_rates(deployment: Deployment, end: int) -> HostRates:
    """What the host reaches at one end. What is not known is unlimited here; strategies that need it are excused."""
    host = deployment.host
    nodes = float(host.numa_nodes or 1)
    full, worth = full_cores(host, deployment.layout.gpus, end)
    sharing = min(host.link.gpus_per_uplink, deployment.layout.gpus) if host.link else 1
    reach = numa_rate_fraction(nodes, float(deployment.layout.gpus), constants.REMOTE_NODE_GAIN[2 - end])
    return HostRates(
        link_bytes_per_s=host.link.bytes_per_s[2 - end] / sharing if host.link else constants.UNLIMITED,
        dram_bytes_per_s=host.dram_bytes_per_s[2 - end] if host.dram_bytes_per_s else constants.UNLIMITED,
        cpu_cores=host.cpu_cores[2 - end] if host.cpu_cores else constants.UNLIMITED,
        core_bytes_per_s=constants.CORE_BYTES_PER_S[2 - end],
        cpu_dram_fraction=constants.CPU_DRAM_FRACTION[2 - end] * reach,
        core_weight_bytes_per_s=constants.CORE_WEIGHT_BYTES_PER_S[2 - end],
        cpu_weight_fraction=constants.CPU_WEIGHT_FRACTION[2 - end] * reach,
        link_out_fraction=out_fraction(host.link),
        link_duplex_fraction=duplex_fraction(host.link),
        full_cores=full,
        lesser_core_worth=worth,
    )


def full_cores(host: Host, gpus: int, end: int) -> tuple[float, float]:
    """Performance cores on the memory nodes of the GPUs in use, and what any other core is worth beside them.

    A limit below that number leaves so many: the engine's threads are taken to run on the GPUs' own nodes.
    """
    if host.cpu_cores is None:
        return constants.UNLIMITED, 1.0
    cores = host.cpu_cores[2 - end]
    nodes = host.numa_nodes or 1
    local = min(nodes, gpus) / nodes
    installed = max(host.installed_cores or 0.0, cores)
    worths = [constants.REMOTE_NODE_GAIN[2 - end]] if local < 1.0 else []
    worths += [constants.EFFICIENCY_CORE_WORTH[2 - end]] if host.efficiency_cores else []
    return min(cores, max(installed - host.efficiency_cores, 0.0) * local), min(worths, default=1.0)
