"""Functions of every kind as models: what they are called with, how often, and on which threads."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import SET_INT_PARAMETER, StartServer, answer, lacks, needs_cancel, shown
from helpers_functions import ROW, Array, X, Y, add, array

import triton_inprocess as ti


def streamed(responses: Any) -> list[Any]:
    return [each.outputs["y"].numpy().tolist() for each in responses if each.outputs]


# -- single samples ----------------------------------------------------------------------------------------------------


def test_a_sample_has_no_batch_dimension(server: ti.Server) -> None:
    shapes: list[tuple[int, ...]] = []

    def function(x: Array) -> Array:
        shapes.append(x.shape)
        return x * 2

    model = add(server, function, batch=False, max_batch_size=4)
    sent = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(answer(model, x=sent), sent * 2)
    assert shapes == [(2,)] * 3


def test_samples_are_views_of_the_callers_memory(server: ti.Server) -> None:
    addresses: list[int] = []

    def function(x: Array) -> Array:
        addresses.append(x.ctypes.data)
        assert not x.flags.writeable
        return x

    sent = np.ones((2, 3), np.float32)
    answer(add(server, function, batch=False, max_batch_size=4), x=sent)
    assert addresses == [sent.ctypes.data, sent.ctypes.data + 12]


@pytest.mark.parametrize(
    "result", [(array(1), [2]), {"n": [2], "y": array(1)}, ([1.0], np.array([2]))], ids=["tuple", "dict", "lists"]
)
def test_samples_may_have_several_outputs(server: ti.Server, result: Any) -> None:
    outputs = {"y": (np.float32, (1,)), "n": (np.int64, (1,))}
    model = add(server, lambda x: result, outputs=outputs, batch=False, max_batch_size=4)
    response = model.infer({"x": np.zeros((2, 1), np.float32)}).result()
    assert response.outputs["y"].numpy().tolist() == [[1], [1]]
    assert response.outputs["n"].numpy().tolist() == [[2], [2]]


def test_samples_of_bytes(server: ti.Server) -> None:
    specs: dict[str, Any] = {"inputs": {"x": ("BYTES", (1,))}, "outputs": {"y": ("BYTES", (1,))}}
    model = add(server, lambda x: [x[0] + b"!"], **specs, batch=False, max_batch_size=4)
    assert answer(model, x=[["a"], ["bcd"]]).tolist() == [[b"a!"], [b"bcd!"]]


def test_without_a_batch_dimension_every_request_is_a_sample(server: ti.Server) -> None:
    assert answer(add(server, lambda x: x + 1, batch=False), x=array(1, 2)).tolist() == [2, 3]


# -- lists of requests -------------------------------------------------------------------------------------------------


def test_a_list_of_requests_is_answered_in_its_order(server: ti.Server) -> None:
    seen: list[list[tuple[str, list[Any], int]]] = []

    def function(requests: list[ti.FunctionRequest]) -> list[Array]:
        seen.append([(each.request_id, each.inputs["x"].tolist(), each.rows) for each in requests])
        return [each.inputs["x"] * 10 for each in requests]

    batching = ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[3])
    model = add(server, function, requests=True, max_batch_size=3, batching=batching, **ROW)
    first = model.infer({"x": np.array([[1], [2]], np.float32)}, request_id="a")
    second = model.infer({"x": np.array([[3]], np.float32)}, request_id="b")
    assert first.result().outputs["y"].numpy().tolist() == [[10], [20]]
    assert second.result().outputs["y"].numpy().tolist() == [[30]]
    assert seen == [[("a", [[1], [2]], 2), ("b", [[3]], 1)]]


def test_requests_are_the_callers_own_memory(server: ti.Server) -> None:
    addresses: list[int] = []

    def function(requests: list[ti.FunctionRequest]) -> list[Array]:
        addresses.extend(each.inputs["x"].ctypes.data for each in requests)
        return [each.inputs["x"] for each in requests]

    batching = ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[2])
    model = add(server, function, requests=True, max_batch_size=2, batching=batching, **ROW)
    sent = [np.full((1, 1), value, np.float32) for value in (1, 2)]
    for responses in [model.infer({"x": each}) for each in sent]:
        responses.result()
    assert addresses == [each.ctypes.data for each in sent]


# -- generators --------------------------------------------------------------------------------------------------------


def count_up(x: Array) -> Iterator[Array]:
    for step in range(int(x[0])):
        yield np.array([step], np.float32)


class Counter:
    def __call__(self, x: Array) -> Iterator[Array]:
        yield from count_up(x)

    def method(self, x: Array) -> Iterator[Array]:
        yield from count_up(x)


@pytest.mark.parametrize(
    "function",
    [count_up, Counter(), Counter().method, Counter, functools.partial(count_up)],
    ids=["function", "object", "method", "class", "partial"],
)
def test_a_generator_sends_what_it_yields(server: ti.Server, function: Callable[..., Any]) -> None:
    model = add(server, function)
    assert model.transaction_properties() == ti.ModelTxnPropertyFlag.DECOUPLED
    for count in (0, 1, 3):
        assert streamed(model.infer({"x": array(count)})) == [[step] for step in range(count)]


def test_responses_come_while_the_generator_runs(server: ti.Server) -> None:
    go_on = threading.Event()

    def function(x: Array) -> Iterator[Array]:
        yield x
        assert go_on.wait(10)
        yield x + 1

    responses = add(server, function).infer({"x": array(1)})
    assert next(responses).outputs["y"].numpy().tolist() == [1]
    go_on.set()
    assert streamed(responses) == [[2]]


def test_an_iterator_is_streamed_where_it_is_declared(server: ti.Server) -> None:
    model = add(server, lambda x: map(lambda step: x + step, range(3)), decoupled=True)  # noqa: C417
    assert streamed(model.infer({"x": array(5)})) == [[5], [6], [7]]


@needs_cancel
@pytest.mark.parametrize("way", ["close", "cancel", "drop"])
def test_cancellation_closes_the_generator(server: ti.Server, way: str) -> None:
    closed = threading.Event()

    def function(x: Array) -> Iterator[Array]:
        try:
            while True:
                yield x
        except GeneratorExit:
            closed.set()
            raise

    responses = add(server, function).infer({"x": array(1)})
    next(responses)
    if way == "drop":
        del responses
        gc.collect()
    else:
        getattr(responses, way)()
    assert closed.wait(10)


def test_a_generator_that_is_not_finished_is_closed_after_a_wrong_result(server: ti.Server) -> None:
    closed = threading.Event()

    def function(x: Array) -> Iterator[Any]:
        try:
            yield None
        finally:
            closed.set()

    with pytest.raises(ti.InternalError, match="None"):
        add(server, function).infer({"x": array(1)}).result()
    assert closed.wait(10)


def test_several_instances_stream_at_once(server: ti.Server) -> None:
    together = threading.Barrier(2, timeout=10)

    def function(x: Array) -> Iterator[Array]:
        yield x
        together.wait()
        yield x + 1

    model = add(server, function, instances=2)
    both = [model.infer({"x": array(value)}) for value in (1, 5)]
    assert [streamed(each) for each in both] == [[[1], [2]], [[5], [6]]]


def test_a_stream_of_batches(server: ti.Server) -> None:
    def function(x: Array) -> Iterator[Array]:
        yield x
        yield x * 2

    model = add(server, function, max_batch_size=4, **ROW)
    assert streamed(model.infer({"x": np.array([[1], [2]], np.float32)})) == [[[1], [2]], [[2], [4]]]


def test_a_stream_keeps_the_inputs_alive(server: ti.Server) -> None:
    go_on = threading.Event()

    def function(x: Array) -> Iterator[Array]:
        yield x
        assert go_on.wait(10)
        yield x

    sent = np.arange(1000, dtype=np.float32)
    responses = add(server, function).infer({"x": sent})
    del sent
    next(responses)
    gc.collect()
    go_on.set()
    assert streamed(responses) == [list(range(1000))]


# -- async functions ---------------------------------------------------------------------------------------------------


def test_async_functions_run_many_at_once_on_one_thread(server: ti.Server) -> None:
    count = 20
    threads: set[int] = set()
    waiting = 0
    everybody: asyncio.Event | None = None

    async def function(x: Array) -> Array:
        nonlocal waiting, everybody
        everybody = everybody or asyncio.Event()
        threads.add(threading.get_ident())
        waiting += 1
        if waiting == count:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 10)
        return x + 1

    model = add(server, function)
    sent = [model.infer({"x": array(value)}) for value in range(count)]
    assert [each.result().outputs["y"].numpy().item() for each in sent] == list(range(1, count + 1))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


class AsyncObject:
    async def __call__(self, x: Array) -> Array:
        await asyncio.sleep(0)
        return x + 1


@pytest.mark.parametrize("function", [AsyncObject(), AsyncObject], ids=["object", "class"])
def test_objects_may_be_async(server: ti.Server, function: Any) -> None:
    assert answer(add(server, function), x=array(1)).tolist() == [2]


def test_async_requests_of_a_batch_are_calls_of_their_own(server: ti.Server) -> None:
    shapes: list[tuple[int, ...]] = []

    async def function(x: Array) -> Array:
        shapes.append(x.shape)
        return x

    batching = ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[3])
    model = add(server, function, max_batch_size=3, batching=batching, **ROW)
    sent = [model.infer({"x": np.zeros((rows, 1), np.float32)}) for rows in (2, 1)]
    assert [each.result().outputs["y"].shape for each in sent] == [(2, 1), (1, 1)]
    assert shapes == [(2, 1), (1, 1)]


def test_no_more_calls_than_may_run_at_once(server: ti.Server) -> None:
    running = 0
    most = 0

    async def function(x: Array) -> Array:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        return x

    model = add(server, function, max_concurrency=3)
    for each in [model.infer({"x": array(1)}) for _ in range(20)]:
        each.result()
    assert most == 3


def test_an_async_generator_streams(server: ti.Server) -> None:
    async def function(x: Array) -> AsyncIterator[Array]:
        for step in range(3):
            await asyncio.sleep(0)
            yield x + step

    model = add(server, function)
    assert model.transaction_properties() == ti.ModelTxnPropertyFlag.DECOUPLED
    sent = [model.infer({"x": array(value)}) for value in (0, 10)]
    assert [streamed(each) for each in sent] == [[[0], [1], [2]], [[10], [11], [12]]]


@needs_cancel
@pytest.mark.parametrize("stream", [False, True])
def test_cancellation_cancels_the_task(server: ti.Server, stream: bool) -> None:
    entered, cancelled = threading.Event(), threading.Event()

    async def wait() -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def function(x: Array) -> Array:
        await wait()
        return x

    async def generator(x: Array) -> AsyncIterator[Array]:
        await wait()
        yield x

    responses = add(server, generator if stream else function).infer({"x": array(1)})
    assert entered.wait(10)
    responses.cancel()
    with pytest.raises(ti.CancelledError):
        next(responses)
    assert cancelled.wait(10)


@needs_cancel
def test_a_cancelled_async_generator_is_closed(server: ti.Server) -> None:
    closed = threading.Event()

    async def function(x: Array) -> AsyncIterator[Array]:
        try:
            while True:
                yield x
                await asyncio.sleep(0)
        finally:
            closed.set()

    responses = add(server, function).infer({"x": array(1)})
    next(responses)
    responses.close()
    assert closed.wait(10)


def test_async_and_await_meet_in_one_process(server: ti.Server) -> None:
    async def function(x: Array) -> Array:
        await asyncio.sleep(0)
        return x + 1

    model = add(server, function)

    async def ask() -> list[float]:
        responses = await asyncio.gather(*(model.async_infer({"x": array(value)}) for value in range(50)))
        return [each.outputs["y"].numpy().item() for each in responses]

    assert asyncio.run(ask()) == list(range(1, 51))


def test_a_stop_waits_for_what_is_awaited(start_server: StartServer) -> None:
    server = start_server()
    entered = threading.Event()

    async def function(x: Array) -> Array:
        entered.set()
        await asyncio.sleep(0.1)
        return x

    responses = add(server, function).infer({"x": array(7)})
    assert entered.wait(10)
    server.stop()
    assert responses.result().outputs["y"].numpy().tolist() == [7]


def test_the_loops_thread_ends_with_its_model(server: ti.Server) -> None:
    async def function(x: Array) -> Array:
        return x

    model = add(server, function, name="threaded")
    answer(model, x=array(1))
    names = [each.name for each in threading.enumerate()]
    assert "triton-inprocess-threaded" in names
    server.remove_model("threaded")
    assert "triton-inprocess-threaded" not in [each.name for each in threading.enumerate()]


# -- objects with a life -----------------------------------------------------------------------------------------------


class Living:
    told: list[str]

    def __init__(self) -> None:
        type(self).told.append("made")

    def initialize(self, context: ti.InstanceContext) -> None:
        self.context = context
        type(self).told.append(f"initialize {context.instance}")

    def __call__(self, x: Array) -> Array:
        return x + len(self.context.model)

    def finalize(self) -> None:
        type(self).told.append(f"finalize {self.context.instance}")


@pytest.fixture
def living() -> type[Living]:
    return type("OfATest", (Living,), {"told": []})


def test_each_instance_has_an_object_of_a_class(server: ti.Server, living: type[Living]) -> None:
    model = add(server, living, instances=2)
    assert sorted(living.told) == ["initialize model_0_0", "initialize model_0_1", "made", "made"]
    assert answer(model, x=array(1)).tolist() == [6]
    living.told.clear()
    server.remove_model("model")
    assert sorted(living.told) == ["finalize model_0_0", "finalize model_0_1"]


def test_an_object_is_shared_and_told_once(server: ti.Server, living: type[Living]) -> None:
    made = living()
    model = add(server, made, instances=3)
    assert [each for each in living.told if each.startswith("initialize")] == [f"initialize {made.context.instance}"]
    assert (made.context.model, made.context.version, made.context.instances) == ("model", 1, 3)
    assert answer(model, x=array(1)).tolist() == [6]
    server.remove_model("model")
    assert [each for each in living.told if each.startswith("finalize")] == [f"finalize {made.context.instance}"]


def test_a_stop_finalizes(start_server: StartServer, living: type[Living]) -> None:
    server = start_server()
    add(server, living)
    server.stop()
    assert living.told[-1] == "finalize model_0_0"


def test_objects_of_instances_are_not_mixed_up(server: ti.Server) -> None:
    together = threading.Barrier(2, timeout=10)

    class Own:
        def __init__(self) -> None:
            self.inside = 0

        def __call__(self, x: Array) -> Array:
            self.inside += 1
            together.wait()
            alone = self.inside == 1
            together.wait()
            self.inside -= 1
            return array(alone)

    model = add(server, Own, instances=2)
    for _ in range(5):
        both = [model.infer({"x": array(0)}) for _ in range(2)]
        assert [each.result().outputs["y"].numpy().item() for each in both] == [1, 1]


def test_a_partial_of_a_class_makes_objects(server: ti.Server) -> None:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = np.float32(factor)

        def __call__(self, x: Array) -> Array:
            return x * self.factor

    assert answer(add(server, functools.partial(Scale, 3)), x=array(2)).tolist() == [6]


def test_initialize_need_not_take_a_context(server: ti.Server) -> None:
    class Brief:
        def initialize(self) -> None:
            self.ready = True

        def __call__(self, x: Array) -> Array:
            return x if self.ready else x - 1

    assert answer(add(server, Brief), x=array(2)).tolist() == [2]


def test_async_objects_may_be_initialized_on_their_loop(server: ti.Server) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    class Client:
        async def initialize(self, context: ti.InstanceContext) -> None:
            loops.append(asyncio.get_running_loop())

        async def __call__(self, x: Array) -> Array:
            loops.append(asyncio.get_running_loop())
            return x

        async def finalize(self) -> None:
            loops.append(asyncio.get_running_loop())

    answer(add(server, Client), x=array(1))
    server.remove_model("model")
    assert len(loops) == 3
    assert len(set(loops)) == 1


def test_an_async_initialize_needs_an_async_function(server: ti.Server) -> None:
    class Mixed:
        async def initialize(self, context: ti.InstanceContext) -> None: ...

        def __call__(self, x: Array) -> Array:
            return x

    with pytest.raises(ti.TritonError, match="async"):
        add(server, Mixed)


def test_objects_are_let_go_with_their_model(server: ti.Server) -> None:
    made: list[weakref.ref[Any]] = []

    class Counted:
        def __init__(self) -> None:
            made.append(weakref.ref(self))

        def __call__(self, x: Array) -> Array:
            return x

    answer(add(server, Counted, instances=2), x=array(1))
    assert all(each() is not None for each in made)
    server.remove_model("model")
    gc.collect()
    assert [each() for each in made] == [None, None]


# -- what a function is told -------------------------------------------------------------------------------------------


def test_a_context_tells_of_the_request(server: ti.Server) -> None:
    contexts: list[ti.RequestContext] = []

    def function(x: Array, *, context: ti.RequestContext) -> Array:
        contexts.append(context)
        return x

    model = add(server, function, version=3)
    before = time.monotonic()
    model.infer({"x": array(1)}, request_id="mine", correlation_id="seven", timeout=60_000_000).result()
    model.infer({"x": array(1)}, correlation_id=7).result()
    first, second = contexts
    assert (first.model, first.version) == ("model", 3)
    assert first.instance.startswith("model_0")
    assert (first.request_id, first.correlation_id, int(first.flags), first.parameters) == ("mine", "seven", 0, {})
    assert (first.rows, first.trace_id, first.state) == (1, None, {})
    assert not first.sequence_start
    assert not first.sequence_end
    if first.timeout:  # told since C API 1.17
        assert first.timeout == 60_000_000
        assert first.deadline is not None
        assert before + 60 <= first.deadline <= time.monotonic() + 60
    assert (second.request_id, second.correlation_id, second.timeout, second.deadline) == ("", 7, 0, None)
    assert not first.is_cancelled()
    assert "mine" in repr(first)


@pytest.mark.needs(SET_INT_PARAMETER)
@pytest.mark.parametrize("kind", ["function", "generator", "async", "sample"])
def test_parameters_come_by_name(server: ti.Server, kind: str) -> None:
    seen: list[dict[str, Any]] = []

    def function(x: Array, *, parameters: dict[str, Any]) -> Array:
        seen.append(parameters)
        return x

    def generator(x: Array, *, parameters: dict[str, Any]) -> Iterator[Array]:
        yield function(x, parameters=parameters)

    async def wait(x: Array, *, parameters: dict[str, Any]) -> Array:
        return function(x, parameters=parameters)

    chosen = {"generator": generator, "async": wait}.get(kind, function)
    sample = kind == "sample"
    model = add(server, chosen, batch=not sample, max_batch_size=2 if sample else 0)
    sent = {"text": "é", "number": -5, "flag": True}
    next(model.infer({"x": array(1)[None] if sample else array(1)}, parameters=sent))
    assert seen == [sent]


def test_a_batch_tells_of_each_request(server: ti.Server) -> None:
    contexts: list[ti.BatchContext] = []

    def function(x: Array, *, context: ti.BatchContext) -> Array:
        contexts.append(context)
        return np.repeat(np.array([len(each.request_id) for each in context.requests], np.float32), context.rows)[
            :, None
        ]

    batching = ti.Batching(max_queue_delay_us=5_000_000, preferred_sizes=[3])
    model = add(server, function, max_batch_size=3, batching=batching, **ROW)
    sent = [
        model.infer({"x": np.zeros((rows, 1), np.float32)}, request_id=request_id)
        for rows, request_id in ((1, "a"), (2, "bb"))
    ]
    assert [each.result().outputs["y"].numpy().tolist() for each in sent] == [[[1]], [[2], [2]]]
    (context,) = contexts
    assert (context.model, context.version, context.rows) == ("model", 1, (1, 2))
    assert context.instance.startswith("model_0")


@needs_cancel
def test_a_function_can_ask_whether_it_is_cancelled(server: ti.Server) -> None:
    entered, cancelled = threading.Event(), threading.Event()

    def function(x: Array, *, context: ti.RequestContext) -> Array:
        entered.set()
        deadline = time.monotonic() + 10
        while not context.is_cancelled() and time.monotonic() < deadline:
            time.sleep(0.001)
        if context.is_cancelled():
            cancelled.set()
        return x

    responses = add(server, function).infer({"x": array(1)})
    assert entered.wait(10)
    responses.cancel()
    assert cancelled.wait(10)


def test_a_context_may_be_kept(start_server: StartServer) -> None:
    server = start_server()
    contexts: list[ti.RequestContext] = []

    def function(x: Array, *, context: ti.RequestContext) -> Array:
        contexts.append(context)
        return x

    answer(add(server, function), x=array(1))
    server.stop()
    assert not contexts[0].is_cancelled()
    assert contexts[0].model == "model"


def test_a_traced_request_tells_its_trace(server: ti.Server) -> None:
    ids: list[int | None] = []

    def function(x: Array, *, context: ti.RequestContext) -> Array:
        ids.append(context.trace_id)
        return x

    trace = ti.Trace()
    add(server, function).infer({"x": array(1)}, trace=trace).result()
    assert trace.wait(10)
    assert ids == [None if lacks("TRITONBACKEND_RequestTrace") else trace.root.id]


# -- calls of other models ---------------------------------------------------------------------------------------------


def test_a_function_may_call_other_models(server: ti.Server) -> None:
    add(server, lambda x: x * 2, name="twice")
    outer = add(server, lambda x: server.model("twice")(x=x)["y"].numpy() + 1, name="outer")
    assert answer(outer, x=array(1, 2)).tolist() == [3, 5]


def test_an_async_function_may_await_other_models_and_itself(server: ti.Server) -> None:
    add(server, lambda x: x * 2, name="twice")

    async def function(x: Array) -> Array:
        if x[0] <= 0:
            return x
        await server.model("twice").async_infer({"x": x})
        deeper = await server.model("model").async_infer({"x": x - 1})
        return deeper.outputs["y"].numpy() + 1

    assert answer(add(server, function), x=array(5)).tolist() == [5]


def test_a_function_that_waits_for_itself_is_told(server: ti.Server) -> None:
    def function(x: Array) -> Array:
        return server.model("model")(x=x)["y"].numpy()

    with pytest.raises(ti.UnavailableError, match="'model' waits for an answer of its own model"):
        answer(add(server, function), x=array(1))
    assert server.live()


def test_an_async_function_that_blocks_for_itself_is_told(server: ti.Server) -> None:
    async def function(x: Array) -> Array:
        return server.model("model")(x=x)["y"].numpy()

    with pytest.raises(ti.UnavailableError, match="'model' waits for an answer of its own model"):
        answer(add(server, function), x=array(1))


def test_a_function_with_instances_left_may_ask_itself(server: ti.Server) -> None:
    def function(x: Array) -> Array:
        return x if x[0] <= 0 else server.model("model")(x=x - 1)["y"].numpy() + 10

    model = add(server, function, instances=3)
    assert answer(model, x=array(2)).tolist() == [20]
    with pytest.raises(ti.UnavailableError, match="all 3 of them"):
        answer(model, x=array(3))


def test_a_function_may_ask_a_model_of_its_name_on_another_server(start_server: StartServer) -> None:
    first, second = start_server(), start_server()
    add(second, lambda x: x + 1)
    outer = add(first, lambda x: second.model("model")(x=x)["y"].numpy() * 2)
    assert answer(outer, x=array(1)).tolist() == [4]


def test_a_function_may_send_itself_what_it_does_not_wait_for(server: ti.Server) -> None:
    later: list[Any] = []

    def function(x: Array) -> Array:
        if x[0] > 0:
            later.append(server.model("model").infer({"x": x - 1}))
        return x

    model = add(server, function)
    assert answer(model, x=array(2)).tolist() == [2]
    assert later[0].result().outputs["y"].numpy().tolist() == [1]


# -- what is refused ---------------------------------------------------------------------------------------------------


async def _async(x: Array) -> Array:
    return x


class Uncallable:
    pass


@pytest.mark.parametrize(
    ("function", "arguments", "error", "word"),
    [
        (lambda x: x, {"batch": 1}, TypeError, "batch"),
        (lambda requests: [], {"requests": "yes"}, TypeError, "requests"),
        (lambda requests: [], {"requests": True, "batch": False}, ValueError, "batch=False and requests=True"),
        (count_up, {"batch": False, "max_batch_size": 2}, ValueError, "batch=False.*a generator"),
        (count_up, {"requests": True}, ValueError, "requests=True.*a generator"),
        (count_up, {"decoupled": False}, ValueError, "decoupled.*a generator"),
        (count_up, {"isolate_failures": True}, ValueError, "isolate_failures"),
        (count_up, {"response_cache": True}, ValueError, "response_cache"),
        (_async, {"batch": False, "max_batch_size": 2}, ValueError, "batch=False.*an async function"),
        (_async, {"decoupled": True}, ValueError, "decoupled.*async"),
        (_async, {"max_concurrency": 0}, ValueError, "max_concurrency"),
        (lambda x: x, {"decoupled": 1}, TypeError, "decoupled"),
        (lambda x: x, {"isolate_failures": None}, TypeError, "isolate_failures"),
        (lambda: [], {"requests": True}, TypeError, "list of requests"),
        (lambda requests, *, context: [], {"requests": True}, TypeError, "context"),
        (lambda x, *, parameters: x, {"max_batch_size": 4}, TypeError, "parameters.*context.requests"),
        (lambda x, *, context: x, {"inputs": {"x": X["x"], "context": X["x"]}}, ValueError, "context"),
        (lambda x, *, other: x, {}, TypeError, "other"),
        (Uncallable, {}, TypeError, "Uncallable"),
    ],
    ids=shown,
)
def test_a_contradiction_is_refused(
    server: ti.Server, function: Any, arguments: dict[str, Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        add(server, function, **arguments)
    assert server.models() == {}


def test_an_input_may_be_called_context(server: ti.Server) -> None:
    model = server.add_model(lambda context: context + 1, name="model", inputs={"context": X["x"]}, outputs=Y)
    assert answer(model, context=array(1)).tolist() == [2]
