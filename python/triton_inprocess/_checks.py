"""Checks of arguments that several declarations share."""

from __future__ import annotations

__all__ = ["check_bool", "check_integer"]


def check_integer(argument: str, value: object, low: int, high: int) -> None:
    """Raises TypeError for what is no int, and ValueError for one that is not from `low` to `high`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} must be an int, not {type(value).__name__}")
    if not low <= value <= high:
        raise ValueError(f"{argument} must be from {low} to {high}, not {value}")


def check_bool(argument: str, value: object) -> None:
    """Raises TypeError for what is no bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{argument} must be a bool, not {type(value).__name__}")
