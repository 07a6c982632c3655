"""KV417: a setting changes memory in a way that kvplan does not model, so a pass is not proven."""

from __future__ import annotations

from collections.abc import Iterator

from kvplan.deployments.speculation import WEIGHTLESS, draft_method, is_mtp
from kvplan.errors import InputError
from kvplan.rules.context import Context
from kvplan.rules.interface import Finding, finding, reported

ID = "KV417"
TITLE = "a setting changes memory in a way that is not modelled"
LEVEL = "unknown"

_NOT_MODELLED = {
    "num_gpu_blocks_override": ("unknown", "it replaces the measured size of the KV pool"),
    "pcp": ("unknown", "prefill context parallelism is not modelled"),
    "enable_lora": ("info", "adapters take GPU memory beside the weights"),
    "performance_mode": ("info", "it may double the batch defaults, and with them the activation peak"),
    "hf_overrides": ("info", "it may change the model's own limit and layers"),
}


def check(context: Context) -> Iterator[Finding]:
    yield from reported(ID, context)
    for name, (level, why) in _NOT_MODELLED.items():
        if context.translated.values.get(name):
            yield finding(ID, level, context, (name,), f"{name.replace('_', '-')}: {why}")
    draft = str(context.translated.values.get("speculative_config", ""))
    if draft and not _is_counted(context, draft):
        message = "speculative-config: the draft's weights and KV make the pool smaller than judged here"
        remedy = "leave some GiB of the pool free for it"
        yield finding(ID, LEVEL, context, ("speculative_config",), message, remedy=remedy)


def _is_counted(context: Context, draft: str) -> bool:
    """N-grams and suffixes take no memory; MTP layers of a known model are in its KV."""
    try:
        method = draft_method(draft)
    except InputError:
        return False
    return method in WEIGHTLESS or (is_mtp(method) and context.model is not None and bool(context.model.mtp_kv))
