"""TRITONSERVER_MetricFamily: the user's own metrics of one name."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from typing import Any

import pytest
from conftest import run_python

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Family = capi.TRITONSERVER_MetricFamily
Metric = capi.TRITONSERVER_Metric
Parameter = capi.TRITONSERVER_Parameter
Kind = capi.TRITONSERVER_MetricKind

NUMBERS = itertools.count()


def fresh() -> str:
    """A name that no family of this process has: a library never forgets the kind of a name."""
    return f"family_{next(NUMBERS)}"


def formatted(server: ti.Server) -> list[str]:
    return server.capi.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS).splitlines()


@pytest.mark.parametrize("kind", [Kind.COUNTER, Kind.GAUGE])
def test_a_family_is_reported_with_its_kind_and_description(server: ti.Server, kind: Any) -> None:
    name = fresh()
    family = Family(kind, name, "What it means.")
    metric = Metric(family, [])
    lines = formatted(server)
    assert f"# HELP {name} What it means." in lines
    assert f"# TYPE {name} {kind.name.lower()}" in lines
    assert f"{name} 0" in lines
    assert metric.kind is kind


@pytest.mark.parametrize("kind", [Kind.COUNTER, Kind.GAUGE])
def test_the_kind_can_be_read_where_the_library_tells_it(kind: Any) -> None:
    family = Family(kind, fresh(), "")
    if capi.available("TRITONSERVER_GetMetricFamilyKind"):
        assert family.kind is kind
    else:
        with pytest.raises(ti.UnsupportedError, match="TRITONSERVER_GetMetricFamilyKind"):
            _ = family.kind


def test_histograms_are_there_where_the_library_has_them() -> None:
    if capi.available("TRITONSERVER_MetricArgsNew"):
        assert Family(Kind.HISTOGRAM, fresh(), "").kind is Kind.HISTOGRAM
    else:
        with pytest.raises((ti.UnsupportedError, ti.InvalidArgumentError)):
            Family(Kind.HISTOGRAM, fresh(), "")


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", "a-b", "a.b", "é", " a", "a ", "a\n", "a\0b", "__reserved", "nv_mine", "nv_"], ids=ascii
)
def test_a_name_that_is_not_allowed_is_refused(name: str) -> None:
    with pytest.raises(ti.InvalidArgumentError):
        Family(Kind.COUNTER, name, "")


@pytest.mark.parametrize("name", ["a:b", "A_1", "_a", "x" * 10_000, "nvidia"], ids=range(5))
def test_any_allowed_name(name: str) -> None:
    assert Metric(Family(Kind.COUNTER, name, ""), []).value == 0


@pytest.mark.parametrize(
    "description", ["", "é日本", "two\nlines", 'a "quoted" \\ text', "x" * 1_000_000], ids=range(5)
)
def test_any_description(server: ti.Server, description: str) -> None:
    name = fresh()
    metric = Metric(Family(Kind.GAUGE, name, description), [])
    lines = formatted(server)
    assert sum(line.startswith(f"# HELP {name}") for line in lines) == (1 if description else 0)
    assert f"{name} 0" in lines
    del metric


WRONG: list[tuple[Any, ...]] = [
    (None, "a", "b"),
    ("COUNTER", "a", "b"),
    (99, "a", "b"),
    (-1, "a", "b"),
    (1 << 100, "a", "b"),
    (capi.TRITONSERVER_LogLevel.INFO, "a", "b"),
    (Kind.COUNTER, None, "b"),
    (Kind.COUNTER, b"a", "b"),
    (Kind.COUNTER, 1, "b"),
    (Kind.COUNTER, "\ud800", "b"),
    (Kind.COUNTER, "a", None),
    (Kind.COUNTER, "a", b"b"),
    (Kind.COUNTER, "a", "\ud800"),
    (Kind.COUNTER, "a", "b\0c"),
    (Kind.COUNTER, "a"),
    (Kind.COUNTER, "a", "b", "c"),
    (),
]


@pytest.mark.parametrize("arguments", WRONG, ids=range(len(WRONG)))
def test_wrong_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Family(*arguments)


def test_families_of_one_name_kind_and_description_are_one() -> None:
    name = fresh()
    one, two = Family(Kind.COUNTER, name, "same"), Family(Kind.COUNTER, name, "same")
    first, second = Metric(one, []), Metric(two, [])
    first.increment(3)
    assert second.value == 3
    del first, one
    assert second.value == 3
    second.increment(1)
    others = [Metric(two, [Parameter("label", str(i))]) for i in range(100)]
    assert second.value == 4
    assert all(other.value == 0 for other in others)


def test_another_description_is_refused_while_the_family_lives() -> None:
    name = fresh()
    family = Family(Kind.COUNTER, name, "one")
    with pytest.raises(ti.InvalidArgumentError, match=name):
        Family(Kind.COUNTER, name, "other")
    assert Metric(family, []).value == 0


def test_another_kind_is_refused() -> None:
    name = fresh()
    family = Family(Kind.COUNTER, name, "one")
    with pytest.raises(ti.InvalidArgumentError):
        Family(Kind.GAUGE, name, "one")
    del family
    with pytest.raises(ti.InvalidArgumentError):  # a library never forgets the kind of a name
        Family(Kind.GAUGE, name, "one")


def test_a_refused_family_leaves_the_name_free() -> None:
    name = fresh()
    with pytest.raises(TypeError):
        Family(99, name, "one")  # type: ignore[arg-type]
    assert Metric(Family(Kind.GAUGE, name, "one"), []).kind is Kind.GAUGE


def test_a_family_may_come_and_go() -> None:
    name = fresh()
    for i in range(200):
        metric = Metric(Family(Kind.COUNTER, name, "same"), [])
        assert metric.value == 0, i
        metric.increment(1)
        assert metric.value == 1
        del metric


def test_a_family_lives_as_long_as_its_metrics() -> None:
    family = Family(Kind.GAUGE, fresh(), "")
    metrics = [Metric(family, [Parameter("label", str(i))]) for i in range(10)]
    del family
    for i, metric in enumerate(metrics):
        metric.set(i)
    assert [metric.value for metric in metrics] == list(range(10))


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_family_cannot_be_copied(duplicate: Any) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        duplicate(Family(Kind.COUNTER, fresh(), ""))


@pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
def test_a_family_is_initialised_once() -> None:
    class Lazy(Family):
        def __init__(self) -> None:
            pass

    with pytest.raises(TypeError):
        Metric(Lazy(), [])
    family = Family(Kind.COUNTER, fresh(), "")
    with pytest.raises(TypeError):
        family.__init__(Kind.COUNTER, fresh(), "")  # type: ignore[misc]
    assert Metric(family, []).value == 0


def test_threads_may_make_and_drop_one_family() -> None:
    name = fresh()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(200):
                metric = Metric(Family(Kind.GAUGE, name, "shared"), [Parameter("thread", str(number))])
                metric.set(number)
                assert metric.value == number
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_no_order_of_ends_ends_the_process() -> None:
    program = """
    import itertools
    from triton_inprocess import capi
    kind = capi.TRITONSERVER_MetricKind.COUNTER
    names = ("one", "two", "first", "second", "alike")
    for number, order in enumerate(itertools.permutations(names)):
        own = {"one": capi.TRITONSERVER_MetricFamily(kind, "x", "d")}
        own["two"] = capi.TRITONSERVER_MetricFamily(kind, "x", "d")
        label = [capi.TRITONSERVER_Parameter("label", "value")]
        own["first"] = capi.TRITONSERVER_Metric(own["one"], label)
        own["second"] = capi.TRITONSERVER_Metric(own["two"], label)
        own["alike"] = capi.TRITONSERVER_Metric(own["one"], label)
        own["first"].increment(2)
        for name in order:
            del own[name]
            for key in own.keys() & {"first", "second", "alike"}:
                assert own[key].value == 2, (order, key)
    keep = capi.TRITONSERVER_Metric(capi.TRITONSERVER_MetricFamily(kind, "kept", "until the end"), [])
    print("done")
    """
    result = run_python(program)
    assert (result.returncode, result.stdout.strip()) == (0, "done"), result.stderr
