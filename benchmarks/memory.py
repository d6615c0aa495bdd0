"""Resident memory of processes, and how it grows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def resident_bytes(process: int) -> int:
    """The resident memory of a process, as Linux counts it."""
    pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def slope(places: Sequence[float], values: Sequence[float]) -> float:
    """By how much the values grow per step of the places: the straight line with the least squares."""
    middle = sum(places) / len(places)
    spread = sum((place - middle) ** 2 for place in places)
    if spread == 0:
        raise ValueError(f"a slope needs values at two places at least, not at {list(places)}")
    average = sum(values) / len(values)
    return sum((place - middle) * (value - average) for place, value in zip(places, values, strict=True)) / spread
