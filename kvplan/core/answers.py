"""All that the plans of one strategy answer, in one call: what crosses to compiled code and back."""

from typing import NamedTuple

from kvplan.core.accounts import Demand, Loads, Placement
from kvplan.core.decode import decode_step
from kvplan.core.demand import demand
from kvplan.core.placement import place
from kvplan.core.prefill import ttft_s
from kvplan.core.served import tokens_per_s
from kvplan.core.shapes import Plan
from kvplan.core.verdicts import loads_of, longest_context, most_users


class Question(NamedTuple):
    """The load, and how far the searches for the most that fits may go."""

    context_tokens: float
    users: float
    sharers: float
    """Users at the longest context that is looked for."""
    users_ceiling: float
    tokens_ceiling: float
    """0: it is not looked for."""


class Answer(NamedTuple):
    """One end's figures."""

    loads: Loads
    users_max: float
    context_tokens_max: float
    itl_s: float
    ttft_s: float
    tokens_per_s: float
    """Of all users that run at once; 0 where not one does."""
    placed: Placement
    demand: Demand


Ends = tuple[Plan, Plan, Plan]
"""Optimistic, best, pessimistic."""
Questions = tuple[Question, Question, Question]
Answers = tuple[Answer, Answer, Answer]


def answer(plan: Plan, question: Question) -> Answer:
    """Loads and times at the load that is asked about, and the most users and tokens that fit."""
    context = question.context_tokens
    placed = place(plan, context, question.users)
    step = decode_step(plan, placed, context, question.users)
    asked = demand(plan, placed, step, context, question.users)
    first_s = ttft_s(plan, placed, context)
    longest = 0.0
    if question.tokens_ceiling > 0.0:
        longest = longest_context(plan, question.sharers, question.tokens_ceiling)
    return Answer(
        loads_of(plan, asked, step.itl_s, first_s),
        most_users(plan, context, question.users_ceiling),
        longest,
        step.itl_s,
        first_s,
        tokens_per_s(plan, context, question.users),
        placed,
        asked,
    )


def answer_ends(ends: Ends, questions: Questions) -> Answers:
    """The same at the optimistic, the best and the pessimistic end."""
    return answer(ends[0], questions[0]), answer(ends[1], questions[1]), answer(ends[2], questions[2])
