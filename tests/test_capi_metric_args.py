"""TRITONSERVER_MetricArgs: the buckets of a histogram, from C API 1.34."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Kind = capi.TRITONSERVER_MetricKind
NUMBERS = itertools.count()
INFINITY = float("inf")


def args_or_refusal() -> capi.TRITONSERVER_MetricArgs | None:
    """Arguments; before C API 1.34 None, after a look at the error."""
    if capi.available("TRITONSERVER_MetricArgsNew"):
        return capi.TRITONSERVER_MetricArgs()
    with pytest.raises(ti.UnsupportedError, match=r"TRITONSERVER_MetricArgsNew.*1\.34"):
        capi.TRITONSERVER_MetricArgs()
    return None


def histogram(args: capi.TRITONSERVER_MetricArgs, name: str = "") -> capi.TRITONSERVER_Metric:
    family = capi.TRITONSERVER_MetricFamily(Kind.HISTOGRAM, name or f"args_{next(NUMBERS)}", "")
    return capi.TRITONSERVER_Metric(family, [], args)


def buckets_of(server: ti.Server, name: str) -> list[str]:
    text = server.capi.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS)
    return [line.removeprefix(f"{name}_bucket") for line in text.splitlines() if line.startswith(f"{name}_bucket")]


def test_buckets_are_reported_with_one_that_has_no_bound(server: ti.Server) -> None:
    args = args_or_refusal()
    if args is None:
        return
    args.set_histogram([0.5, 1, 2.5])
    name = f"args_{next(NUMBERS)}"
    metric = histogram(args, name)
    for value in (0.5, 0.6, 2, 100):
        metric.observe(value)
    assert buckets_of(server, name) == ['{le="0.5"} 1', '{le="1"} 2', '{le="2.5"} 3', '{le="+Inf"} 4']


GOOD: list[Any] = [
    [],
    [1.0],
    (1, 2),
    range(1000),
    [-2, -1, 0],
    [True],
    [5e-324, 1e308],
    [-INFINITY, 0, INFINITY],
    [float(i) for i in range(100_000)],
]


@pytest.mark.parametrize("buckets", GOOD, ids=range(len(GOOD)))
def test_buckets_that_ascend(buckets: Any) -> None:
    args = args_or_refusal()
    if args is None:
        return
    args.set_histogram(buckets)
    metric = histogram(args)
    del args
    for value in (0, -1, 1.5, 1e308, INFINITY, -INFINITY, float("nan")):
        metric.observe(value)


@pytest.mark.parametrize(
    "buckets", [[1, 1], [2, 1], [0.0, -0.0], [float("nan")], [1, float("nan")], [float("nan"), 1], [INFINITY, INFINITY]]
)
def test_buckets_that_do_not_ascend(buckets: list[float]) -> None:
    args = args_or_refusal()
    if args is None:
        return
    with pytest.raises(ti.InvalidArgumentError, match="ascend"):
        args.set_histogram(buckets)
    args.set_histogram([1, 2])
    histogram(args).observe(1)


class Unruly:
    def __float__(self) -> float:
        raise RuntimeError("no number")


@pytest.mark.parametrize(
    "buckets",
    [None, 3, "12", b"\1\2", ["1"], [None], [10**400], [[1]], [1j], [Unruly()], {1: 2}, object()],
    ids=range(12),
)
def test_what_is_no_list_of_numbers(buckets: Any) -> None:
    args = args_or_refusal()
    if args is None:
        return
    with pytest.raises((TypeError, ValueError, OverflowError)):
        args.set_histogram(buckets)


def test_arguments_serve_several_metrics_and_change_none_afterwards(server: ti.Server) -> None:
    args = args_or_refusal()
    if args is None:
        return
    names = [f"args_{next(NUMBERS)}" for _ in range(2)]
    args.set_histogram([1])
    metrics = [histogram(args, names[0])]
    args.set_histogram([5, 6])
    metrics.append(histogram(args, names[1]))
    del args
    assert buckets_of(server, names[0]) == ['{le="1"} 0', '{le="+Inf"} 0']
    assert buckets_of(server, names[1]) == ['{le="5"} 0', '{le="6"} 0', '{le="+Inf"} 0']


def test_a_histogram_needs_buckets() -> None:
    args = args_or_refusal()
    if args is None:
        return
    family = capi.TRITONSERVER_MetricFamily(Kind.HISTOGRAM, f"args_{next(NUMBERS)}", "")
    for arguments in ((), (None,), (args,)):
        with pytest.raises(ti.InvalidArgumentError):
            capi.TRITONSERVER_Metric(family, [], *arguments)


@pytest.mark.parametrize("kind", [Kind.COUNTER, Kind.GAUGE])
def test_only_a_histogram_takes_arguments(kind: Any) -> None:
    args = args_or_refusal()
    if args is None:
        return
    family = capi.TRITONSERVER_MetricFamily(kind, f"args_{next(NUMBERS)}", "")
    for _ in range(2):
        with pytest.raises(ti.InvalidArgumentError):
            capi.TRITONSERVER_Metric(family, [], args)
        args.set_histogram([1])


@pytest.mark.parametrize("args", [1, "args", [1.0], object()], ids=range(4))
def test_only_arguments_are_arguments(args: Any) -> None:
    family = capi.TRITONSERVER_MetricFamily(Kind.COUNTER, f"args_{next(NUMBERS)}", "")
    with pytest.raises(TypeError):
        capi.TRITONSERVER_Metric(family, [], args)
