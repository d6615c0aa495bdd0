"""Traces at the high level: a Trace of one request, and those of every request of a server."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import queue
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, lacks, run_beside_tests, write_model
from helpers_lifetime import ensemble_config

import triton_inprocess as ti
from triton_inprocess import _native

Activity = ti.InferenceTraceActivity

X = np.arange(4, dtype=np.float32)

MOMENTS = [
    Activity.REQUEST_START,
    Activity.QUEUE_START,
    Activity.COMPUTE_START,
    Activity.COMPUTE_INPUT_END,
    Activity.COMPUTE_OUTPUT_START,
    Activity.COMPUTE_END,
    Activity.REQUEST_END,
]


class Collected:
    """Takes traces, and tells whoever waits for one."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[ti.Trace] = queue.SimpleQueue()

    def __call__(self, trace: ti.Trace) -> None:
        self._queue.put(trace)

    def next(self) -> ti.Trace:
        return self._queue.get(timeout=10)

    def rest(self) -> list[ti.Trace]:
        traces = []
        while not self._queue.empty():
            traces.append(self._queue.get())
        return traces


# -- one request -------------------------------------------------------------------------------------------------------


def test_a_trace_tells_what_happened_when(server: ti.Server) -> None:
    model = add_echo(server)
    before = time.monotonic_ns()
    trace = ti.Trace()
    assert answer_traced(model, trace, request_id="mine").tolist() == X.tolist()
    assert trace.wait(10)
    after = time.monotonic_ns()
    root = trace.root
    assert trace.done
    assert [each.activity for each in root.activities] == MOMENTS
    times = [each.timestamp_ns for each in root.activities]
    assert [before, *times, after] == sorted([before, *times, after])
    assert (root.model_name, root.model_version, root.request_id) == ("echo", 1, "mine")
    assert root.id > 0
    assert (root.parent_id, root.children, root.tensors, root.error, trace.error) == (0, (), (), None, None)
    assert root.timestamp_ns(Activity.REQUEST_START) == times[0]
    assert root.duration_ns() == times[-1] - times[0] > 0
    assert root.duration_ns(Activity.QUEUE_START, Activity.COMPUTE_START) == times[2] - times[1]
    assert trace.root is root, "what is complete is read once"
    assert repr(trace) == "Trace('echo', complete)"


def answer_traced(model: ti.Model, trace: ti.Trace, **fields: Any) -> np.ndarray[Any, Any]:
    (response,) = model.infer(inputs={"x": X}, trace=trace, **fields)
    return response.outputs["y"].numpy()


def test_tensors_are_copied(server: ti.Server) -> None:
    trace = ti.Trace(tensors=True)
    source = X.copy()
    model = server.add_model(
        lambda x: x * 2, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))}
    )
    (response,) = model.infer(inputs={"x": source}, trace=trace)
    assert trace.wait(10)
    source[:] = -1
    del response
    told = {each.activity: each for each in trace.root.tensors}
    given, made = told[Activity.TENSOR_QUEUE_INPUT], told[Activity.TENSOR_BACKEND_OUTPUT]
    assert (given.name, given.data_type, given.shape, given.byte_size) == ("x", ti.DataType.FP32, (4,), 16)
    assert (given.memory_type, given.memory_type_id) == (ti.MemoryType.CPU, 0)
    assert given.tensor is not None
    assert given.tensor.numpy().tolist() == X.tolist()
    assert made.name == "y"
    assert made.tensor is not None
    assert made.tensor.numpy().tolist() == (X * 2).tolist()


def test_bytes_are_copied(server: ti.Server) -> None:
    model = add_echo(server, data_type="BYTES")
    trace = ti.Trace(tensors=True)
    list(model.infer(inputs={"x": ["a", "bc"]}, trace=trace))
    assert trace.wait(10)
    first = trace.root.tensors[0].tensor
    assert first is not None
    assert first.to_bytes_array().tolist() == [b"a", b"bc"]


def test_a_request_can_carry_its_trace(server: ti.Server) -> None:
    trace = ti.Trace()
    model = add_echo(server)
    request = model.create_request(inputs={"x": X}, trace=trace)
    list(model.infer(request))
    assert trace.wait(10)
    assert trace.root.model_name == "echo"


def test_async_infer(server: ti.Server) -> None:
    model = add_echo(server)

    async def ask() -> ti.Trace:
        trace = ti.Trace()
        async for _ in model.async_infer(inputs={"x": X}, trace=trace):
            pass
        assert await asyncio.to_thread(trace.wait, 10)
        return trace

    assert asyncio.run(ask()).root.duration_ns() > 0


