"""Metrics of Triton Python models: those of this package, under the names that such models use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, SupportsFloat

from . import metric, metric_family
from ._native import MetricKind

__all__ = ["Metric", "MetricFamily"]


class Metric:
    """A metric of a family (TRITONSERVER_Metric); `MetricFamily.Metric` makes it."""

    __slots__ = ("_metric",)

    def __init__(self, made: metric.Metric) -> None:
        """Made by its family."""
        self._metric: metric.Metric = made

    def increment(self, value: SupportsFloat) -> None:
        """Add to a counter or a gauge; see `triton_inprocess.Metric.increment`."""
        self._metric.increment(value)

    def set(self, value: SupportsFloat) -> None:
        """Set a gauge; see `triton_inprocess.Metric.set_value`."""
        self._metric.set_value(value)

    def observe(self, value: SupportsFloat) -> None:
        """Count a value in a histogram; see `triton_inprocess.Metric.observe`."""
        self._metric.observe(value)

    def value(self) -> float:
        """The value of a counter or a gauge."""
        return self._metric.value


class MetricFamily:
    """Metrics of one name (TRITONSERVER_MetricFamily)."""

    COUNTER: Final = MetricKind.COUNTER
    GAUGE: Final = MetricKind.GAUGE
    HISTOGRAM: Final = MetricKind.HISTOGRAM

    __slots__ = ("_family",)

    def __init__(self, name: str, description: str, kind: MetricKind) -> None:
        """A family; raises what `triton_inprocess.MetricFamily` raises."""
        self._family: metric_family.MetricFamily = metric_family.MetricFamily(kind, name, description)

    def Metric(self, labels: Mapping[str, str] | None = None, buckets: Sequence[float] | None = None) -> Metric:
        """A metric of the family; a histogram takes `buckets`. Raises what `triton_inprocess.Metric` raises."""
        return Metric(metric.Metric(self._family, labels, buckets))
