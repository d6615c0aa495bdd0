"""One of the user's own metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import NoReturn, SupportsFloat

from . import _native
from ._native import MetricKind
from .errors import InvalidArgumentError
from .metric_family import MetricFamily

__all__ = ["Metric"]

_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")

# What a histogram needs for itself.
_RESERVED = {MetricKind.HISTOGRAM: "le"}


class Metric:
    """A metric of your own: a member of a family, with labels of its own (TRITONSERVER_Metric).

    Metrics of one family with the same labels are one and share their value. It leaves the report when the last of
    them is dropped. Every method may be called from any thread.

    ::

        served = Metric(MetricFamily(MetricKind.COUNTER, "served_total", "Answers."), {"site": "north"})
        served.increment(1)
    """

    __slots__ = ("__weakref__", "_native", "family", "labels")

    def __init__(
        self,
        family: MetricFamily,
        labels: Mapping[str, str] | None = None,
        buckets: Sequence[float] | None = None,
    ) -> None:
        """A metric (TRITONSERVER_MetricNew; with `buckets` TRITONSERVER_MetricNewWithArgs).

        Args:
            family: The family.
            labels: Which metric of the family it is: text by name.
            buckets: For a histogram, and for nothing else: the upper bounds of its buckets, ascending. One without a
                bound is added to them.

        Raises:
            TypeError: An argument is of the wrong type.
            InvalidArgumentError: A label's name is not allowed, the buckets do not ascend, a histogram comes without
                buckets or another kind with them.
            UnsupportedError: `buckets` with a runtime before C API 1.34.
        """
        if not isinstance(family, MetricFamily):
            raise TypeError(f"family must be a MetricFamily, not {type(family).__name__}")
        self.labels: dict[str, str] = _checked_labels(family, labels)
        parameters = [_native.TRITONSERVER_Parameter(name, value) for name, value in self.labels.items()]
        args = _bucket_args(family, buckets)
        self._native = _native.TRITONSERVER_Metric(family, parameters, args)
        self.family: MetricFamily = family

    @property
    def kind(self) -> MetricKind:
        """The kind of the family."""
        return self.family.kind

    @property
    def value(self) -> float:
        """The value of a counter or a gauge (TRITONSERVER_MetricValue).

        Raises UnsupportedError for a histogram: `Server.metrics(parsed=True)` has its buckets.
        """
        return self._native.value

    def increment(self, value: SupportsFloat) -> None:
        """Add to a counter, which takes nothing below 0, or to a gauge (TRITONSERVER_MetricIncrement).

        Raises TypeError for what is no number, InvalidArgumentError for a negative one and a counter, and
        UnsupportedError for a histogram.
        """
        self._native.increment(_number(value))

    def set_value(self, value: SupportsFloat) -> None:
        """Set a gauge (TRITONSERVER_MetricSet).

        Raises TypeError for what is no number, and UnsupportedError for another kind.
        """
        self._native.set(_number(value))

    def observe(self, value: SupportsFloat) -> None:
        """Count a value in its bucket of a histogram (TRITONSERVER_MetricObserve, from C API 1.34).

        Raises TypeError for what is no number, and UnsupportedError for another kind.
        """
        self._native.observe(_number(value))

    def __reduce__(self) -> NoReturn:
        """A metric is one of a kind."""
        raise TypeError("a Metric cannot be copied or pickled")

    def __repr__(self) -> str:
        """Family and labels."""
        return f"Metric({self.family!r}, {self.labels!r})"


def _checked_labels(family: MetricFamily, labels: Mapping[str, str] | None) -> dict[str, str]:
    if labels is None:
        return {}
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels must be a dict of str to str or None, not {type(labels).__name__}")
    for name, value in labels.items():
        if not isinstance(name, str):
            raise TypeError(f"each name in labels must be a str, not {type(name).__name__}")
        if not isinstance(value, str):
            raise TypeError(f"labels[{name!r}] must be a str, not {type(value).__name__}")
        if _LABEL.fullmatch(name) is None or name == _RESERVED.get(family.kind):
            raise InvalidArgumentError(
                f"each name in labels must be of ASCII letters, digits and '_', no digit and no two '_' first, and of "
                f"a histogram not 'le', not {name!r}"
            )
    return dict(labels)


def _bucket_args(family: MetricFamily, buckets: Sequence[float] | None) -> _native.TRITONSERVER_MetricArgs | None:
    histogram = family.kind is MetricKind.HISTOGRAM
    if buckets is None:
        if histogram:
            raise InvalidArgumentError(f"buckets must be given for {family.name!r}, which is a histogram")
        return None
    if not histogram:
        raise InvalidArgumentError(f"buckets are for a histogram, and {family.name!r} is a {family.kind.name.lower()}")
    if isinstance(buckets, (str, bytes)) or not isinstance(buckets, Sequence):
        raise TypeError(f"buckets must be a sequence of numbers, not {type(buckets).__name__}")
    args = _native.TRITONSERVER_MetricArgs()
    args.set_histogram([_number(each, "each of buckets") for each in buckets])
    return args


def _number(value: object, argument: str = "value") -> float:
    if type(value) is float:
        return value
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{argument} must be a number, not {type(value).__name__}")