def test_with_a_response_queue(server: ti.Server) -> None:
    responses: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    trace = ti.Trace()
    answer_traced(add_echo(server), trace, response_queue=responses)
    assert responses.get(timeout=10)
    assert trace.wait(10)


def test_a_request_that_fails_in_its_model(server: ti.Server) -> None:
    def fail(x: Any) -> Any:
        raise ValueError("not today")

    model = server.add_model(fail, name="m", inputs={"x": ("FP32", (4,))}, outputs={"y": ("FP32", (4,))})
    trace = ti.Trace()
    with pytest.raises(ti.InternalError, match="not today"):
        list(model.infer(inputs={"x": X}, trace=trace))
    assert trace.wait(10)
    assert trace.error is None, "the request was taken"
    assert trace.root.timestamp_ns(Activity.REQUEST_END) > 0


@pytest.mark.parametrize("version", [-1, 1])
def test_a_failed_submission_has_a_trace(server: ti.Server, version: int) -> None:
    add_echo(server, shape=(4,))
    model = server.model("echo", version)
    trace = ti.Trace()
    with pytest.raises(ti.InvalidArgumentError) as caught:
        model.infer(inputs={"x": X}, requested_outputs=["z"], trace=trace, request_id="bad")
    assert trace.done
    assert trace.wait(0)
    root = trace.root
    assert type(root.error) is ti.InvalidArgumentError
    assert str(trace.error) == str(caught.value)
    assert (root.model_name, root.request_id, root.children) == ("echo", "bad", ())
    assert root.model_version in {-1, version}
    with pytest.raises(ti.UnavailableError, match="a trace is for one"):
        answer_traced(model, trace)
    assert answer(model, x=X).tolist() == X.tolist()


def test_what_fails_before_it_is_sent_leaves_the_trace_as_it_was(server: ti.Server) -> None:
    model = add_echo(server)
    trace = ti.Trace()
    with pytest.raises(TypeError, match="priority"):
        model.infer(inputs={"x": X}, trace=trace, priority="high")
    with pytest.raises(ti.InvalidArgumentError, match="z"):
        model.infer(inputs={"z": X}, trace=trace)
    assert repr(trace) == "Trace(not sent)"
    answer_traced(model, trace)
    assert trace.wait(10)


def test_a_trace_is_for_one_request(server: ti.Server) -> None:
    model = add_echo(server)
    trace = ti.Trace()
    answer_traced(model, trace)
    with pytest.raises(ti.UnavailableError, match="a trace is for one"):
        answer_traced(model, trace)
    assert trace.wait(10)
    assert trace.root.error is None


@pytest.mark.parametrize("wrong", [1, "trace", _native, ti.Trace])
def test_only_a_trace_is_a_trace(server: ti.Server, wrong: Any) -> None:
    model = add_echo(server)
    with pytest.raises(TypeError, match="trace must be a Trace or None, not"):
        model.infer(inputs={"x": X}, trace=wrong)
    assert len(list(model.infer(inputs={"x": X}, trace=None))) == 1


def test_a_trace_that_was_not_sent(runtime: ti.runtime.Runtime) -> None:
    trace = ti.Trace()
    assert not trace.done
    for use in (lambda: trace.root, lambda: trace.error, trace.wait):
        with pytest.raises(ti.UnavailableError, match="not sent"):
            use()
    with pytest.raises(ti.UnavailableError, match="not in flight"):
        trace.child()


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda trace: ti.Trace(tensors=1), TypeError, "tensors must be a bool, not int"),
        (lambda trace: trace.wait("1"), TypeError, "timeout must be a number of seconds or None, not str"),
        (lambda trace: trace.wait(True), TypeError, "timeout must be a number"),
        (lambda trace: trace.wait(-1), ValueError, "timeout must not be negative, but -1"),
        (lambda trace: trace.wait(float("nan")), ValueError, "timeout must not be negative"),
        (lambda trace: trace.root.timestamp_ns("REQUEST_START"), TypeError, "activity must be an Inference"),
        (lambda trace: trace.root.timestamp_ns(Activity.TENSOR_QUEUE_INPUT), LookupError, "'echo' has no TENSOR_QUEUE"),
        (copy.copy, TypeError, "cannot be copied"),
        (pickle.dumps, TypeError, "cannot be copied"),
    ],
)
def test_misuse(server: ti.Server, use: Callable[[ti.Trace], object], error: type[Exception], message: str) -> None:
    trace = ti.Trace()
    answer_traced(add_echo(server), trace)
    assert trace.wait(float("inf"))
    with pytest.raises(error, match=message):
        use(trace)


