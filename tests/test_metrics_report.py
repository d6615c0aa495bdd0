"""The report of a server's metrics as objects."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, examples, lacks
from hypothesis import given
from hypothesis import strategies as st

import triton_inprocess as ti
from triton_inprocess import _prometheus, capi

ONE = np.ones(1, np.float32)


def test_triton_s_own_metrics_are_there(server: ti.Server) -> None:
    model = add_echo(server)
    for _ in range(3):
        answer(model, x=ONE)
    report = server.metrics(parsed=True)
    family = report["nv_inference_request_success"]
    assert family.name == "nv_inference_request_success"
    assert (family.kind, type(family.help)) == ("counter", str)
    assert family.help
    assert family.value(model="echo") == 3
    (sample,) = (sample for sample in family.samples if sample.labels["model"] == "echo")
    assert (sample.name, sample.labels["version"], sample.value, sample.timestamp_ms) == (family.name, "1", 3, None)


def test_the_report_has_every_line_of_the_text(server: ti.Server) -> None:
    add_echo(server)
    text = server.metrics()
    report = server.metrics(parsed=True)
    assert isinstance(text, str)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) == sum(len(family.samples) for family in report.values()) > 3
    assert [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")] == list(report)


def test_the_text_stays_the_default(server: ti.Server) -> None:
    assert isinstance(server.metrics(), str)
    assert isinstance(server.metrics(ti.MetricFormat.PROMETHEUS, False), str)
    assert isinstance(server.metrics(ti.MetricFormat.PROMETHEUS, True), ti.MetricsReport)


@pytest.mark.parametrize("parsed", [None, 1, "yes"])
def test_parsed_is_a_bool(server: ti.Server, parsed: Any) -> None:
    with pytest.raises(TypeError, match=f"parsed must be a bool, not {type(parsed).__name__}"):
        server.metrics(parsed=parsed)


def test_without_metrics_there_is_no_report(start_server: StartServer) -> None:
    with pytest.raises(ti.UnavailableError, match="metrics=False"):
        start_server(metrics=False).metrics(parsed=True)


def test_triton_s_summaries(start_server: StartServer) -> None:
    if lacks("TRITONSERVER_ServerOptionsSetMetricsConfig"):
        pytest.skip("this runtime has no summaries")
    server = start_server(metrics_configuration={"": {"summary_latencies": "true"}})
    model = add_echo(server)
    answer(model, x=ONE)
    report = server.metrics(parsed=True)
    summaries = [each for family in report.values() for each in family.summaries if each.labels.get("model") == "echo"]
    assert summaries
    for summary in summaries:
        assert [quantile for quantile, _ in summary.quantiles] == sorted(quantile for quantile, _ in summary.quantiles)
        assert summary.count == 1
        assert "quantile" not in summary.labels


TEXT = r"""
# a comment
# HELP requests_total Requests\\answered\nby "code".
# TYPE requests_total counter
requests_total{code="200",path="C:\\dir\"x\"\n"} 1027 1395066363000
requests_total{code="400",} 3e0 -1

