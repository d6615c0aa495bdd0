"""Requests whose answer nobody wants any more: they are cancelled, and the next one does not queue behind them."""

from __future__ import annotations

import asyncio
import gc
import queue
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import answer, needs_cancel
from helpers_gate import Gate

import triton_inprocess as ti

pytestmark = needs_cancel

X = np.ones(4, np.float32)


@pytest.fixture
def model(server: ti.Server, gate: Gate) -> Iterator[ti.Model]:
    """Held up by a first request, so that others wait in Triton's queue."""
    model = server.add_model(gate, name="m", inputs={"x": (np.float32, (4,))}, outputs={"y": (np.float32, (4,))})
    first = model.infer({"x": X})
    gate.wait()
    yield model
    gate.opened.set()
    list(first)


def executed(model: ti.Model, gate: Gate) -> int:
    """How many of the requests have reached the function, besides the first one and a last one."""
    gate.opened.set()
    assert answer(model, x=X).tolist() == [2, 2, 2, 2]
    return gate.calls - 2


def drop(model: ti.Model) -> None:
    for _ in range(3):
        model.infer({"x": X})


def leave(model: ti.Model) -> None:
    with model.infer({"x": X}):
        pass


def close(model: ti.Model) -> None:
    responses = model.infer({"x": X})
    responses.close()
    responses.close()
    assert list(responses) == []
    with pytest.raises(ti.CancelledError, match="closed"):
        responses.result()


def collect(model: ti.Model) -> None:
    cycle: list[Any] = [model.infer({"x": X})]
    cycle.append(cycle)
    del cycle
    gc.collect()


def expire(model: ti.Model) -> None:
    for ask in (ti.ResponseIterator.result, next):
        responses = model.infer({"x": X}, deadline=0.02)
        with pytest.raises(TimeoutError, match=r"model 'm' has not answered within the deadline of 0\.02 s"):
            ask(responses)
        assert list(responses) == []


@pytest.mark.parametrize("abandon", [drop, leave, close, collect, expire])
def test_an_abandoned_request_is_not_executed(model: ti.Model, gate: Gate, abandon: Callable[[ti.Model], None]) -> None:
    abandon(model)
    assert executed(model, gate) == 0


async def drop_in_a_loop(model: ti.Model) -> None:
    model.async_infer({"x": X})


async def cancel_who_awaits(model: ti.Model) -> None:
    async def wait() -> None:
        await model.async_infer({"x": X})

    await cancel(asyncio.create_task(wait()))


async def cancel_who_iterates(model: ti.Model) -> None:
    async def wait() -> None:
        async for _ in model.async_infer({"x": X}):
            raise AssertionError

    await cancel(asyncio.create_task(wait()))


async def cancel_what_is_gathered(model: ti.Model) -> None:
    await cancel(asyncio.ensure_future(asyncio.gather(*[model.async_infer({"x": X}) for _ in range(3)])))


async def cancel(task: asyncio.Future[Any]) -> None:
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def time_out(model: ti.Model) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(model.async_infer({"x": X}), 0.01)


async def expire_in_a_loop(model: ti.Model) -> None:
    for ask in (lambda responses: responses, anext):
        with pytest.raises(TimeoutError, match=r"model 'm' has not answered within the deadline of 0\.02 s"):
            await ask(model.async_infer({"x": X}, deadline=0.02))


async def close_in_a_loop(model: ti.Model) -> None:
    responses = model.async_infer({"x": X})
    waiting = asyncio.ensure_future(anext(responses))
    await asyncio.sleep(0)
    responses.close()
    responses.close()
    with pytest.raises(ti.CancelledError, match="closed"):
        await waiting
    assert [response async for response in responses] == []
    with pytest.raises(ti.CancelledError, match="closed"):
        await model_closed(model)


async def model_closed(model: ti.Model) -> None:
    responses = model.async_infer({"x": X})
    responses.close()
    await responses


@pytest.mark.parametrize(
    "abandon",
    [
        drop_in_a_loop,
        cancel_who_awaits,
        cancel_who_iterates,
        cancel_what_is_gathered,
        time_out,
        expire_in_a_loop,
        close_in_a_loop,
    ],
)
def test_an_abandoned_request_of_a_loop_is_not_executed(
    model: ti.Model, gate: Gate, abandon: Callable[[ti.Model], Coroutine[Any, Any, None]]
) -> None:
    async def abandon_and_look() -> int:
        await abandon(model)
        return await asyncio.to_thread(executed, model, gate)

    assert asyncio.run(abandon_and_look()) == 0


def test_a_wait_that_timed_out_loses_no_response(model: ti.Model, gate: Gate) -> None:
    async def wait() -> list[ti.InferenceResponse]:
        responses = model.async_infer({"x": X})
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(responses), 0.01)
        gate.opened.set()
        return [response async for response in responses]

    (response,) = asyncio.run(wait())
    assert response.outputs["y"].tolist() == [2, 2, 2, 2]


def test_what_goes_to_a_queue_is_wanted(model: ti.Model, gate: Gate) -> None:
    responses: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    model.infer({"x": X}, response_queue=responses)
    gate.opened.set()
    assert responses.get(timeout=20).outputs["y"].tolist() == [2, 2, 2, 2]


def test_waiters_leave_nothing_behind(model: ti.Model, gate: Gate) -> None:
    """No future, iterator or task is held by the loop's hub once a task was cancelled."""

    async def count() -> tuple[int, int]:
        await cancel_who_iterates(model)
        before = alive()
        for _ in range(20):
            await cancel_who_iterates(model)
        return before, alive()

    def alive() -> int:
        return sum(isinstance(each, (ti.AsyncResponseIterator, asyncio.Future)) for each in gc.get_objects())

    gc.disable()
    try:
        before, after = asyncio.run(count())
    finally:
        gc.enable()
    assert after <= before


def test_a_generator_that_is_left_early_cancels_its_request(model: ti.Model, gate: Gate) -> None:
    async def responses() -> AsyncIterator[ti.InferenceResponse]:
        async for response in model.async_infer({"x": X}):
            yield response

    async def leave_early() -> int:
        generator = responses()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(generator), 0.01)
        return await asyncio.to_thread(executed, model, gate)

    assert asyncio.run(leave_early()) == 0
