"""TRITONSERVER_Metric: a metric of the user's own, its value, and its end."""

from __future__ import annotations

import functools
import itertools
import math
import sys
import threading
from typing import Any

import numpy as np
import pytest
from conftest import examples, run_python
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Family = capi.TRITONSERVER_MetricFamily
Metric = capi.TRITONSERVER_Metric
Parameter = capi.TRITONSERVER_Parameter
Kind = capi.TRITONSERVER_MetricKind

NUMBERS = itertools.count()
BUCKETS = [1.0, 2.0]


def family(kind: Any = Kind.COUNTER) -> capi.TRITONSERVER_MetricFamily:
    return Family(kind, f"metric_{next(NUMBERS)}", "Of a test.")


def labels(**texts: str) -> list[capi.TRITONSERVER_Parameter]:
    return [Parameter(name, text) for name, text in texts.items()]


def histogram() -> capi.TRITONSERVER_Metric | None:
    """A histogram; before C API 1.34 None, after a look at the error."""
    if not capi.available("TRITONSERVER_MetricArgsNew"):
        with pytest.raises(ti.UnsupportedError, match=r"TRITONSERVER_MetricArgsNew.*1\.34"):
            capi.TRITONSERVER_MetricArgs()
        return None
    args = capi.TRITONSERVER_MetricArgs()
    args.set_histogram(BUCKETS)
    return Metric(family(Kind.HISTOGRAM), [], args)


# -- values ------------------------------------------------------------------------------------------------------------


def test_a_counter_counts_up() -> None:
    counter = Metric(family(), [])
    assert (counter.value, counter.kind) == (0, Kind.COUNTER)
    for value in (1, 2.5, 0, True, np.float32(0.5), np.int64(2)):
        counter.increment(value)
    assert counter.value == 7
    assert type(counter.value) is float


@pytest.mark.parametrize("value", [-1, -0.001, -math.inf])
def test_a_counter_does_not_count_down(value: float) -> None:
    counter = Metric(family(), [])
    counter.increment(5)
    with pytest.raises(ti.InvalidArgumentError, match="monoton"):
        counter.increment(value)
    assert counter.value == 5


def test_a_gauge_goes_up_and_down() -> None:
    gauge = Metric(family(Kind.GAUGE), [])
    assert (gauge.value, gauge.kind) == (0, Kind.GAUGE)
    gauge.set(5)
    gauge.increment(-7.5)
    assert gauge.value == -2.5
    gauge.set_value(3)
    assert gauge.value == 3


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e308, 5e-324, -1e308, 0.1, 1 << 53])
def test_a_gauge_holds_any_number(value: float) -> None:
    gauge = Metric(family(Kind.GAUGE), [])
    gauge.set(value)
    assert gauge.value == value


def test_a_gauge_holds_what_is_no_number() -> None:
    gauge = Metric(family(Kind.GAUGE), [])
    gauge.set(math.nan)
    assert math.isnan(gauge.value)
    gauge.set(1)
    assert gauge.value == 1
    gauge.set(math.inf)
    gauge.increment(-math.inf)
    assert math.isnan(gauge.value)


def test_a_counter_can_reach_infinity() -> None:
    counter = Metric(family(), [])
    counter.increment(math.inf)
    counter.increment(1)
    assert counter.value == math.inf


def test_a_counter_cannot_be_set_or_observed() -> None:
    counter = Metric(family(), [])
    for change in (counter.set, counter.set_value, counter.observe):
        with pytest.raises(ti.UnsupportedError):
            change(1)
    assert counter.value == 0


def test_a_gauge_cannot_be_observed() -> None:
    gauge = Metric(family(Kind.GAUGE), [])
    with pytest.raises(ti.UnsupportedError):
        gauge.observe(1)
    assert gauge.value == 0


def test_a_histogram_can_only_be_observed() -> None:
    metric = histogram()
    if metric is None:
        return
    assert metric.kind is Kind.HISTOGRAM
    metric.observe(1.5)
    for change in (metric.increment, metric.set, metric.set_value):
        with pytest.raises(ti.UnsupportedError):
            change(1)
    with pytest.raises(ti.UnsupportedError):
        _ = metric.value


