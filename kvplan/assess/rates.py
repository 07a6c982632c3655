"""What a GPU and its host reach, at one end of the uncertainty: 0 optimistic, 1 best, 2 pessimistic."""

from __future__ import annotations

from kvplan.assess import constants
from kvplan.core.cpu import numa_rate_fraction
from kvplan.core.shapes import GpuRates, HostRates
from kvplan.domain.deployment import Deployment
from kvplan.domain.host import Gpu, Host
from kvplan.domain.interval import Interval


def gpu_rates(gpu: Gpu, deployment: Deployment, end: int) -> GpuRates:
    """What one GPU reaches at one end: 0 optimistic, 1 best, 2 pessimistic."""
    host = deployment.host
    native = deployment.weight_scheme.name in ("fp8", "nvfp4") and gpu.kernel_class in constants.FP8_NATIVE
    gain = constants.FP8_PREFILL_GAIN[2 - end] if native else 1.0
    rate = gpu.hbm_bytes_per_s or constants.UNLIMITED
    flops = gpu.flops or rate * constants.FLOPS_PER_BYTE_UNKNOWN
    if deployment.model.experts is not None:
        gain *= constants.MOE_PREFILL_FRACTION[2 - end]
    over_pcie = gpu.peer_bytes_per_s is None
    link = (host.link.bytes_per_s if host.link else constants.UNKNOWN_PCIE_BYTES_PER_S)[2 - end]
    peer = link if gpu.peer_bytes_per_s is None else 0.8 * gpu.peer_bytes_per_s
    return GpuRates(
        weight_bytes_per_s=rate * gpu.weight_read_fraction[2 - end] * unpacking_fraction(deployment, gpu)[2 - end],
        kv_bytes_per_s=rate * gpu.kv_read_fraction[2 - end],
        decode_flops=flops * constants.DECODE_UTILIZATION,
        prefill_flops=flops * constants.PREFILL_UTILIZATION[2 - end] * gain,
        step_overhead_s=gpu.step_overhead_s[end],
        all_reduce_s=(constants.ALL_REDUCE_PCIE_S if over_pcie else constants.ALL_REDUCE_S)[end],
        peer_bytes_per_s=peer,
        peer_over_link=1.0 if over_pcie else 0.0,
        moe_layer_s=constants.MOE_LAYER_S[end],
        first_token_s=constants.FIRST_TOKEN_S[end],
    )


def slowed(gpu: GpuRates, fraction: float) -> GpuRates:
    """The same where weights and KV are read at this share of the rate."""
    weights, kv = gpu.weight_bytes_per_s * fraction, gpu.kv_bytes_per_s * fraction
    return gpu._replace(weight_bytes_per_s=weights, kv_bytes_per_s=kv)


def unpacking_fraction(deployment: Deployment, gpu: Gpu) -> Interval:
    """Rate at which decode reads weights of this type on this device, relative to 16-bit ones of as many bytes."""
    scheme = deployment.weight_scheme
    has_gddr = not deployment.host.unified_memory and (gpu.hbm_bytes_per_s or 0.0) < constants.GDDR_BYTES_PER_S
    if not (scheme.llama_cpp and has_gddr) or scheme.read_fraction.is_exact:
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
