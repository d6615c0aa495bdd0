"""Repetitions of the measurements, alternating between the subjects, and what they say."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .measurement import Measurement, Quantity, Subject


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


@dataclass(frozen=True)
class Cell:
    """One quantity of one subject: every value in the order of the repetitions, and what each is beside the base's."""

    subject: str
    measurement: Measurement
    quantity: Quantity
    values: Sequence[float]
    compared: Sequence[float] | None

    @property
    def summary(self) -> Summary:
        """The measured values."""
        return Summary.of(self.values)

    @property
    def comparison(self) -> Summary | None:
        """The values beside those of the base; None for the base itself, and where there is none."""
        return None if self.compared is None else Summary.of(self.compared)

    @property
    def missed(self) -> bool:
        """Whether a goal is missed, by the medians."""
        return self.comparison is not None and self.quantity.missed(self.summary.median, self.comparison.median)


@dataclass
class Results:
    """Every value that was measured, in the order of the repetitions."""

    subjects: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    values: dict[tuple[str, Measurement, Quantity], list[float]] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The subject that the others are compared with."""
        return self.subjects[0]

    def add(self, subject: str, measurement: Measurement, values: Sequence[float]) -> None:
        """Keeps what one repetition has yielded."""
        for quantity, value in zip(measurement.quantities, values, strict=True):
            self.values.setdefault((subject, measurement, quantity), []).append(value)

    def cell(self, subject: str, measurement: Measurement, quantity: Quantity) -> Cell | None:
        """One quantity of one subject; None when the subject cannot do that."""
        values = self.values.get((subject, measurement, quantity))
        if values is None:
            return None
        bases = self.values.get((self.base, measurement, quantity))
        compared = None
        if subject != self.base and bases is not None:
            pairs = zip(values, bases, strict=True)  # of the same repetition, measured just before
            compare = _ratio if measurement.comparison == "ratio" else _difference
            compared = [compare(value, base) for value, base in pairs]
        return Cell(subject, measurement, quantity, values, compared)

    def rows(self) -> Iterator[tuple[Measurement, Quantity]]:
        """Every quantity that was measured."""
        for measurement in self.measurements:
            for quantity in measurement.quantities:
                yield measurement, quantity

    def cells(self) -> Iterator[Cell]:
        """Everything."""
        for measurement, quantity in self.rows():
            for subject in self.subjects:
                cell = self.cell(subject, measurement, quantity)
                if cell is not None:
                    yield cell


def _ratio(value: float, base: float) -> float:
    return value / base


def _difference(value: float, base: float) -> float:
    return value - base


def steps(subjects: Sequence[Subject], measurements: Sequence[Measurement], repetitions: int) -> int:
    """How often `measure` calls `advance`."""
    pairs = sum(measurement.name in subject.calls for measurement in measurements for subject in subjects)
    return pairs * (repetitions + 1)


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
    `advance` is called after each single measurement.
    """
    results = Results(tuple(subject.name for subject in subjects), tuple(measurements))
    for repetition in range(-1, repetitions):
        for measurement in measurements:
            for subject in subjects:
                call = subject.calls.get(measurement.name)
                if call is None:
                    continue
                count = measurement.count(inferences, subject)
                numbers = call(count)
                if repetition >= 0:
                    pairs = zip(measurement.quantities, numbers, strict=True)
                    results.add(
                        subject.name, measurement, [quantity.unit.convert(number, count) for quantity, number in pairs]
                    )
                advance()
    return results
