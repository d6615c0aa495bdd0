"""Metrics of one's own, at the high level: MetricFamily and Metric."""

from __future__ import annotations

import copy
import gc
import itertools
import math
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from conftest import if_supported

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

NUMBERS = itertools.count()
HISTOGRAM = "TRITONSERVER_MetricArgsNew"


def family(kind: ti.MetricKind = ti.MetricKind.COUNTER) -> ti.MetricFamily:
    return ti.MetricFamily(kind, f"high_level_{next(NUMBERS)}", "Of a test.")


def test_a_counter_is_reported(server: ti.Server) -> None:
    name = f"high_level_{next(NUMBERS)}"
    metric = ti.Metric(ti.MetricFamily(ti.MetricKind.COUNTER, name, "Served."), {"site": 'n"\\\north'})
    metric.increment(1)
    metric.increment(value=2.5)
    assert metric.value == 3.5
    assert type(metric.value) is float
    reported = server.metrics(parsed=True)[name]
    assert (reported.kind, reported.help) == ("counter", "Served.")
    assert reported.value(site='n"\\\north') == 3.5
    del metric
    assert name not in server.metrics(parsed=True)


def test_a_gauge_can_be_set() -> None:
    gauge = ti.Metric(family(ti.MetricKind.GAUGE))
    gauge.set_value(np.float32(0.5))
    gauge.increment(-2)
    assert gauge.value == -1.5
    gauge.set_value(math.inf)
    assert gauge.value == math.inf


def test_a_histogram_has_buckets(server: ti.Server) -> None:
    with if_supported(HISTOGRAM):
        owner = family(ti.MetricKind.HISTOGRAM)
        histogram = ti.Metric(owner, {"site": "north"}, buckets=[1, 2.5])
        for value in (0.5, 2, 2.5, 100):
            histogram.observe(value)
        (reported,) = server.metrics(parsed=True)[owner.name].histograms
        assert dict(reported.labels) == {"site": "north"}
        assert reported.buckets == ((1, 1), (2.5, 3), (math.inf, 4))
        assert (reported.count, reported.sum) == (4, 105)
        with pytest.raises(ti.UnsupportedError):
            _ = histogram.value
        with pytest.raises(ti.UnsupportedError):
            histogram.set_value(1)


def test_each_kind_refuses_what_is_not_its_own() -> None:
    counter, gauge = ti.Metric(family()), ti.Metric(family(ti.MetricKind.GAUGE))
    with pytest.raises(ti.UnsupportedError):
        counter.set_value(1)
    with pytest.raises(ti.UnsupportedError):
        gauge.observe(1)
    with pytest.raises(ti.InvalidArgumentError):
        counter.increment(-1)
    assert (counter.value, gauge.value) == (0, 0)


def test_attributes() -> None:
    owner = ti.MetricFamily(ti.MetricKind.GAUGE, "attributes_of_mine", "What it means.")
    metric = ti.Metric(owner, {"a": "b"})
    assert (owner.kind, owner.name, owner.description) == (
        ti.MetricKind.GAUGE,
        "attributes_of_mine",
        "What it means.",
    )
    assert (metric.kind, metric.family, metric.labels) == (ti.MetricKind.GAUGE, owner, {"a": "b"})
    assert repr(owner) == "MetricFamily(MetricKind.GAUGE, 'attributes_of_mine', 'What it means.')"
    assert repr(metric) == f"Metric({owner!r}, {{'a': 'b'}})"


def test_metrics_of_the_same_labels_are_one() -> None:
    owner = family()
    first, second, other = (ti.Metric(owner, {"a": each}) for each in "xxy")
    first.increment(1)
    assert (second.value, other.value) == (1, 0)
    del first
    second.increment(1)
    assert second.value == 2


def test_a_family_serves_the_c_api_too() -> None:
    owner = family()
    ti.Metric(owner).increment(1)
    mine = ti.Metric(owner)
    theirs = capi.TRITONSERVER_Metric(owner, [])
    theirs.increment(2)
    assert mine.value == 2  # the first was dropped, and its value with it


