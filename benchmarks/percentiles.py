"""The slowest of many, beside the usual one."""

from __future__ import annotations

from collections.abc import Sequence


def at(ordered: Sequence[float], percentile: float) -> float:
    """The value that so many percent of the ordered ones stay below."""
    return ordered[min(int(percentile / 100 * len(ordered)), len(ordered) - 1)]


def tail(p50: float, p99: float, p999: float) -> tuple[float, float, float, float]:
    """The quantities of the measurement `percentiles`."""
    return p50, p99, p999, p999 / p50


def tail_of(latencies: Sequence[float]) -> tuple[float, float, float, float]:
    """The same, of single latencies."""
    ordered = sorted(latencies)
    return tail(at(ordered, 50), at(ordered, 99), at(ordered, 99.9))