class Gate:
    """A function that waits for a word."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def __call__(self, x: Any) -> Any:
        self.entered.set()
        assert self.go_on.wait(20)
        return x


def add_gate(server: ti.Server) -> tuple[ti.Model, Gate]:
    gate = Gate()
    model = server.add_model(gate, name="gate", inputs={"x": ("FP32", (4,))}, outputs={"y": ("FP32", (4,))})
    return model, gate


def test_a_trace_in_flight_can_be_read(server: ti.Server) -> None:
    model, gate = add_gate(server)
    trace = ti.Trace()
    responses = model.infer(inputs={"x": X}, trace=trace)
    assert gate.entered.wait(10)
    assert not trace.done
    assert trace.wait(0) is False
    assert trace.wait(0.01) is False
    assert repr(trace) == "Trace('gate', in flight)"
    told = [each.activity for each in trace.root.activities]
    assert Activity.REQUEST_START in told
    assert Activity.REQUEST_END not in told
    gate.go_on.set()
    list(responses)
    assert trace.wait(10)
    assert Activity.REQUEST_END in [each.activity for each in trace.root.activities]


def test_a_wait_can_be_interrupted() -> None:
    run_beside_tests(
        """
import os, signal, threading, time
import numpy as np
import triton_inprocess as ti
from test_trace import X, add_gate

with ti.Server(gpu_metrics=False) as server:
    model, gate = add_gate(server)
    trace = ti.Trace()
    responses = model.infer(inputs={"x": X}, trace=trace)
    gate.entered.wait(10)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        trace.wait()
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("not interrupted")
    gate.go_on.set()
    list(responses)
    assert trace.wait(10)
