"""Weight bytes that a decode step reads."""

from __future__ import annotations

from kvplan.core.shapes import ModelWork


def whole_power(base: float, exponent: float) -> float:
    """``base`` to a whole exponent by repeated squaring: the same bits compiled and interpreted, unlike ``pow``."""
    result = 1.0
    factor = base
    remaining = int(exponent)
    while remaining > 0:
        if remaining % 2 == 1:
            result *= factor
        factor *= factor
        remaining //= 2
    return result


def chosen_expert_share(experts: float, experts_per_token: float, sequences: float) -> float:
    """Expected share of the routed experts that at least one of ``sequences`` tokens chooses.

    1 - (1 - k/E)^B with independent uniform routing: an upper estimate, since real tokens agree more than chance.
    """
    if experts == 0.0:
        return 0.0
    return 1.0 - whole_power(1.0 - experts_per_token / experts, sequences)


def read_expert_share(model: ModelWork, sequences: float) -> float:
    """Share of the routed experts that a step of so many tokens a replica reads.

    Of the tokens after the first, some choose as others do and count for nothing. Between whole numbers of tokens the
    share is interpolated.
    """
    tokens = sequences * model.expert_groups
    free = max(1.0 + (tokens - 1.0) * (1.0 - model.routing_agreement), 1.0)
    whole = float(int(free))
    share = chosen_expert_share(model.experts, model.experts_per_token, whole)
    if free == whole:
        return share
    above = chosen_expert_share(model.experts, model.experts_per_token, whole + 1.0)
    return share + (free - whole) * (above - share)


def weight_read_bytes(model: ModelWork, sequences: float) -> float:
    """Bytes of weights that one step reads on one GPU: the dense part and the chosen experts."""
    return model.dense_read_bytes + read_expert_share(model, sequences) * model.expert_bytes