class Unruly:
    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __index__(self) -> int:
        raise RuntimeError("no number")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("value", [None, "1", b"1", [], 1j, 10**400, Unruly(), object()], ids=range(8))
def test_what_is_no_number_changes_nothing(value: Any) -> None:
    gauge = Metric(family(Kind.GAUGE), [])
    for change in (gauge.increment, gauge.set, gauge.set_value, gauge.observe):
        with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError)):
            change(value)
    assert gauge.value == 0


@pytest.mark.parametrize("name", ["value", "kind"])
def test_properties_cannot_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Metric(family(), []), name, 1)


# -- labels ------------------------------------------------------------------------------------------------------------


def test_metrics_with_the_same_labels_share_their_value() -> None:
    owner = family()
    one = Metric(owner, labels(a="1", b="2"))
    same, turned, other = (
        Metric(owner, labels(a="1", b="2")),
        Metric(owner, labels(b="2", a="1")),
        Metric(owner, labels(a="2", b="1")),
    )
    one.increment(2)
    assert (same.value, turned.value, other.value) == (2, 2, 0)
    del one, same
    assert turned.value == 2
    turned.increment(1)
    assert Metric(owner, labels(a="1", b="2")).value == 3


def test_the_last_of_them_takes_the_value_along() -> None:
    owner = family()
    Metric(owner, labels(a="1")).increment(5)
    assert Metric(owner, labels(a="1")).value == 0


def test_no_labels_are_labels_too() -> None:
    owner = family()
    one, two, labelled = Metric(owner, []), Metric(owner, ()), Metric(owner, labels(a=""))
    one.increment(1)
    assert (two.value, labelled.value) == (1, 0)


@pytest.mark.parametrize("name", ["", "1a", "a b", "a-b", "a:b", "é", "__a"], ids=ascii)
def test_a_label_name_that_is_not_allowed_is_refused(name: str) -> None:
    with pytest.raises(ti.InvalidArgumentError):
        Metric(family(), [Parameter(name, "value")])


@pytest.mark.parametrize("text", ["", "é日本🙂", 'quoted "\\ \n text', "x" * 1_000_000], ids=range(4))
def test_any_text_is_a_label(server: ti.Server, text: str) -> None:
    metric = Metric(family(), [Parameter("label", text)])
    metric.increment(1)
    assert metric.value == 1
    assert "metric_" in server.metrics()


def test_many_labels() -> None:
    owner = family()
    texts = {f"label_{i}": str(i) for i in range(1000)}
    one, two = Metric(owner, labels(**texts)), Metric(owner, labels(**texts))
    one.increment(1)
    assert two.value == 1


def test_a_label_given_twice_is_one_or_refused() -> None:
    owner = family()
    try:
        metric = Metric(owner, [Parameter("a", "1"), Parameter("a", "2")])
    except ti.InvalidArgumentError:
        return
    metric.increment(1)
    assert sorted([Metric(owner, labels(a="1")).value, Metric(owner, labels(a="2")).value]) == [0, 1]


@pytest.mark.parametrize(
    "given", [None, [None], ["a"], [("a", "b")], {"a": "b"}, "ab", 3, object(), [1, 2], [[]]], ids=range(10)
)
def test_only_parameters_are_labels(given: Any) -> None:
    with pytest.raises(TypeError):
        Metric(family(), given)


@pytest.mark.parametrize("owner", [None, "family", 1, Kind.COUNTER, object()], ids=range(5))
def test_only_a_family_has_metrics(owner: Any) -> None:
    with pytest.raises(TypeError):
        Metric(owner, [])


