"""What a recurrent layer keeps for a sequence on one GPU, as vLLM shapes it."""

from __future__ import annotations

from kvplan.domain.deployment import Deployment
from kvplan.domain.model import KvLayers, State
from kvplan.engines.vllm_memory.rules import Rules, ceil_div
from kvplan.errors import CannotJudge, InputError

MODES = ("none", "align", "all")
_DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def state_bytes(layers: KvLayers, deployment: Deployment, rules: Rules) -> int:
    """Bytes of one layer's state: the convolution's columns and the state itself, shared by tensor-parallel ranks.

    Speculative decoding adds a column for every draft token. Mamba-2 groups that ranks can't share evenly are raised
    to one each. The convolution is kept in 16 bits, the state in what the version takes from the config.
    """
    state, tp = layers.state, deployment.layout.tp
    assert state is not None
    drafts, columns = draft_tokens(deployment), state.conv_columns
    elements = state.conv_elements
    if elements and not columns and (drafts or (layers.kind == "mamba2" and tp > 1)):
        raise CannotJudge(f"the convolution of {layers.kind} layers is not known in enough detail: give a config.json")
    if layers.kind == "mamba2" and tp > 1:
        if not state.groups:
            raise CannotJudge("the groups of Mamba-2's state are not known: give a config.json")
        missing = tp - state.groups if state.groups % tp else 0
        elements += missing * state.group_channels * columns
    channels = ceil_div(elements, max(columns, 1))
    rows = columns + (drafts if _drafts_in_window(layers.kind, rules) else 0) if columns else 1
    _check_shares(channels, tp, layers.kind)
    recurrent = state.recurrent_elements * _recurrent_bytes(layers.kind, state, deployment, rules)
    return channels // tp * rows * 2 + recurrent // tp


def _check_shares(channels: int, tp: int, kind: str) -> None:
    if channels % tp:
        raise InputError(f"vLLM does not start: the {channels:,} channels of {kind} layers don't divide by --tp {tp}")


def _drafts_in_window(kind: str, rules: Rules) -> bool:
    first = {"gdn": (0, 11), "mamba2": (0, 15), "conv": (0, 29), "kda": (0, 29)}.get(kind)
    return first is not None and rules.version >= first


def _recurrent_bytes(kind: str, state: State, deployment: Deployment, rules: Rules) -> int:
    """Bytes of an element of the state: KDA's always 4; lightning attention's and most others' those of the model.

    vLLM reads the type from the configs of Nemotron-H (since 0.12) and Qwen3.5 only.
    """
    asked = (deployment.settings.mamba_ssm_cache_dtype or "auto").lower()
    if asked in _DTYPE_BYTES:
        return _DTYPE_BYTES[asked]
    if asked != "auto":
        raise InputError(f"--mamba-ssm-cache-dtype must be auto, {', '.join(_DTYPE_BYTES)} (it is {asked!r})")
    if kind == "kda":
        return 4
    family = deployment.model.model_type
    reads = family.startswith("qwen3_5") or (family.startswith("nemotron_h") and rules.version >= (0, 12))
    return 4 if reads and state.recurrent_float32 else 2


def cache_mode(deployment: Deployment, rules: Rules) -> str:
    """``mamba_cache_mode``: what prefix caching makes of it, on by default since 0.26 (for models with attention)."""
    settings = deployment.settings
    asked = (settings.mamba_cache_mode or "").lower()
    if asked and asked not in MODES:
        raise InputError(f"--mamba-cache-mode must be one of {', '.join(MODES)} (it is {asked!r})")
    attends = any(layers.grows for layers in deployment.model.kv)
    cached = settings.prefix_caching
    if cached is None:
        cached = asked not in ("", "none") or (rules.caches_states and attends)
    if not cached:
        return "none"
    if rules.version < (0, 15) or asked == "all":
        raise CannotJudge("prefix caching of states in every block (mamba_cache_mode all) is not modelled")
    mamba = any(layers.kind in ("mamba1", "mamba2") for layers in deployment.model.kv)
    if mamba and rules.version < (0, 26) and asked != "align":
        raise CannotJudge("vLLM before 0.26 caches Mamba states in every block, which is not modelled",
                          help="--mamba-cache-mode align")  # fmt: skip
    return "align"


def state_blocks(layers: KvLayers, mode: str, deployment: Deployment, rules: Rules) -> int:
    """Blocks of a sequence: one and another for each draft token; one more where states are cached at block ends.

    Since 0.32 Mamba-2 keeps a checkpoint of a running prefill beside them. So do gated delta nets on FlashInfer
    since 0.33: not counted.
    """
    drafts = draft_tokens(deployment) if rules.version >= (0, 15) else 0
    checkpoint = layers.kind == "mamba2" and rules.version >= (0, 32)
    return 1 + drafts + (1 + checkpoint if mode == "align" else 0)


def draft_tokens(deployment: Deployment) -> int:
    """``num_speculative_tokens``; 1 where it is left to the draft's own config."""
    drafting = deployment.settings.drafting
    return 0 if drafting is None else drafting.tokens or 1
