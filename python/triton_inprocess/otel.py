"""Triton's traces as spans of OpenTelemetry (extra `otel`)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

try:
    import opentelemetry.context
    import opentelemetry.propagate
    import opentelemetry.trace
except ModuleNotFoundError as _error:
    if (_error.name or "").partition(".")[0] != "opentelemetry":
        raise
    raise ModuleNotFoundError(
        "triton_inprocess.otel needs opentelemetry-api: python -m pip install 'triton-inprocess[otel]'",
        name=_error.name,
    ) from None

from .trace import Trace, TraceNode
from .tracing import Tracing

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer, TracerProvider

__all__ = ["parent", "tracing"]

_SCOPE = "triton_inprocess"


def tracing(tracer_provider: TracerProvider | None = None, *, rate: int = 1, capacity: int = 16384) -> Tracing:
    """For `Server(trace=...)`: each request becomes a span, a child of the span that is current where it is sent.

    ::

        with Server(trace=triton_inprocess.otel.tracing()) as server:
            with tracer.start_as_current_span("a page"):
                server.model("classifier").infer(inputs).result()

    The span has the model's name, and `triton.model_name`, `triton.model_version` and, where there is one,
    `triton.request_id`. Its events are what Triton tells (`QUEUE_START`, `COMPUTE_START`, …), with Triton's times; the
    steps of an ensemble are spans below it. One that Triton refused has the error as its status. Spans are made when a
    trace is complete, in a thread of this package; `Server.stop` waits for them.

    Requests of `Server.serve` and `asgi.create_app` have the span that the header `traceparent` names as their parent,
    unless an instrumentation of the web framework has made one. Those of NVIDIA's front ends are not traced.

    Args:
        tracer_provider: Whose tracer makes the spans; None: the global one, as it is when the first span is made.
        rate: Every so many requests one is traced; what a sampler drops of the provider's was traced all the same.
        capacity: How many traces wait to be made spans at most.

    Raises:
        TypeError: `tracer_provider` has no `get_tracer`.
        ValueError: `rate` or `capacity` is wrong, at the start of the server.
    """
    if tracer_provider is not None and not callable(getattr(tracer_provider, "get_tracer", None)):
        raise TypeError(f"tracer_provider must be a TracerProvider or None, not {type(tracer_provider).__name__}")
    return Tracing(
        _Spans(tracer_provider),
        rate=rate,
        capacity=capacity,
        context=opentelemetry.context.get_current,
        headers=_unless_there_is_one,
    )


@contextlib.contextmanager
def parent(headers: Mapping[str, str]) -> Iterator[None]:
    """Make the span that `headers` name ("traceparent", by the global propagator) the current one, for `with`.

    Raises TypeError when `headers` is no mapping.
    """
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers must be a mapping of str to str, not {type(headers).__name__}")
    token = opentelemetry.context.attach(opentelemetry.propagate.extract(headers))
    try:
        yield
    finally:
        opentelemetry.context.detach(token)


def _unless_there_is_one(headers: Mapping[str, str]) -> contextlib.AbstractContextManager[object]:
    if opentelemetry.trace.get_current_span().get_span_context().is_valid:
        return contextlib.nullcontext()
    return parent(headers)


class _Spans:
    """Makes spans of traces."""

    def __init__(self, tracer_provider: TracerProvider | None) -> None:
        self._provider = tracer_provider
        self._tracer: Tracer | None = None

    def __call__(self, trace: Trace) -> None:
        if self._tracer is None:
            self._tracer = opentelemetry.trace.get_tracer(_SCOPE, tracer_provider=self._provider)
        # Triton's clock is the one that says how long things take, a span's the one that says when they were.
        self._add(self._tracer, trace.root, trace.context, time.time_ns() - time.monotonic_ns())

    def _add(self, tracer: Tracer, node: TraceNode, context: Any, offset_ns: int) -> None:
        times = [each.timestamp_ns + offset_ns for each in node.activities] or [time.time_ns()]
        attributes: dict[str, str | int] = {
            "triton.model_name": node.model_name,
            "triton.model_version": node.model_version,
        }
        if node.request_id:
            attributes["triton.request_id"] = node.request_id
        within: Context | None = context
        span = tracer.start_span(node.model_name, within, attributes=attributes, start_time=min(times))
        for activity, when in zip(node.activities, times, strict=False):
            span.add_event(activity.activity.name, timestamp=when)
        if node.error is not None:
            span.set_status(opentelemetry.trace.StatusCode.ERROR, str(node.error))
        inside = opentelemetry.trace.set_span_in_context(span, within)
        for child in node.children:
            self._add(tracer, child, inside, offset_ns)
        span.end(end_time=max(times))
