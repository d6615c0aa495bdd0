"""Arguments that are times."""

from __future__ import annotations

import math
from numbers import Real

__all__ = ["interval_argument", "timeout_argument"]

_LONGEST = 1e8  # seconds; what the operating system waits for has its limits


def timeout_argument(name: str, value: object) -> float | None:
    """Seconds to wait at most; raises TypeError or ValueError, naming the argument, for what is no time."""
    return None if value is None else _seconds(name, value, "seconds or None")


def interval_argument(name: str, value: object) -> float:
    """Seconds between two looks; raises TypeError or ValueError, naming the argument, for what is no time."""
    return _seconds(name, value, "seconds")


def _seconds(name: str, value: object, expected: str) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be {expected} as a number, not {type(value).__name__}")
    seconds = float(value)
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"{name} must be {expected}, 0 or more, not {value!r}")
    return min(seconds, _LONGEST)