def test_every_order_of_deletion(server: ti.Server) -> None:
    for order in itertools.permutations(range(3)):
        owner = family()
        names: list[Any] = [owner, ti.Metric(owner, {"a": "x"}), ti.Metric(owner, {"a": "y"})]
        name = owner.name
        del owner
        for index in order:
            names[index] = None
            for metric in names[1:]:
                if metric is not None:
                    metric.increment(1)
                    assert name in server.metrics(parsed=True)
        assert name not in server.metrics(parsed=True)


def test_a_cycle_through_a_family_is_collected() -> None:
    owner: Any = family()
    owner.myself = owner
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_can_be_copied(duplicate: Any) -> None:
    for each in (family(), ti.Metric(family())):
        with pytest.raises(TypeError):
            duplicate(each)


KIND = ti.MetricKind.COUNTER


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, "n", "d"), TypeError, "kind must be a MetricKind, not int"),
        (("COUNTER", "n", "d"), TypeError, "kind must be a MetricKind, not str"),
        ((KIND, 1, "d"), TypeError, "name must be a str, not int"),
        ((KIND, "n", None), TypeError, "description must be a str, not NoneType"),
        ((KIND, "", "d"), ti.InvalidArgumentError, "name must be of ASCII.* not ''"),
        ((KIND, "1n", "d"), ti.InvalidArgumentError, "not '1n'"),
        ((KIND, "a-b", "d"), ti.InvalidArgumentError, "not 'a-b'"),
        ((KIND, "n\0", "d"), ti.InvalidArgumentError, "name must be of ASCII"),
        ((KIND, "nv_n", "d"), ti.InvalidArgumentError, "nv_"),
        ((KIND, "n", "a\0b"), ValueError, "description"),
        ((KIND, "n", "a\nb"), ti.InvalidArgumentError, "description must be one line, not 'a"),
    ],
)
def test_wrong_arguments_of_a_family(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ti.MetricFamily(*arguments)


LABELS = [
    (["a"], TypeError, "labels must be a dict of str to str or None, not list"),
    ({1: "a"}, TypeError, "each name in labels must be a str, not int"),
    ({"a": 1}, TypeError, r"labels\['a'\] must be a str, not int"),
    ({"a-b": "x"}, ti.InvalidArgumentError, "not 'a-b'"),
    ({"": "x"}, ti.InvalidArgumentError, "not ''"),
    ({"__a": "x"}, ti.InvalidArgumentError, "not '__a'"),
    ({"a\n": "x"}, ti.InvalidArgumentError, "each name in labels"),
]


@pytest.mark.parametrize(("labels", "error", "message"), LABELS)
def test_wrong_labels(labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ti.Metric(family(), labels)


@pytest.mark.parametrize("owner", [None, "family", capi.TRITONSERVER_MetricFamily])
def test_only_a_family_has_metrics(owner: Any) -> None:
    with pytest.raises(TypeError, match="family must be a MetricFamily, not"):
        ti.Metric(owner)


def test_wrong_buckets() -> None:
    with pytest.raises(ti.InvalidArgumentError, match=r"buckets are for a histogram, and 'high_level_.*' is a counter"):
        ti.Metric(family(), buckets=[1.0])
    with if_supported(HISTOGRAM):
        owner = family(ti.MetricKind.HISTOGRAM)
        wrong: list[tuple[Any, type[Exception], str]] = [
            (None, ti.InvalidArgumentError, "buckets must be given"),
            (1.0, TypeError, "buckets must be a sequence of numbers, not float"),
            ("12", TypeError, "buckets must be a sequence of numbers, not str"),
            ([1, "2"], TypeError, "each of buckets must be a number, not str"),
            ([2, 1], ti.InvalidArgumentError, "buckets must ascend"),
            ([math.nan], ti.InvalidArgumentError, "buckets must ascend"),
        ]
        for buckets, error, message in wrong:
            with pytest.raises(error, match=message):
                ti.Metric(owner, buckets=buckets)
        with pytest.raises(ti.InvalidArgumentError, match="not 'le'"):
            ti.Metric(owner, {"le": "1"}, buckets=[1])


@pytest.mark.parametrize("value", [None, "1", [1], 1j])
def test_only_numbers_are_values(value: Any) -> None:
    metric = ti.Metric(family(ti.MetricKind.GAUGE))
    for change in (metric.increment, metric.set_value, metric.observe):
        with pytest.raises(TypeError, match=f"value must be a number, not {type(value).__name__}"):
            change(value)
    assert metric.value == 0