def test_a_refused_metric_harms_nobody() -> None:
    owner = family()
    metric = Metric(owner, labels(a="1"))
    for _ in range(50):
        with pytest.raises(ti.InvalidArgumentError):
            Metric(owner, [Parameter("a", 1)])
        with pytest.raises(ti.InvalidArgumentError):
            Metric(owner, [Parameter("a", "1"), Parameter("b-", "1")])
    metric.increment(1)
    assert metric.value == 1


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_labels_and_family_are_let_go() -> None:
    owner, label = family(), Parameter("a", "1")
    counts = sys.getrefcount(owner), sys.getrefcount(label)
    for _ in range(100):
        Metric(owner, [label]).increment(1)
    assert (sys.getrefcount(owner), sys.getrefcount(label)) == counts


def test_every_order_of_deletion() -> None:
    for order in itertools.permutations(["family", "label", "one", "two", "same"]):
        owned: dict[str, Any] = {"family": family(), "label": Parameter("a", "1")}
        owned["one"] = Metric(owned["family"], [owned["label"]])
        owned["same"] = Metric(owned["family"], [owned["label"]])
        owned["two"] = Metric(owned["family"], [])
        owned["one"].increment(3)
        owned["two"].increment(4)
        for name in order:
            del owned[name]
            for key, value in (("one", 3), ("same", 3), ("two", 4)):
                if key in owned:
                    assert owned[key].value == value, order


def test_metrics_left_over_do_not_disturb_the_end_of_the_process() -> None:
    result = run_python("""
    import threading
    from triton_inprocess import capi
    import triton_inprocess as ti
    family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.COUNTER, "x", "d")
    metric = capi.TRITONSERVER_Metric(family, [])
    server = ti.Server().start()
    metrics = server.capi.metrics()
    class Last:
        def __init__(self): self.kept = metric
        def __del__(self): self.kept.increment(1); assert self.kept.value == 1
    last = Last()
    """)
    assert result.returncode == 0, result.stderr
    assert "Exception ignored" not in result.stderr


def test_threads_may_share_a_metric() -> None:
    counter = Metric(family(), [])
    owner = family()

    def work() -> None:
        for _ in range(500):
            counter.increment(1)
            Metric(owner, labels(a="1")).increment(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 2000


# -- any order of anything ---------------------------------------------------------------------------------------------


@functools.cache
def report() -> capi.TRITONSERVER_Metrics:
    """What shows the metrics of the process; the server that made it is gone."""
    server = ti.Server().start()
    metrics = server.capi.metrics()
    server.stop()
    return metrics


def reported(name: str) -> dict[str, float]:
    lines = report().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS).splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith((f"{name} ", f"{name}{{", f"{name}_")))
    return {left: float(right) for left, right in pairs}


class Handle:
    """A metric, and whose value it shows."""

    def __init__(self, box: list[capi.TRITONSERVER_Metric], key: tuple[str, str]) -> None:
        self.box = box
        self.key = key

    @property
    def metric(self) -> capi.TRITONSERVER_Metric:
        return self.box[0]


AMOUNTS = st.integers(-4000, 4000).map(lambda number: number / 4)  # their sums are exact
KINDS = {"machine_counter": Kind.COUNTER, "machine_gauge": Kind.GAUGE, "machine_histogram": Kind.HISTOGRAM}


