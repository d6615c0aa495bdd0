"""TRITONSERVER_Metrics: what a server measures, as text."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer
from helpers_lifetime import run_script

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Kind = capi.TRITONSERVER_MetricKind
PROMETHEUS = capi.TRITONSERVER_MetricFormat.PROMETHEUS
NUMBERS = itertools.count()


def metric(kind: Any, name: str, *arguments: Any) -> capi.TRITONSERVER_Metric:
    family = capi.TRITONSERVER_MetricFamily(kind, name, "Of a test.")
    return capi.TRITONSERVER_Metric(family, [capi.TRITONSERVER_Parameter("label", "value")], *arguments)


def lines_of(server: ti.Server, name: str) -> list[str]:
    return [line for line in server.capi.metrics().formatted(PROMETHEUS).splitlines() if line.startswith(name)]


def test_the_text_holds_the_servers_metrics_and_ones_own(server: ti.Server) -> None:
    # Case 21.
    model = add_echo(server, name="case_21")
    for _ in range(3):
        answer(model, x=np.ones(2, np.float32))
    assert 'nv_inference_count{model="case_21",version="1"} 3' in server.metrics().splitlines()
    counter, gauge = metric(Kind.COUNTER, "case_21_counter"), metric(Kind.GAUGE, "case_21_gauge")
    counter.increment(2.5)
    gauge.set(-1)
    text = server.metrics()
    assert text == server.capi.metrics().formatted(PROMETHEUS)
    assert 'case_21_counter{label="value"} 2.5' in text.splitlines()
    assert 'case_21_gauge{label="value"} -1' in text.splitlines()
    if not capi.available("TRITONSERVER_MetricArgsNew"):
        with pytest.raises(ti.UnsupportedError, match=r"TRITONSERVER_MetricArgsNew.*1\.34"):
            capi.TRITONSERVER_MetricArgs()
        return
    args = capi.TRITONSERVER_MetricArgs()
    args.set_histogram([1, 2])
    histogram = metric(Kind.HISTOGRAM, "case_21_histogram", args)
    histogram.observe(1.5)
    lines = server.metrics().splitlines()
    assert 'case_21_histogram_count{label="value"} 1' in lines
    assert 'case_21_histogram_sum{label="value"} 1.5' in lines
    assert 'case_21_histogram_bucket{label="value",le="2"} 1' in lines


def test_a_text_is_of_its_moment(server: ti.Server) -> None:
    name = f"moment_{next(NUMBERS)}"
    metrics = server.capi.metrics()
    gauge = metric(Kind.GAUGE, name)
    for value in (1, 2, 3):
        gauge.set(value)
        assert f'{name}{{label="value"}} {value}' in metrics.formatted(PROMETHEUS).splitlines()
    del gauge
    assert f"{name}{{" not in metrics.formatted(PROMETHEUS)


@pytest.mark.parametrize("form", [None, "PROMETHEUS", 99, -1, 1 << 100, Kind.GAUGE, b""], ids=range(7))
def test_only_formats_are_formats(server: ti.Server, form: Any) -> None:
    with pytest.raises((TypeError, ti.TritonError)):
        server.capi.metrics().formatted(form)


def test_two_servers_of_a_process_report_the_same_metrics(start_server: StartServer) -> None:
    name = f"both_{next(NUMBERS)}"
    gauge = metric(Kind.GAUGE, name)
    gauge.set(7)
    one, two = start_server(), start_server()
    assert lines_of(one, name) == lines_of(two, name) == [f'{name}{{label="value"}} 7']
    one.stop()
    gauge.set(8)
    assert lines_of(two, name) == [f'{name}{{label="value"}} 8']


def test_metrics_outlive_their_server(start_server: StartServer) -> None:
    server = start_server()
    metrics = server.capi.metrics()
    server.stop()
    del server
    assert "# HELP" in metrics.formatted(PROMETHEUS)


def test_a_stopped_server_has_no_metrics(start_server: StartServer) -> None:
    server = start_server()
    handle = server.capi
    server.stop()
    with pytest.raises(ti.UnavailableError):
        handle.metrics()


def test_a_server_without_metrics_has_none() -> None:
    source = """
from triton_inprocess import capi
server = ti.Server(metrics=False).start()
print(repr(server.capi.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS)))
server.stop()
"""
    assert run_script(source).check().output.split() == ["''"]


def test_threads_may_share_metrics(server: ti.Server) -> None:
    family = capi.TRITONSERVER_MetricFamily(Kind.COUNTER, f"shared_{next(NUMBERS)}", "Shared.")
    kept = [capi.TRITONSERVER_Metric(family, [capi.TRITONSERVER_Parameter("n", str(i) * 20)]) for i in range(100)]
    metrics = server.capi.metrics()
    wrong: list[str] = []

    def read() -> None:
        for _ in range(100):
            text = metrics.formatted(PROMETHEUS)
            if not (text.startswith("# HELP") and text.endswith("\n")):
                wrong.append(text)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(kept) == 100


def test_metrics_need_no_server_and_survive_each() -> None:
    source = """
from triton_inprocess import capi
kind = capi.TRITONSERVER_MetricKind
gauge = capi.TRITONSERVER_Metric(capi.TRITONSERVER_MetricFamily(kind.GAUGE, "mine", "d"), [])
gauge.set(1)
assert gauge.value == 1
for value in (2, 3):
    server = ti.Server().start()
    gauge.set(value)
    assert f"mine {value}" in server.metrics().splitlines()
    server.stop()
    del server
    gc.collect()
    assert gauge.value == value
gauge.increment(1)
print(gauge.value)
"""
    assert run_script(source).check().output.split() == ["4.0"]
