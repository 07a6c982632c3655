"""What kind of work a deployment does, as far as the accuracy of a KV strategy depends on it."""

from typing import NamedTuple

TASKS = {"retrieval": "retrieval", "reasoning": "long reasoning", "chat": "chat"}
"""Class -> its words. Retrieval: questions about a long input (RULER, MRCR, needles, LongBench). Reasoning: long chains
of thought (AIME, GPQA, MATH, LiveCodeBench). Chat: short prompts and answers (gsm8k, MMLU, code and knowledge)."""

MOST_LOSS_POINTS = 5.0
"""A published loss above this makes a strategy tight. One problem of AIME's thirty is 3.3 points, and two runs of the
same model differ by that much: what is beyond is no longer scatter."""


class Task(NamedTuple):
    """A class of work, and the loss that is still acceptable there."""

    name: str
    most_loss_points: float = MOST_LOSS_POINTS

    @property
    def words(self) -> str:
        """``long reasoning``."""
        return TASKS[self.name]