class Metrics(RuleBasedStateMachine):
    """Families and metrics made, used and dropped in any order, against what their values must be."""

    families = Bundle("families")
    metrics = Bundle("metrics")

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[tuple[str, str], list[float]] = {}  # what was added to or observed by each
        self.users: dict[tuple[str, str], int] = {}
        self.living: dict[str, int] = {}  # family objects and metrics of each name
        self.boxes: list[list[Any]] = []  # of every family and metric, to empty at the end

    @rule(target=families, name=st.sampled_from(sorted(KINDS)))
    def make_family(self, name: str) -> tuple[str, list[Any]]:
        if KINDS[name] is Kind.HISTOGRAM and not capi.available("TRITONSERVER_MetricArgsNew"):
            name = "machine_gauge"
        box = [Family(KINDS[name], name, "The same.")]
        self.boxes.append(box)
        self.living[name] = self.living.get(name, 0) + 1
        return name, box

    @rule(name=st.sampled_from(sorted(KINDS)))
    def another_description_or_kind(self, name: str) -> None:
        if self.living.get(name):
            with pytest.raises(ti.InvalidArgumentError):
                Family(KINDS[name], name, "Another.")
            with pytest.raises(ti.InvalidArgumentError):
                Family(Kind.GAUGE if KINDS[name] is Kind.COUNTER else Kind.COUNTER, name, "The same.")

    @rule(owner=consumes(families))
    def drop_family(self, owner: tuple[str, list[Any]]) -> None:
        name, box = owner
        box.clear()
        self.living[name] -= 1

    @rule(target=metrics, owner=families, label=st.sampled_from(["", "a", "b"]))
    def make_metric(self, owner: tuple[str, list[Any]], label: str) -> Handle:
        name, (made,) = owner
        arguments = []
        if KINDS[name] is Kind.HISTOGRAM:
            arguments = [capi.TRITONSERVER_MetricArgs()]
            arguments[0].set_histogram(BUCKETS)
        key = name, label
        metric = Metric(made, labels(label=label) if label else [], *arguments)
        self.users[key] = self.users.get(key, 0) + 1
        self.living[name] += 1
        self.values.setdefault(key, [])
        handle = Handle([metric], key)
        self.boxes.append(handle.box)
        return handle

    @rule(handle=consumes(metrics))
    def drop_metric(self, handle: Handle) -> None:
        handle.box.clear()
        self.living[handle.key[0]] -= 1
        self.users[handle.key] -= 1
        if not self.users[handle.key]:
            del self.values[handle.key], self.users[handle.key]

    @rule(handle=metrics, amount=AMOUNTS)
    def increment(self, handle: Handle, amount: float) -> None:
        kind = KINDS[handle.key[0]]
        if kind is Kind.HISTOGRAM or (kind is Kind.COUNTER and amount < 0):
            with pytest.raises(ti.TritonError):
                handle.metric.increment(amount)
        else:
            handle.metric.increment(amount)
            self.values[handle.key].append(amount)

    @rule(handle=metrics, amount=AMOUNTS)
    def set(self, handle: Handle, amount: float) -> None:
        if KINDS[handle.key[0]] is Kind.GAUGE:
            handle.metric.set(amount)
            self.values[handle.key] = [amount]
        else:
            with pytest.raises(ti.UnsupportedError):
                handle.metric.set(amount)

    @rule(handle=metrics, amount=AMOUNTS)
    def observe(self, handle: Handle, amount: float) -> None:
        if KINDS[handle.key[0]] is Kind.HISTOGRAM:
            handle.metric.observe(amount)
            self.values[handle.key].append(amount)
        else:
            with pytest.raises(ti.UnsupportedError):
                handle.metric.observe(amount)

    @rule(handle=metrics)
    def read(self, handle: Handle) -> None:
        assert handle.metric.kind is KINDS[handle.key[0]]
        if KINDS[handle.key[0]] is Kind.HISTOGRAM:
            with pytest.raises(ti.UnsupportedError):
                _ = handle.metric.value
        else:
            assert handle.metric.value == sum(self.values[handle.key])

    @invariant()
    def what_is_reported_is_what_lives(self) -> None:
        expected: dict[str, float] = {}
        for (name, label), values in self.values.items():
            inner = f'label="{label}"' if label else ""
            braces = f"{{{inner}}}" if inner else ""
            if KINDS[name] is not Kind.HISTOGRAM:
                expected[name + braces] = sum(values)
                continue
            expected[f"{name}_count{braces}"] = len(values)
            expected[f"{name}_sum{braces}"] = sum(values)
            for bound, text in ((1.0, "1"), (2.0, "2"), (math.inf, "+Inf")):
                key = name + "_bucket{" + (inner + "," if inner else "") + f'le="{text}"}}'
                expected[key] = sum(value <= bound for value in values)
        assert {key: value for name in KINDS for key, value in reported(name).items()} == expected

    def teardown(self) -> None:
        # The next machine uses the same names.
        for box in self.boxes:
            box.clear()


TestAnyOrder = Metrics.TestCase
TestAnyOrder.settings = examples(60, stateful_step_count=40)
