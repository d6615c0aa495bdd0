"""Repetitions of the measurements, alternating between the subjects, and what they say."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .measurement import Measurement, Subject


@dataclass(frozen=True)
class Summary:
    """The median of several repetitions, and their extremes."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Summarises at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass
class Results:
    """Every value that was measured, in the order of the repetitions."""

    subjects: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    values: dict[tuple[str, Measurement], list[float]] = field(default_factory=dict)

    @property
    def floor(self) -> str:
        """The subject that the others are compared with."""
        return self.subjects[0]

    def summary(self, subject: str, measurement: Measurement) -> Summary:
        """The measured quantity of one subject."""
        return Summary.of(self.values[subject, measurement])

    def ratio(self, subject: str, measurement: Measurement) -> Summary:
        """One subject's value in terms of the floor's of the same repetition, measured just before."""
        floor = self.values[self.floor, measurement]
        return Summary.of([value / base for value, base in zip(self.values[subject, measurement], floor, strict=True)])


def measure(
    subjects: Sequence[Subject],
    measurements: Sequence[Measurement],
    *,
    repetitions: int,
    inferences: int,
    advance: Callable[[], None],
) -> Results:
    """Measures everything `repetitions` times, after one round that does not count.

    The subjects take turns within each measurement, so that what disturbs the machine disturbs all of them.
    `advance` is called after each single measurement, `rounds * subjects * measurements` times in all.
    """
    results = Results(tuple(subject.name for subject in subjects), tuple(measurements))
    for repetition in range(-1, repetitions):
        for measurement in measurements:
            for subject in subjects:
                value = measurement.value(subject.seconds(measurement, inferences), inferences)
                if repetition >= 0:
                    results.values.setdefault((subject.name, measurement), []).append(value)
                advance()
    return results
