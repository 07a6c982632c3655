"""Constants of the steps, each with the source of its interval. Per-GPU ones are in the catalog."""

from __future__ import annotations

from kvplan.domain.interval import Interval

UNLIMITED = 1e30
"""Stands for a limit that is not known, where nothing is asked of it."""

PREFILL_UTILIZATION = Interval(0.32, 0.55, 0.75)
"""Share of the dense 16-bit rate in prefill.

Source: GEMM maxima 0.73 to 0.87; TTFT of Llama-2-70B on A100 at 1k to 4k tokens, one request, 0.50 to 0.66.
"""
GDDR_BYTES_PER_S = 1.85e12
"""Cards below this rate have GDDR, those above have HBM. Unified pools are slower, yet unpack as HBM cards do."""
GDDR_UNPACKING_GAIN = Interval(1.1, 1.18, 1.15)
"""GGUF types on GDDR cards: unpacking, which costs arithmetic, costs less beside a slower memory.

Source: llama.cpp decode of 8B and 70B Q4_K_M on 3090, 4090, A40, A6000, L40S and RTX 6000 Ada (1.05 to 1.3 x) against
A100, H100 and Macs (0.8 to 1.05 x). Set on the A40, L40S, 3090 and 4090 rows.
"""
PLAIN_BLOCK_FRACTION = 0.8
"""GGUF types that are read at this share or more unpack as cheaply on Apple's chips: Q4_0 of a 7B on 14 of them."""
LLAMA_CPP_HBM_FRACTION = Interval(0.60, 0.75, 1.0)
"""llama.cpp reads 16-bit weights below other engines' rate on cards with HBM.

Source: F16 of Llama-3 8B and 70B on A100 and H100 PCIe, 2024-05; half of the rows.
"""
DECODE_UTILIZATION = 0.70
"""The same in decode at large batches; source: measured GEMM fractions 0.51 to 0.87."""
ALL_REDUCE_S = Interval(3e-6, 5e-6, 10e-6)
"""Time of one small all-reduce over NVLink and what waits for it.

Source: served Llama-3.1-70B and Qwen3-32B on H100, H200 and B200, tp 2 to 8 against tp 1; kernels fused with it.
"""
ALL_REDUCE_FRACTION = Interval(0.25, 0.40, 0.80)
"""Share of the GPU-to-GPU rate that a decode step's all-reduces reach; source: the same rows at 64 to 512 sequences."""
PREFILL_ALL_REDUCE_FRACTION = Interval(0.50, 0.80, 0.90)
"""The same of the larger ones in prefill.

Source: first tokens of Llama-3.1-70B, prompts of 8192 tokens, tp 2 to 8 against tp 1 on H200.
"""
PREFILL_ALL_REDUCE_MOST_BYTES_PER_S = Interval(225e9, 360e9, 720e9)
"""... and what they reach at most, on NVLink 5; source: the same on B200."""
EXPERT_EXCHANGE_S = Interval(8e-6, 20e-6, 40e-6)
"""What expert parallelism adds to a layer of experts: dispatch and return; source: served rows with and without it."""
ALL_REDUCE_PCIE_S = Interval(20e-6, 40e-6, 90e-6)
"""The same where GPUs meet over PCIe; class estimate."""
UNKNOWN_PCIE_BYTES_PER_S = Interval(6e9, 20e9, 26e9)
"""Between GPUs of a host whose link is not known; class interval from PCIe 3 x8 to 4 x16."""
CORE_BYTES_PER_S = Interval(2.2e9, 2.8e9, 3.4e9)
"""What one core reads in CPU attention; source: ScoutAttention 36 cores near 100 GB/s, KTransformers >= 3.4."""
CPU_DRAM_FRACTION = Interval(0.40, 0.50, 0.60)
"""Share of the achievable DRAM rate that CPU attention reaches; source: 80 to 105 GB/s at 64 threads of 2 sockets."""
REMOTE_NODE_GAIN = Interval(0.32, 0.4, 0.4)
"""What a second socket adds to work that one GPU feeds.

Source: KTransformers, 8.73 to 12.2 tokens/s (1.40 x); 1.3 where a method pins its threads to one node.
"""
EFFICIENCY_CORE_WORTH = Interval(0.4, 0.5, 0.7)
"""What an efficiency core reads beside a performance core; class estimate: no published figure found."""
RELOAD_FIXED_S = 0.0
"""Fixed time of a reload beyond that of any request: vLLM's reloads take 12 ms in all, FIRST_TOKEN_S counts them."""
CORE_WEIGHT_BYTES_PER_S = Interval(6e9, 8e9, 12e9)
"""What one core reads while it multiplies weights; class estimate: 28 GB/s for the first EPYC core alone, 4.6 added."""
CPU_WEIGHT_FRACTION = Interval(0.70, 0.85, 0.95)
"""Share of the achievable DRAM rate that multiplying weights reaches; source: decode at 84 to 91 % of STREAM reads."""
MOE_LAYER_S = Interval(8e-6, 26e-6, 60e-6)
"""Fixed time of a layer of experts in decode, beyond a dense one: routing, dispatch, gathering.

Source: closed loops of five models at 4 to 8 users, 0.45 of what a whole layer's kernels take.
"""
MOE_PREFILL_FRACTION = Interval(0.20, 0.45, 0.90)
"""Prefill rate of mixture-of-experts models relative to dense ones; source: the same rows and a GB10 single stream."""
FIRST_TOKEN_S = Interval(0.005, 0.015, 0.050)
"""Server, tokenizer and scheduler before the first token; class estimate: 12 ms fixed in vLLM reloads, 70B at 1k."""
CPU_FLOPS_PER_CORE = 40e9
"""16-bit and 4-bit matrix rate of one x86 core under llama.cpp; class estimate, a quarter of its vector peak."""
FLOPS_PER_BYTE_UNKNOWN = 60.0
"""Matrix rate of a GPU whose own is not known, per byte of its memory rate; class: 42 TFLOPS at 205 GB/s and more."""
