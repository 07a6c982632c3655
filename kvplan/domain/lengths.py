"""How long sequences are: a few quantiles, or the requests of a trace, and what a full load of them takes.

Between two stated quantiles the logarithm of the length is a straight line over the normal score, as if lengths were
log-normal there; the longest sequence stands at a score of 3. Over 13 length columns of public traces (p50, p95 and
max given) that gives the mean within -21 % and +31 %. The interval was set on Azure 2023 and ShareGPT; Mooncake
conversation (-3 %), Mooncake synthetic (+11 %) and WEKA agents (-20 %), which it was not set on, are inside.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from kvplan.domain.interval import Interval

MEAN_ERROR: Final = Interval(0.76, 1.0, 1.25)
"""True mean over the mean of the interpolation, for three quantiles and more with the median among them."""
MEAN_ERROR_OF_FEW: Final = Interval(0.3, 1.0, 1.55)
"""The same for two quantiles, or without the median."""
LONGEST_SCORE: Final = 3.0
"""Normal score of the longest sequence: one in 741 is as long."""
SHORTEST_SCORE: Final = -4.0
CROWD_SCORE: Final = 1.645
"""The pessimistic end is the sum of lengths that 95 of 100 crowds of users stay below."""


class Lengths(NamedTuple):
    """Lengths of the sequences that decode at once."""

    quantiles: tuple[tuple[float, int], ...]
    """(fraction, tokens), ascending; the last is (1.0, the longest)."""
    mean_tokens: Interval
    deviation_tokens: float
    """Standard deviation of one length."""
    source: str

    @property
    def longest_tokens(self) -> int:
        return self.quantiles[-1][1]

    def crowd_mean_tokens(self, users: float) -> Interval:
        """Mean length in a crowd: the fewer there are, the further it may lie above the mean of all."""
        high = self.mean_tokens.high + CROWD_SCORE * self.deviation_tokens / math.sqrt(max(users, 1.0))
        longest = float(self.longest_tokens)
        return self.mean_tokens._replace(high=min(high, longest))


def from_quantiles(points: Sequence[tuple[float, int]], mean_tokens: float | None = None) -> Lengths:
    """Lengths by their quantiles: ascending (fraction, tokens), the last at 1.0. A mean that is known is taken."""
    from statistics import NormalDist

    scores = [(NormalDist().inv_cdf(fraction), math.log(tokens)) for fraction, tokens in points[:-1]]
    top = max([LONGEST_SCORE, *(score + 0.3 for score, _ in scores)])
    scores.append((top, math.log(points[-1][1])))
    first, second = _moments(scores)
    deviation = math.sqrt(max(second - first * first, 0.0))
    if mean_tokens is not None:
        return Lengths(tuple(points), Interval.exact(mean_tokens), deviation * mean_tokens / first, "given")
    bounds = mean_bounds(points)
    enough = len(points) > 2 and any(0.4 <= fraction <= 0.6 for fraction, _ in points)
    errors = MEAN_ERROR if enough else MEAN_ERROR_OF_FEW
    mean = Interval(*(min(max(first * error, bounds[0]), bounds[1]) for error in errors))
    return Lengths(tuple(points), mean, deviation, "interpolated between the quantiles that were given")


def from_requests(requests: Sequence[tuple[int, int]], source: str) -> Lengths:
    """Lengths of (prompt, output) tokens as they are found at work: a request counts as long as it decodes.

    While it does it holds its prompt and on average half of its output.
    """
    weights = [max(output, 1) for _, output in requests]
    held = [prompt + output / 2.0 for prompt, output in requests]
    total = float(sum(weights))
    mean = sum(weight * tokens for weight, tokens in zip(weights, held, strict=True)) / total
    square = sum(weight * tokens * tokens for weight, tokens in zip(weights, held, strict=True)) / total
    whole = sorted(prompt + output for prompt, output in requests)
    points = [(fraction, whole[_rank(fraction, len(whole))]) for fraction in (0.5, 0.9, 0.95, 0.99, 1.0)]
    deviation = math.sqrt(max(square - mean * mean, 0.0))
    return Lengths(tuple(points), Interval.exact(mean), deviation, source)


def _rank(fraction: float, count: int) -> int:
    """Index of the first of so many ascending values that this fraction of them does not exceed."""
    return max(math.ceil(fraction * count - 1e-9), 1) - 1


def _moments(scores: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean and mean square of exp(a + b z) over the segments; below the first point its line goes on."""
    slopes = [(b1 - b0) / (z1 - z0) for (z0, b0), (z1, b1) in zip(scores, scores[1:], strict=False)]
    starts = [SHORTEST_SCORE, *(score for score, _ in scores[1:-1])]
    ends = [score for score, _ in scores[1:]]
    if not slopes:
        longest = math.exp(scores[0][1])
        return longest, longest * longest
    first, second = _tail(scores[0], slopes[0], SHORTEST_SCORE), _tail(scores[0], 2.0 * slopes[0], SHORTEST_SCORE, 2)
    for (score, log_tokens), slope, start, end in zip(scores, slopes, starts, ends, strict=False):
        first += _segment(log_tokens - slope * score, slope, start, end)
        second += _segment(2.0 * (log_tokens - slope * score), 2.0 * slope, start, end)
    above = 1.0 - _normal(scores[-1][0])
    longest = math.exp(scores[-1][1])
    return first + above * longest, second + above * longest * longest


def _tail(point: tuple[float, float], slope: float, score: float, power: int = 1) -> float:
    """What lies below the lowest score."""
    return _normal(score) * math.exp(power * point[1] - slope * (point[0] - score))


def _segment(start_log: float, slope: float, low: float, high: float) -> float:
    """The mean of exp(a + b z) for a normal z between two scores, times its probability."""
    return math.exp(start_log + slope * slope / 2.0) * (_normal(high - slope) - _normal(low - slope))


def _normal(score: float) -> float:
    return 0.5 * math.erfc(-score / math.sqrt(2.0))


def mean_bounds(points: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """The least and the largest mean that quantiles allow, whatever lies between them."""
    least = most = 0.0
    before, tokens_before = 0.0, 1
    for fraction, tokens in points:
        least += (fraction - before) * tokens_before
        most += (fraction - before) * tokens
        before, tokens_before = fraction, tokens
    return least, most
