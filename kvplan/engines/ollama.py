"""ollama, 0.30 to 0.33: it starts ``llama-server`` for each model, with arguments of its own.

What differs from llama.cpp: ``-c`` is OLLAMA_CONTEXT_LENGTH x OLLAMA_NUM_PARALLEL, the micro-batch grows with it,
and llama.cpp's fitting is on, which leaves 1 GiB free on each device and gives the CPU the layers that do not fit.
Source: ollama 0.33, llm/llama_server.go and server/sched.go. Releases before 0.30 had runners of their own.
"""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.interval import Interval
from kvplan.engines.free_memory import FIT_MARGIN_BYTES, device_memory, less
from kvplan.engines.interface import KvKernel, MemoryPolicy, Term, replica_users
from kvplan.engines.kv_layout import KvLayout, KvQuestion
from kvplan.engines.llama_cpp import LlamaCpp, host_memory, server_policy
from kvplan.engines.llama_cpp_pool import kv_layout as llama_kv_layout
from kvplan.engines.versions import within

_SOURCE = "ollama 0.33: LLAMA_ARG_FIT is on, LLAMA_ARG_FIT_TARGET is llama.cpp's 1024 MiB"
_BATCHES = ((32768, 2048, 0.60), (4096, 1024, 0.75))
"""(tokens of all slots above which, micro-batch, share of the device that weights and KV may take for it)."""
_SERVER_BUILD = 10236
"""ollama 0.30 to 0.33 pin llama.cpp b9409 (May 2026) to b10488 (LLAMA_CPP_VERSION): one set of rules."""
_ONE_AT_A_TIME = ("mllama", "qwen3_vl", "qwen3_5", "qwen3_next", "lfm2", "nemotron_h")
"""Architectures whose OLLAMA_NUM_PARALLEL is forced to 1; variants (``qwen3_5_moe``) begin the same way."""
_INHERITED = {"-nkvo": "LLAMA_ARG_NO_KV_OFFLOAD", "-ncmoe": "LLAMA_ARG_N_CPU_MOE", "-ts": "LLAMA_ARG_TENSOR_SPLIT"}
"""Arguments of llama-server that ollama does not set itself, and the variables that it passes on."""


class Ollama(LlamaCpp):
    """``ollama serve``."""

    name = "ollama"
    aliases: tuple[str, ...] = ()
    newest_version = "0.33"
    settings_flags: dict[str, str] = {}

    def resolve_version(self, version: str) -> str:
        return within(version, engine="ollama", oldest="0.30", newest=self.newest_version)

    def memory_policy(self, deployment: Deployment, weight_bytes: float) -> MemoryPolicy:
        budget = _budget(deployment)
        policy = server_policy(deployment, budget, _micro_batch(deployment, budget, weight_bytes), host_memory(True))
        return policy._replace(warnings=(*policy.warnings, *_warnings(deployment)))

    def kv_flags(self, kernel: KvKernel, deployment: Deployment) -> tuple[str, ...] | None:
        return (f"OLLAMA_KV_CACHE_TYPE={kernel.flag}",)

    def kv_layout(self, question: KvQuestion) -> KvLayout:
        """As its llama-server lays it out. The micro-batch depends on what is free, which is not known here."""
        deployment = question.deployment
        tokens = deployment.workload.context_tokens * replica_users(deployment)
        batch = next((batch for longer_than, batch, _ in _BATCHES if tokens > longer_than), 512)
        found = llama_kv_layout(question, _SERVER_BUILD, batch)
        windowed = any(row.window_tokens for row in found.layers)
        note = f"windows are sized for a micro-batch of {batch}; on a nearly full device ollama takes a smaller one"
        return found._replace(notes=(*found.notes, note)) if windowed and batch > 512 else found

    def command(self, deployment: Deployment, extra_flags: tuple[str, ...]) -> str:
        """The server takes environment variables only; which model it loads is the request's business.

        Arguments of the ``llama-server`` that it starts become the variables that this server reads too.
        """
        workload = deployment.workload
        parts = [
            f"OLLAMA_CONTEXT_LENGTH={workload.context_tokens}",
            f"OLLAMA_NUM_PARALLEL={replica_users(deployment)}",
            "OLLAMA_FLASH_ATTENTION=1",
            *(["OLLAMA_SCHED_SPREAD=1"] if deployment.layout.tp * deployment.layout.pp > 1 else []),
        ]
        return " ".join([*parts, *(_variable(flag) for flag in extra_flags), "ollama serve"])


def _variable(flag: str) -> str:
    """``-ncmoe 12`` -> ``LLAMA_ARG_N_CPU_MOE=12``; a variable stays as it is."""
    name, _, value = flag.partition(" ")
    return f"{_INHERITED[name]}={value or '1'}" if name in _INHERITED else flag


def _budget(deployment: Deployment) -> Term:
    """Device memory less the display's part and the margin of llama.cpp's fitting."""
    device = device_memory(deployment.host)
    gpu = deployment.host.gpu
    if gpu is None or gpu.kernel_class == "cpu":
        return device
    left = less(device.bytes, Interval.exact(FIT_MARGIN_BYTES))
    return Term(left, f"{device.formula}, less 1 GiB that layer fitting leaves free", _SOURCE)


def _micro_batch(deployment: Deployment, budget: Term, weight_bytes: float) -> int:
    """512 tokens; 1024 or 2048 for long contexts where weights and a 16-bit KV cache leave enough of the device."""
    model, workload = deployment.model, deployment.workload
    tokens = workload.context_tokens * replica_users(deployment)
    elements = sum(layers.layers * layers.elements_per_token for layers in model.kv) / deployment.layout.gpus
    taken = weight_bytes + 2.0 * elements * tokens
    for longer_than, batch, share in _BATCHES:
        if tokens > longer_than and taken <= share * budget.bytes.best:
            return batch
    return 512


def _warnings(deployment: Deployment) -> tuple[str, ...]:
    kind = deployment.model.model_type
    if replica_users(deployment) > 1 and kind.startswith(_ONE_AT_A_TIME):
        return (f"ollama decodes one request of a {kind} model at a time: the other users wait",)
    return ()


ENGINE = Ollama()
