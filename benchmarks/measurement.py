"""What is measured, and what can be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["latency", "rate"]


@dataclass(frozen=True)
class Measurement:
    """One quantity: the latency of one inference at a time, or the rate with some of them in flight."""

    kind: Kind
    in_flight: int = 1

    @property
    def title(self) -> str:
        """The quantity in words with its unit, on two lines."""
        if self.kind == "latency":
            return "sync latency\n(µs)"
        return f"requests/s\n{self.in_flight} in flight"

    def value(self, seconds: float, inferences: int) -> float:
        """The quantity, from the time that so many inferences took: microseconds, or inferences per second."""
        return seconds / inferences * 1e6 if self.kind == "latency" else inferences / seconds


MEASUREMENTS = (
    Measurement("latency"),
    Measurement("rate", 1),
    Measurement("rate", 16),
    Measurement("rate", 64),
)


class Subject(Protocol):
    """Something whose speed is measured."""

    @property
    def name(self) -> str:
        """What the report calls it."""

    def seconds(self, measurement: Measurement, inferences: int) -> float:
        """The time that so many inferences take, in seconds."""
