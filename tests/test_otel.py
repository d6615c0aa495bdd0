"""Triton's traces as spans of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("opentelemetry.sdk")

from conftest import StartServer, run_beside_tests
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import triton_inprocess as ti
from triton_inprocess import otel

VECTOR: dict[str, Any] = {"x": (np.float32, (-1,))}
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"}
X = {"x": np.ones(2, np.float32)}


class Observed:
    """A server whose spans are kept."""

    def __init__(self, start_server: StartServer) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.server = start_server(trace=otel.tracing(self.provider))
        self.model = self.server.add_model(lambda x: x * 2, name="twice", inputs=VECTOR, outputs={"y": VECTOR["x"]})

    def spans(self) -> list[ReadableSpan]:
        """All of them: the stop waits for those that are on their way."""
        self.server.stop()
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def observed(start_server: StartServer) -> Iterator[Observed]:
    observed = Observed(start_server)
    yield observed
    observed.provider.shutdown()


def test_a_request_is_a_span_below_the_current_one(observed: Observed) -> None:
    with observed.provider.get_tracer("test").start_as_current_span("outer") as outer:
        observed.model.infer(X, request_id="mine").result()
        observed.model(**X)
    observed.model.infer(X).result()
    by_parent = {None: [], outer.get_span_context().span_id: []}
    times = []
    for span in observed.spans():
        if span.name == "outer":
            times = [span.start_time, span.end_time]
            continue
        assert span.name == "twice"
        by_parent[span.parent.span_id if span.parent else None].append(span)
    assert [len(each) for each in by_parent.values()] == [1, 2]
    for span in by_parent[outer.get_span_context().span_id]:
        assert span.context.trace_id == outer.get_span_context().trace_id
        assert span.attributes["triton.model_name"] == "twice"
        assert span.attributes["triton.model_version"] == 1
        names = [event.name for event in span.events]
        assert names[0] == "REQUEST_START"
        assert {"QUEUE_START", "COMPUTE_START", "COMPUTE_END", "REQUEST_END"} <= set(names)
        assert [event.timestamp for event in span.events] == sorted(event.timestamp for event in span.events)
        # Two clocks, one of which may be set meanwhile.
        assert times[0] - 10**9 < span.start_time <= span.end_time < times[1] + 10**9
    ids = [span.attributes.get("triton.request_id") for span in by_parent[outer.get_span_context().span_id]]
    assert sorted(ids, key=str) == [None, "mine"]


def test_the_steps_of_an_ensemble_are_spans_below_it(observed: Observed) -> None:
    ensemble = observed.server.add_ensemble(
        "both",
        [ti.EnsembleStep("twice", {"x": "in"}, {"y": "out"})],
        inputs={"in": VECTOR["x"]},
        outputs={"out": VECTOR["x"]},
    )
    ensemble.infer({"in": X["x"]}).result()
    spans = {span.name: span for span in observed.spans()}
    assert set(spans) == {"both", "twice"}
    assert spans["both"].parent is None
    assert spans["twice"].parent.span_id == spans["both"].context.span_id


def test_a_traceparent_is_the_parent(observed: Observed) -> None:
    with otel.parent(HEADERS):
        observed.model.infer(X).result()
    assert not trace.get_current_span().get_span_context().is_valid
    (span,) = observed.spans()
    assert f"{span.context.trace_id:032x}" == TRACE_ID
    assert f"{span.parent.span_id:016x}" == SPAN_ID


def test_a_refused_request_has_its_error(observed: Observed) -> None:
    with pytest.raises(ti.InvalidArgumentError) as caught:
        observed.model.infer(X, requested_outputs=["z"])
    (span,) = observed.spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.status.description == str(caught.value)


def test_requests_by_http(observed: Observed) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from helpers_http import ask, floats

    with observed.server.serve(0) as serving:
        assert ask(serving, "POST", "/v2/models/twice/infer", floats([1.0]), HEADERS).status == 200
        assert ask(serving, "POST", "/v2/models/twice/infer", floats([1.0])).status == 200
    linked, free = sorted(observed.spans(), key=lambda span: span.parent is None)
    assert f"{linked.parent.span_id:016x}" == SPAN_ID
    assert free.parent is None
    assert f"{free.context.trace_id:032x}" != TRACE_ID


def test_every_so_many(start_server: StartServer) -> None:
    seen: list[Any] = []
    numbers = iter(range(100))
    server = start_server(trace=ti.Tracing(lambda trace: seen.append(trace.context), rate=3, context=numbers.__next__))
    model = server.add_model(lambda x: x, name="m", inputs=VECTOR, outputs={"y": VECTOR["x"]})
    list(model.infer_many([X] * 7))
    own = ti.Trace()
    model.infer(X, trace=own).result()
    server.stop()
    assert sorted(seen) == [0, 1, 2]
    assert own.context is None


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match="tracer_provider must be a TracerProvider or None, not int"):
        otel.tracing(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="headers must be a mapping"), otel.parent("x"):  # type: ignore[arg-type]
        pass
    with pytest.raises(TypeError, match="context of trace must be callable"):
        ti.Server(trace=ti.Tracing(print, context=1)).start()  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="headers of trace must be callable"):
        ti.Server(trace=ti.Tracing(print, headers=1)).start()  # type: ignore[arg-type]


def test_without_the_extra_an_error_says_what_to_install() -> None:
    result = run_beside_tests(
        """
import sys
sys.modules["opentelemetry"] = None
try:
    import triton_inprocess.otel
except ModuleNotFoundError as error:
    print(error)
"""
    )
    assert "python -m pip install 'triton-inprocess[otel]'" in result.stdout
