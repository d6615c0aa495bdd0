"""What a server measures, as objects: what `Server.metrics(parsed=True)` returns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

__all__ = [
    "MetricFamilyReport",
    "MetricHistogram",
    "MetricSample",
    "MetricSummary",
    "MetricsReport",
    "ReportedKind",
]

ReportedKind = Literal["counter", "gauge", "histogram", "summary", "untyped"]

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class MetricSample:
    """One line of the report.

    Attributes:
        name: The family's name; of a histogram or a summary also that name with _bucket, _sum or _count after it.
        labels: Which metric of the family it is of; of a bucket also "le", of a quantile also "quantile".
        value: The value; it can be infinite, and NaN where there is none.
        timestamp_ms: When it was measured, in milliseconds since 1970; None, Triton's usual, is now.
    """

    name: str
    labels: Mapping[str, str]
    value: float
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class MetricHistogram:
    """One metric of a histogram family.

    Attributes:
        labels: Which metric of the family it is, without "le".
        buckets: (upper bound, how many observations were not above it), ascending; the last bound is infinite.
        count: How many observations there were.
        sum: Their sum.
    """

    labels: Mapping[str, str]
    buckets: tuple[tuple[float, float], ...]
    count: float
    sum: float


@dataclass(frozen=True)
class MetricSummary:
    """One metric of a summary family.

    Attributes:
        labels: Which metric of the family it is, without "quantile".
        quantiles: (quantile from 0 to 1, the value there), ascending; NaN while there is nothing to tell.
        count: How many observations there were.
        sum: Their sum.
    """

    labels: Mapping[str, str]
    quantiles: tuple[tuple[float, float], ...]
    count: float
    sum: float


@dataclass(frozen=True)
class MetricFamilyReport:
    """The metrics of one name.

    Attributes:
        name: The name.
        kind: "counter", "gauge", "histogram", "summary", or "untyped" where the report does not say.
        help: What they mean.
        samples: Their lines, in the order of the report.
    """

    name: str
    kind: ReportedKind
    help: str
    samples: tuple[MetricSample, ...] = field(default=())

    def value(self, **labels: str) -> float:
        """The value of the only sample that has these labels, whatever others it has.

        Raises LookupError when none has them, or more than one; TypeError for a histogram or a summary, whose metrics
        have no single value: `histograms` and `summaries` are for those.
        """
        if self.kind in ("histogram", "summary"):
            raise TypeError(f"{self.name} is a {self.kind}, which has no single value")
        found = [sample for sample in self.samples if labels.items() <= sample.labels.items()]
        if len(found) != 1:
            given = ", ".join(f"{name}={value!r}" for name, value in labels.items()) or "no labels"
            raise LookupError(f"{given}: {len(found)} samples of {self.name} match, and one was expected")
        return found[0].value

    @property
    def histograms(self) -> tuple[MetricHistogram, ...]:
        """The metrics of a histogram family; nothing for another kind."""
        if self.kind != "histogram":
            return ()
        return tuple(
            MetricHistogram(labels, bounds, *_totals(bounds, rest))
            for labels, bounds, rest in self._metrics(f"{self.name}_bucket", "le")
        )

    @property
    def summaries(self) -> tuple[MetricSummary, ...]:
        """The metrics of a summary family; nothing for another kind."""
        if self.kind != "summary":
            return ()
        return tuple(
            MetricSummary(labels, quantiles, rest.get("count", math.nan), rest.get("sum", math.nan))
            for labels, quantiles, rest in self._metrics(self.name, "quantile")
        )

    def _metrics(
        self, line: str, bound: str
    ) -> Iterator[tuple[Mapping[str, str], tuple[tuple[float, float], ...], dict[str, float]]]:
        """(labels, (bound, value)s, count and sum) of each metric whose lines named `line` have a label for a bound."""
        groups: dict[frozenset[tuple[str, str]], tuple[dict[str, str], list[tuple[float, float]], dict[str, float]]]
        groups = {}
        for sample in self.samples:
            labels = {name: value for name, value in sample.labels.items() if name != bound}
            _, bounds, rest = groups.setdefault(frozenset(labels.items()), (labels, [], {}))
            if sample.name == line and bound in sample.labels:
                bounds.append((float(sample.labels[bound]), sample.value))
            else:
                rest[sample.name.removeprefix(f"{self.name}_")] = sample.value
        for labels, bounds, rest in groups.values():
            yield MappingProxyType(labels), tuple(sorted(bounds)), rest


def _totals(buckets: tuple[tuple[float, float], ...], rest: dict[str, float]) -> tuple[float, float]:
    return rest.get("count", buckets[-1][1] if buckets else math.nan), rest.get("sum", math.nan)


class MetricsReport(Mapping[str, MetricFamilyReport]):
    """Every family of metrics by name, in the order of the report."""

    def __init__(self, families: Mapping[str, MetricFamilyReport]) -> None:
        """Made by `Server.metrics`."""
        self._families = dict(families)

    def __getitem__(self, name: str) -> MetricFamilyReport:
        """The family of that name; raises KeyError, which says that there is none."""
        if name not in self._families:
            raise KeyError(f"no metrics of the name {name!r} are reported")
        return self._families[name]

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._families)

    def __len__(self) -> int:
        """How many families there are."""
        return len(self._families)

    def __repr__(self) -> str:
        """How many families there are."""
        return f"MetricsReport({len(self)} families)"