"""
    )


def test_a_dropped_trace_harms_nobody(server: ti.Server) -> None:
    model, gate = add_gate(server)
    trace: ti.Trace | None = ti.Trace()
    responses = model.infer(inputs={"x": X}, trace=trace)
    gone = weakref.ref(trace)
    trace = None
    assert gone() is None
    gate.go_on.set()
    assert len(list(responses)) == 1


def test_a_trace_outlives_its_server() -> None:
    trace = ti.Trace(tensors=True)
    with ti.Server() as server:
        answer_traced(add_echo(server), trace)
        assert trace.wait(10)
    del server
    tensor = trace.root.tensors[0].tensor
    assert tensor is not None
    assert tensor.numpy().tolist() == X.tolist()


# -- trees -------------------------------------------------------------------------------------------------------------


def test_the_steps_of_an_ensemble_are_children(start_server: StartServer, repository: Path) -> None:
    write_model(repository, "twice", ensemble_config("twice", "step"))
    server = start_server(model_repository=repository, startup_models=["nothing"], exit_on_error=False)
    server.add_model(lambda x: x + 1, name="step", inputs={"x": ("FP32", (4,))}, outputs={"y": ("FP32", (4,))})
    model = server.load("twice")
    name = model.metadata()["inputs"][0]["name"]
    trace = ti.Trace(tensors=True)
    list(model.infer(inputs={name: X}, trace=trace, request_id="mine"))
    assert trace.wait(10)
    root = trace.root
    assert (root.model_name, root.request_id, root.parent_id) == ("twice", "mine", 0)
    assert [child.model_name for child in root.children] == ["step", "step"]
    assert root.activities[0].activity is Activity.REQUEST_START
    for child in root.children:
        assert child.parent_id == root.id
        assert child.children == ()
        assert [each.activity for each in child.activities] == MOMENTS
        assert root.timestamp_ns(Activity.REQUEST_START) <= child.timestamp_ns(Activity.REQUEST_START)
        assert child.request_id == ("mine" if not lacks("TRITONSERVER_InferenceTraceRequestId") else None)
    first, second = root.children
    assert first.id != second.id
    (made,) = (each for each in second.tensors if each.activity is Activity.TENSOR_BACKEND_OUTPUT)
    assert made.tensor is not None
    assert made.tensor.numpy().tolist() == (X + 2).tolist()


def test_a_function_that_asks_another_model(server: ti.Server) -> None:
    inner = add_echo(server, name="inner")
    trace = ti.Trace()
    kept: list[ti.Trace] = []
    errors: list[str] = []

    def ask(x: Any) -> Any:
        try:
            child = trace.child()
        except ti.UnsupportedError as error:
            errors.append(str(error))  # the exception itself holds the frame, and so the input
            return x
        kept.append(child)
        return answer_traced(inner, child, request_id="inside")

    outer = server.add_model(ask, name="outer", inputs={"x": ("FP32", (4,))}, outputs={"y": ("FP32", (4,))})
    (response,) = outer.infer(inputs={"x": X}, trace=trace)
    assert response.outputs["y"].numpy().tolist() == X.tolist()
    assert trace.wait(10)
    if lacks("TRITONSERVER_InferenceTraceSpawnChildTrace"):
        assert "TRITONSERVER_InferenceTraceSpawnChildTrace" in errors[0]
        return
    (child,) = trace.root.children
    assert (child.model_name, child.parent_id, child.request_id) == ("inner", trace.root.id, "inside")
    assert kept[0].root.id == child.id
    assert kept[0].done
    with pytest.raises(ti.UnavailableError, match="a trace is for one"):
        answer_traced(inner, kept[0])
    with pytest.raises(ti.UnavailableError, match="not in flight"):
        trace.child()


# -- every request -----------------------------------------------------------------------------------------------------


def test_every_request_of_a_server_is_traced(start_server: StartServer) -> None:
    traces = Collected()
    server = start_server(trace=traces)
    model = add_echo(server)
    for number in range(5):
        list(model.infer(inputs={"x": X}, request_id=str(number)))
    found = [traces.next() for _ in range(5)]
    assert all(trace.done for trace in found)
    assert sorted(trace.root.request_id or "" for trace in found) == list("01234")
    assert all(trace.root.model_name == "echo" and trace.root.tensors == () for trace in found)


def test_async_requests_and_failed_ones_are_traced_too(start_server: StartServer) -> None:
    traces = Collected()
    server = start_server(trace=traces)
    model = add_echo(server)

    async def ask() -> None:
        await asyncio.gather(*(anext(model.async_infer(inputs={"x": X})) for _ in range(3)))

    asyncio.run(ask())
    assert {traces.next().root.error for _ in range(3)} == {None}
    with pytest.raises(ti.InvalidArgumentError) as caught:
        model.infer(inputs={"x": X}, requested_outputs=["z"], request_id="bad")
    trace = traces.next()
    assert str(trace.error) == str(caught.value)
    assert (trace.root.model_name, trace.root.request_id) == ("echo", "bad")


def test_a_request_with_a_trace_of_its_own_has_no_other(start_server: StartServer) -> None:
    traces = Collected()
    server = start_server(trace=traces)
    mine = ti.Trace()
    model = add_echo(server)
    answer_traced(model, mine)
    assert mine.wait(10)
    list(model.infer(inputs={"x": X}, request_id="other"))
    server.stop()
    assert [trace.root.request_id for trace in traces.rest()] == ["other"]


def test_tracing_says_more(start_server: StartServer) -> None:
    traces = Collected()
    server = start_server(trace=ti.Tracing(traces, tensors=True, rate=3))
    model = add_echo(server)
    for number in range(7):
        list(model.infer(inputs={"x": X}, request_id=str(number)))
    server.stop()
    found = traces.rest()
    assert [trace.root.request_id for trace in found] == ["0", "3", "6"]
    assert all(len(trace.root.tensors) == 2 for trace in found)


def test_the_stop_waits_for_the_traces(start_server: StartServer) -> None:
    threads = threading.active_count()
    traces = Collected()
    server = start_server(trace=traces)
    model = add_echo(server)
    for _ in range(200):
        answer(model, x=X)
    server.stop()
    assert len(traces.rest()) == 200
    assert threading.active_count() <= threads


def test_the_function_may_use_and_stop_the_server(start_server: StartServer) -> None:
    stopped = threading.Event()
    box: list[ti.Server] = []

    def use(trace: ti.Trace) -> None:
        assert box[0].live()
        box[0].stop()
        stopped.set()

    server = start_server(trace=use)
    box.append(server)
    answer(add_echo(server), x=X)
    assert stopped.wait(20)
    with pytest.raises(ti.UnavailableError):
        server.live()


def test_a_stop_by_the_function_while_another_thread_stops(start_server: StartServer) -> None:
    entered, stopping, returned = threading.Event(), threading.Event(), threading.Event()
    box: list[ti.Server] = []

    def stop_too(trace: ti.Trace) -> None:
        entered.set()
        assert stopping.wait(10)
        while not box[0]._stopped:
            time.sleep(0.001)
        box[0].stop()
        returned.set()

    server = start_server(trace=stop_too)
    box.append(server)
    answer(add_echo(server), x=X)
    assert entered.wait(10)
    stopping.set()
    server.stop()
    assert returned.is_set()


def test_what_the_function_raises_is_reported(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def fail(trace: ti.Trace) -> None:
        raise RuntimeError("no room")

    server = start_server(trace=fail)
    model = add_echo(server)
    for _ in range(3):
        answer(model, x=X)
    server.stop()
    assert [str(each.exc_value) for each in reported] == ["no room"] * 3
    assert {each.object for each in reported} == {fail}


def test_traces_that_nobody_takes_are_dropped_and_told(start_server: StartServer) -> None:
    entered, go_on = threading.Event(), threading.Event()
    taken: list[ti.Trace] = []

    def take(trace: ti.Trace) -> None:
        taken.append(trace)
        entered.set()
        assert go_on.wait(20)

    server = start_server(trace=ti.Tracing(take, capacity=5))
    model = add_echo(server)
    answer(model, x=X)
    assert entered.wait(10)
    for _ in range(20):
        answer(model, x=X)
    go_on_soon = threading.Timer(0.2, go_on.set)  # the stop waits for the function
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        go_on_soon.start()
        server.stop()
    assert len(taken) == 6
    assert [str(each.message).split(":")[0] for each in caught] == ["15 traces were dropped"]


@pytest.mark.parametrize(
    ("trace", "error", "message"),
    [
        (1, TypeError, "trace must be callable, a Tracing or None, not int"),
        (ti.Tracing(None), TypeError, "callback of trace must be callable, not NoneType"),  # type: ignore[arg-type]
        (ti.Tracing(print, tensors=1), TypeError, "tensors of trace must be bool"),  # type: ignore[arg-type]
        (ti.Tracing(print, rate=0), ValueError, "rate of trace must be from 1"),
        (ti.Tracing(print, rate=-1), ValueError, "rate of trace must be from 0"),
        (ti.Tracing(print, rate=0.5), TypeError, "rate of trace must be int"),  # type: ignore[arg-type]
        (ti.Tracing(print, capacity=0), ValueError, "capacity of trace must be from 1"),
    ],
)
def test_wrong_options(trace: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ti.Server(trace=trace).start()


def test_a_server_whose_function_knows_it_is_collected() -> None:
    run_beside_tests(
        """
