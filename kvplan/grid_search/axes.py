"""The axes of a grid as people type them: ``4k:1m``, ``1:256:20``, ``4k,32k,128k`` or one value."""

from __future__ import annotations

from kvplan.errors import InputError
from kvplan.units import parse_tokens, shorten

MOST_AXIS_POINTS = 1000
_TRACES = (".csv", ".jsonl", ".json")
_FORMS = "A:B doubles from A to B, A:B:N takes N points, or list them: 4k,32k,128k"


def parse_axis(text: str, flag: str) -> tuple[int, ...]:
    """The points of an axis, ascending, each once. Raises InputError for what is not a range or a list."""
    if "=" in text or text.lower().endswith(_TRACES):
        message = f"{flag} {shorten(text)!r}: a sweep takes ranges and lists of single lengths"
        raise InputError(message, help=f"{_FORMS}; kvplan fit takes quantiles and traces")
    if "," in text:
        return _checked({parse_tokens(item, what=flag) for item in text.split(",") if item.strip()}, text, flag)
    first, *rest = text.split(":")
    low = parse_tokens(first, what=flag)
    if not rest:
        return (low,)
    high = parse_tokens(rest[0], what=flag)
    if len(rest) > 2:
        raise InputError(f"{flag} {shorten(text)!r} has too many colons", help=_FORMS)
    if high < low:
        raise InputError(f"{flag} {shorten(text)!r} ends before it starts", help=_FORMS)
    if len(rest) == 1:
        return doubling(low, high)
    points = parse_tokens(rest[1], what=f"the number of points of {flag}")
    if points > MOST_AXIS_POINTS:
        raise InputError(f"{flag} {shorten(text)!r} has more than {MOST_AXIS_POINTS:,} points")
    return geometric(low, high, points)


def doubling(low: int, high: int) -> tuple[int, ...]:
    """Both ends and the powers of two between them."""
    between = (2**exponent for exponent in range(low.bit_length(), high.bit_length()))
    return tuple(sorted({low, high, *(power for power in between if power < high)}))


def geometric(low: int, high: int, points: int) -> tuple[int, ...]:
    """So many whole numbers from one end to the other with equal ratios; fewer where they would coincide."""
    if points == 1:
        return (low,)
    ratio = high / low
    return tuple(sorted({low, high, *(round(low * ratio ** (step / (points - 1))) for step in range(1, points - 1))}))


def _checked(points: set[int], text: str, flag: str) -> tuple[int, ...]:
    if not points:
        raise InputError(f"{flag} {shorten(text)!r} lists no points", help=_FORMS)
    if len(points) > MOST_AXIS_POINTS:
        raise InputError(f"{flag} lists more than {MOST_AXIS_POINTS:,} points")
    return tuple(sorted(points))