# TYPE latency histogram
# HELP latency Latency.
latency_bucket{site="north",le="0.5"} 2
latency_bucket{site="north",le="+Inf"} 5
latency_bucket{site="north",le="0.1"} 1
latency_sum{site="north"} 12.5
latency_count{site="north"} 5
latency_bucket{site="south",le="+Inf"} 0
latency_sum{site="south"} 0
latency_count{site="south"} 0
# TYPE size summary
size{quantile="0.99"} NaN
size{quantile="0.5"} 7
size_sum 70
size_count 10
# TYPE extremes gauge
extremes{of="above"} +Inf
extremes { of = "below" } -Inf
extremes{of="nothing"} Nan
extremes 0
nobody_said_what 12
latency_count_of_others 1
"""


def test_families_have_name_kind_and_help() -> None:
    report = _prometheus.parse(TEXT)
    assert {name: family.kind for name, family in report.items()} == {
        "requests_total": "counter",
        "latency": "histogram",
        "size": "summary",
        "extremes": "gauge",
        "nobody_said_what": "untyped",
        "latency_count_of_others": "untyped",
    }
    assert report["requests_total"].help == 'Requests\\answered\nby "code".'
    assert report["size"].help == ""
    assert (len(report), "latency" in report, "latency_sum" in report) == (6, True, False)
    with pytest.raises(KeyError, match="latency_sum"):
        report["latency_sum"]


def test_labels_values_and_times() -> None:
    first, second = _prometheus.parse(TEXT)["requests_total"].samples
    assert dict(first.labels) == {"code": "200", "path": 'C:\\dir"x"\n'}
    assert (first.value, first.timestamp_ms) == (1027, 1395066363000)
    assert (dict(second.labels), second.value, second.timestamp_ms) == ({"code": "400"}, 3, -1)


def test_a_sample_cannot_be_changed() -> None:
    sample = _prometheus.parse(TEXT)["requests_total"].samples[0]
    labels: Any = sample.labels
    with pytest.raises(TypeError):
        labels["code"] = "500"


def test_what_is_no_finite_number() -> None:
    extremes = _prometheus.parse(TEXT)["extremes"]
    assert extremes.value(of="above") == math.inf
    assert extremes.value(of="below") == -math.inf
    assert math.isnan(extremes.value(of="nothing"))


def test_histograms_are_put_together() -> None:
    family = _prometheus.parse(TEXT)["latency"]
    assert len(family.samples) == 8
    north, south = family.histograms
    assert (dict(north.labels), north.count, north.sum) == ({"site": "north"}, 5, 12.5)
    assert north.buckets == ((0.1, 1), (0.5, 2), (math.inf, 5))
    assert (south.buckets, south.count, south.sum) == (((math.inf, 0),), 0, 0)
    assert family.summaries == ()


def test_summaries_are_put_together() -> None:
    family = _prometheus.parse(TEXT)["size"]
    (summary,) = family.summaries
    assert (dict(summary.labels), summary.count, summary.sum) == ({}, 10, 70)
    assert summary.quantiles[0] == (0.5, 7)
    assert summary.quantiles[1][0] == 0.99
    assert math.isnan(summary.quantiles[1][1])
    assert family.histograms == ()


def test_the_value_of_one_sample() -> None:
    report = _prometheus.parse(TEXT)
    assert report["requests_total"].value(code="200") == 1027
    assert report["nobody_said_what"].value() == 12
    with pytest.raises(LookupError, match="code='500': 0 samples of requests_total"):
        report["requests_total"].value(code="500")
    with pytest.raises(LookupError, match="no labels: 2 samples"):
        report["requests_total"].value()
    for name in ("latency", "size"):
        with pytest.raises(TypeError, match="no single value"):
            report[name].value()


@pytest.mark.parametrize(
    "line",
    [
        "alone",
        "alone1",
        "name value",
        "name 1_000",
        "name 1 2 3",
        "name 1 soon",
        "1name{} 1",
        'name{label="open} 1',
        "name{label=bare} 1",
        'name{a="1"b="2"} 1',
        'name{1a="1"} 1',
        'name{a="1" 1',
        "# TYPE name thermometer",
        "# TYPE name",
    ],
)
def test_what_is_not_in_the_format_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2 of the metrics .*") as caught:
        _prometheus.parse(f"fine 1\n{line}\n")
    assert re.split(r"[ {]", line, maxsplit=1)[0] in str(caught.value)


def test_a_kind_that_comes_late_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 2 .*comes after samples of another kind"):
        _prometheus.parse("name 1\n# TYPE name gauge\n")
    with pytest.raises(ValueError, match=r"line 2 .*comes after its samples"):
        _prometheus.parse("name_sum 1\n# TYPE name summary\n")


def test_a_text_that_cannot_be_read_is_an_error(server: ti.Server) -> None:
    family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.GAUGE, "of_two_lines", "one\nanother line")
    metric = capi.TRITONSERVER_Metric(family, [])
    with pytest.raises(ti.InternalError, match=r"line \d+ of the metrics .*another line"):
        server.metrics(parsed=True)
    del metric, family
    assert server.metrics(parsed=True)


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@examples(40)
@given(values=st.dictionaries(st.text(), NUMBERS, max_size=5))
def test_any_label_and_value_comes_back(values: dict[str, float]) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    lines = [f'name{{label="{escaped(label)}"}} {value!r}' for label, value in values.items()]
    report = _prometheus.parse("\n".join(["# TYPE name gauge", *lines]))
    read = {sample.labels["label"]: sample.value for sample in report["name"].samples}
    assert read.keys() == values.keys()
    assert all(
        read[label] == value or (math.isnan(value) and math.isnan(read[label])) for label, value in values.items()
    )


@examples(60)
@given(st.text(alphabet='ab_{}"\\=,# \n\t+-1.eNInf'))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        families = list(_prometheus.parse(text).items())
    except ValueError:
        families = []
    assert all(sample.name.startswith(name) for name, family in families for sample in family.samples)
