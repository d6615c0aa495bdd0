"""Model.infer_many: many requests, some of them in flight at once."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import add_echo, needs_cancel
from helpers_gate import Gate

import triton_inprocess as ti


def by_for(model: ti.Model, requests: Any, **arguments: Any) -> list[ti.InferenceResponse]:
    return list(model.infer_many(requests, **arguments))


def by_async_for(model: ti.Model, requests: Any, **arguments: Any) -> list[ti.InferenceResponse]:
    async def collect() -> list[ti.InferenceResponse]:
        return [response async for response in model.async_infer_many(requests, **arguments)]

    return asyncio.run(collect())


both = pytest.mark.parametrize("infer", [by_for, by_async_for])


def inputs(count: int) -> Iterator[dict[str, Any]]:
    return ({"x": np.full(3, i, np.float32)} for i in range(count))


@both
@pytest.mark.parametrize(("count", "max_in_flight"), [(0, 64), (1, 1), (5, 1), (5, 2), (200, 64), (7, 100)])
def test_the_responses_come_in_the_order_of_the_requests(
    server: ti.Server, infer: Any, count: int, max_in_flight: int
) -> None:
    responses = infer(add_echo(server, instances=4), inputs(count), max_in_flight=max_in_flight)
    assert [response.outputs["y"].tolist() for response in responses] == [[i] * 3 for i in range(count)]


@both
def test_requests_may_be_objects_and_have_fields(server: ti.Server, infer: Any) -> None:
    model = add_echo(server)
    requests = [model.create_request(inputs=each, request_id=str(i)) for i, each in enumerate(inputs(3))]
    assert [response.request_id for response in infer(model, requests)] == ["0", "1", "2"]
    assert [response.request_id for response in infer(model, inputs(2), request_id="all")] == ["all", "all"]


def test_so_many_are_in_flight_and_no_more(server: ti.Server) -> None:
    taken = itertools.count()

    def endless() -> Iterator[dict[str, Any]]:
        while True:
            next(taken)
            yield {"x": [1.0]}

    responses = model_of(server).infer_many(endless(), max_in_flight=5)
    for _ in range(10):
        next(responses)
    assert 10 <= next(taken) <= 5 + 9
    responses.close()  # type: ignore[attr-defined]


def model_of(server: ti.Server) -> ti.Model:
    return add_echo(server)


@both
@pytest.mark.parametrize("raise_on_error", [True, False])
def test_errors_are_raised_or_handed_out(server: ti.Server, infer: Any, raise_on_error: bool) -> None:
    def fail(x: Any) -> Any:
        if x[0] == 2:
            raise ValueError("no twos")
        return x

    model = server.add_model(fail, name="m", inputs={"x": (np.float32, (3,))}, outputs={"y": (np.float32, (3,))})
    if raise_on_error:
        with pytest.raises(ti.InternalError, match="no twos"):
            infer(model, inputs(5))
    else:
        responses = infer(model, inputs(5), raise_on_error=False)
        assert [response.error is not None for response in responses] == [False, False, True, False, False]


@both
def test_the_first_wrong_input_is_told(server: ti.Server, infer: Any) -> None:
    with pytest.raises(ti.InvalidArgumentError, match="no input 'z'"):
        infer(add_echo(server), [{"x": [1]}, {"z": [1]}])


@both
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "64"])
def test_what_is_no_number_of_requests_is_refused(server: ti.Server, infer: Any, wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="max_in_flight must be"):
        infer(add_echo(server), inputs(1), max_in_flight=wrong)


def test_requests_may_come_asynchronously(server: ti.Server) -> None:
    async def requests() -> AsyncIterator[dict[str, Any]]:
        for each in inputs(5):
            await asyncio.sleep(0)
            yield each

    responses = by_async_for(add_echo(server), requests(), max_in_flight=2)
    assert [response.outputs["y"].tolist()[0] for response in responses] == [0, 1, 2, 3, 4]


@needs_cancel
def test_leaving_early_cancels_what_is_in_flight(server: ti.Server, gate: Gate) -> None:
    model = server.add_model(gate, name="m", inputs={"x": (np.float32, (3,))}, outputs={"y": (np.float32, (3,))})
    first = model.infer(next(inputs(1)))
    gate.wait()

    def requests() -> Iterator[dict[str, Any]]:
        yield from inputs(4)
        raise KeyError("of the requests")

    with pytest.raises(KeyError, match="of the requests"):
        list(model.infer_many(requests(), max_in_flight=8))
    gate.opened.set()
    first.result()
    model.infer(next(inputs(1))).result()
    assert gate.calls == 2


@both
@pytest.mark.parametrize(("count", "max_in_flight"), [(0, 64), (1, 1), (5, 2), (200, 64)])
def test_unordered_every_response_comes_once(server: ti.Server, infer: Any, count: int, max_in_flight: int) -> None:
    responses = infer(add_echo(server, instances=4), inputs(count), max_in_flight=max_in_flight, ordered=False)
    assert sorted(response.outputs["y"].tolist() for response in responses) == [[i] * 3 for i in range(count)]


@both
def test_unordered_the_fast_ones_do_not_wait_for_the_slow(server: ti.Server, infer: Any) -> None:
    slow_may_go = threading.Event()

    def answer(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if x[0] == 0:
            slow_may_go.wait()
        elif x[0] == 4:
            slow_may_go.set()
        return x

    spec = {"x": (np.float32, (3,))}
    model = server.add_model(answer, name="uneven", inputs=spec, outputs={"y": (np.float32, (3,))}, instances=2)
    responses = infer(model, inputs(5), max_in_flight=2, ordered=False)
    values = [response.outputs["y"].tolist()[0] for response in responses]
    assert sorted(values) == [0, 1, 2, 3, 4]
    assert values[0] != 0


@both
def test_unordered_the_first_error_ends_it(server: ti.Server, infer: Any) -> None:
    def fail(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raise ti.NotFoundError("nowhere")

    model = server.add_model(fail, name="fail", inputs={"x": (np.float32, (3,))}, outputs={"y": (np.float32, (3,))})
    with pytest.raises(ti.NotFoundError, match="nowhere"):
        infer(model, inputs(9), max_in_flight=4, ordered=False)
    handed_out = infer(model, inputs(9), max_in_flight=4, ordered=False, raise_on_error=False)
    assert [type(response.error) for response in handed_out] == [ti.NotFoundError] * 9


@both
def test_unordered_the_deadline_holds(server: ti.Server, infer: Any, gate: Gate) -> None:
    model = server.add_model(gate, name="m", inputs={"x": (np.float32, (3,))}, outputs={"y": (np.float32, (3,))})
    with pytest.raises(TimeoutError, match="deadline"):
        infer(model, inputs(3), ordered=False, deadline=0.05)


@both
def test_order_is_a_bool(server: ti.Server, infer: Any) -> None:
    with pytest.raises(TypeError, match="ordered must be a bool, not str"):
        infer(add_echo(server), inputs(1), ordered="yes")