import gc, threading, weakref
import triton_inprocess as ti
from conftest import add_echo, answer
from test_trace import X

told = []

def leave():
    server = ti.Server(gpu_metrics=False, trace=lambda trace: told.append((trace, weakref.ref(server))))
    server.start()
    for _ in range(50):
        answer(add_echo(server) if not server.models() else server.model("echo"), x=X)
    return weakref.ref(server)

server = leave()
gc.collect()
assert server() is None
for thread in threading.enumerate():
    if thread.name.startswith("triton-inprocess"):  # it may be the one that has collected it
        thread.join(10)
        assert not thread.is_alive()
assert len(told) == 50, len(told)
"""
    )


@pytest.mark.parametrize("end", ["", "os._exit(0)", "sys.exit(0)", "model = responses = None", "del server, model"])
def test_traces_in_flight_do_not_disturb_the_end_of_the_process(end: str) -> None:
    run_beside_tests(
        f"""
import os, sys, threading, time
import triton_inprocess as ti
from conftest import add_echo
from test_trace import X

server = ti.Server(gpu_metrics=False, trace=ti.Tracing(lambda trace: trace.root, tensors=True)).start()
model = server.add_model(
    lambda x: (time.sleep(0.02), x)[1], name="m", inputs={{"x": ("FP32", (4,))}}, outputs={{"y": ("FP32", (4,))}},
)
mine = [ti.Trace(tensors=True) for _ in range(5)]
responses = [model.infer(inputs={{"x": X}}, trace=trace) for trace in mine]
responses += [model.infer(inputs={{"x": X}}) for _ in range(5)]
threading.Thread(target=mine[-1].wait, daemon=True).start()
{end}
"""
    )


def test_traced_requests_from_many_threads(start_server: StartServer) -> None:
    traces = Collected()
    server = start_server(trace=traces)
    model = add_echo(server)
    mine: list[ti.Trace] = []

    def ask() -> None:
        for number in range(200):
            if number % 2:
                answer(model, x=X)
            else:
                trace = ti.Trace(tensors=number % 4 == 0)
                answer_traced(model, trace)
                mine.append(trace)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(trace.wait(10) for trace in mine)
    server.stop()
    found = [*mine, *traces.rest()]
    assert len(found) == 800
    assert len({trace.root.id for trace in found}) == 800
    assert all([each.activity for each in trace.root.activities] == MOMENTS for trace in found)


def test_traces_are_collected(server: ti.Server) -> None:
    class Holder:
        def __init__(self) -> None:
            self.trace = ti.Trace()
            self.myself = self

    model = add_echo(server)
    holder = Holder()
    answer_traced(model, holder.trace)
    gone = weakref.ref(holder.trace)
    del holder
    gc.collect()
    assert gone() is None
