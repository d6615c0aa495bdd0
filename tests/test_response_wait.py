"""What a coroutine awaits for a response stands in for asyncio's futures: everything that drives those drives it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from asyncio import tasks
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import numpy as np
import pytest

import triton_inprocess as ti


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Opened, the model answers."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def model(server: ti.Server, gate: threading.Event) -> ti.Model:
    """Answers with its input once the gate is open."""

    def answer(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        gate.wait()
        return x

    return server.add_model(answer, name="gated", inputs={"x": (np.float32, (1,))}, outputs={"y": (np.float32, (1,))})


def request(model: ti.Model, number: float = 1, **fields: Any) -> ti.AsyncResponseIterator:
    return model.async_infer({"x": np.array([number], np.float32)}, **fields)


def value(response: ti.InferenceResponse) -> float:
    return float(response.outputs["y"].numpy()[0])


async def open_later(gate: threading.Event) -> None:
    await asyncio.sleep(0.01)
    gate.set()


async def awaited(iterator: ti.AsyncResponseIterator) -> float:
    return value(await iterator)


async def iterated(iterator: ti.AsyncResponseIterator) -> float:
    (only,) = [value(response) async for response in iterator]
    return only


@pytest.mark.parametrize("how", [awaited, iterated])
@pytest.mark.parametrize("task_class", [asyncio.Task, tasks._PyTask])  # type: ignore[attr-defined]
def test_tasks_of_c_and_of_python(
    model: ti.Model,
    gate: threading.Event,
    how: Callable[[ti.AsyncResponseIterator], Coroutine[Any, Any, float]],
    task_class: type[asyncio.Task[float]],
) -> None:
    async def use() -> list[float]:
        loop = asyncio.get_running_loop()
        opening = asyncio.create_task(open_later(gate))
        waiting = [task_class(how(request(model, number)), loop=loop) for number in range(5)]
        await opening
        return await asyncio.gather(*waiting)

    assert asyncio.run(use()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("task_class", [asyncio.Task, tasks._PyTask])  # type: ignore[attr-defined]
def test_a_cancelled_task_hears_the_message(model: ti.Model, task_class: type[asyncio.Task[float]]) -> None:
    async def use() -> None:
        task = task_class(awaited(request(model)), loop=asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        assert task.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task

    asyncio.run(use())


def test_what_asyncio_offers_for_waiting(model: ti.Model, gate: threading.Event) -> None:
    async def use() -> list[float]:
        opening = asyncio.create_task(open_later(gate))
        values = [
            value(await asyncio.wait_for(request(model, 1), 10)),
            value(await asyncio.wait_for(request(model, 2).__anext__(), 10)),
            value(await asyncio.shield(request(model, 3))),
            *map(value, await asyncio.gather(request(model, 4), request(model, 5).__anext__())),
        ]
        done, _ = await asyncio.wait([asyncio.ensure_future(request(model, 6))])
        await opening
        return [*values, *(value(task.result()) for task in done)]

    assert asyncio.run(use()) == [1, 2, 3, 4, 5, 6]


def test_a_shielded_wait_goes_on_without_its_waiter(model: ti.Model, gate: threading.Event) -> None:
    async def use() -> float:
        inner = asyncio.ensure_future(request(model, 7))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(inner), 0.01)
        gate.set()
        return value(await inner)

    assert asyncio.run(use()) == 7


def test_the_task_goes_on_in_its_own_context(model: ti.Model, gate: threading.Event) -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name")

    async def use(own: str) -> bool:
        name.set(own)
        await request(model)
        return name.get() == own

    async def both() -> list[bool]:
        opening = asyncio.create_task(open_later(gate))
        same = await asyncio.gather(use("a"), use("b"))
        await opening
        return same

    assert asyncio.run(both()) == [True, True]


def test_an_interrupt_in_one_task_takes_nothing_from_the_others(model: ti.Model, gate: threading.Event) -> None:
    async def interrupted() -> None:
        await request(model, 0)
        raise KeyboardInterrupt

    others: list[asyncio.Task[float]] = []

    async def begin() -> None:
        first = asyncio.create_task(interrupted())
        others.extend(asyncio.create_task(awaited(request(model, number))) for number in (1, 2))
        await asyncio.sleep(0.01)
        gate.set()
        while model.statistics()["model_stats"][0]["inference_stats"]["success"]["count"] < 3:
            time.sleep(0.001)  # the loop stands still: all three are there when it looks
        await asyncio.sleep(0)
        await asyncio.wait([first])

    async def end() -> list[float]:
        return await asyncio.gather(*others)

    loop = asyncio.new_event_loop()
    beginning = loop.create_task(begin())
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(beginning)
    assert loop.run_until_complete(asyncio.wait_for(end(), 10)) == [1, 2]
    loop.run_until_complete(beginning)
    loop.close()


def test_driven_by_hand(model: ti.Model, gate: threading.Event) -> None:
    async def use() -> None:
        iterator = request(model)
        coroutine = awaited(iterator)
        wait = coroutine.send(None)
        assert asyncio.isfuture(wait)
        assert wait.get_loop() is asyncio.get_running_loop()
        assert not wait.done()
        assert coroutine.send(None) is wait  # nothing has come
        called: list[object] = []
        wait.add_done_callback(called.append)
        with pytest.raises(ti.UnavailableError, match="another task"):
            wait.add_done_callback(called.append)
        gate.set()
        while not called:
            await asyncio.sleep(0.001)
        assert called == [wait]
        assert wait.done()
        assert not wait.cancelled()
        with pytest.raises(StopIteration) as end:
            coroutine.send(None)
        assert end.value.value == 1
        with pytest.raises(ti.UnavailableError, match="already"):
            wait.send(None)

    asyncio.run(use())


def test_a_closed_coroutine_cancels_its_request(model: ti.Model) -> None:
    async def use() -> None:
        iterator = request(model)
        coroutine = awaited(iterator)
        coroutine.send(None)
        coroutine.close()
        assert "finished" in repr(iterator)

    asyncio.run(use())


def test_what_never_began_to_wait_keeps_nobody_out(model: ti.Model, gate: threading.Event) -> None:
    async def use() -> float:
        iterator = request(model, 3)
        first, second = iterator.__anext__(), iterator.__anext__()
        assert not asyncio.isfuture(first)
        gate.set()
        assert value(await second) == 3
        with pytest.raises(StopAsyncIteration):
            await first
        return 3

    assert asyncio.run(use()) == 3


def test_closing_from_another_thread_wakes_the_waiter(model: ti.Model) -> None:
    async def use() -> None:
        iterator = request(model)
        task = asyncio.create_task(awaited(iterator))
        await asyncio.sleep(0.01)
        await asyncio.to_thread(iterator.close)
        with pytest.raises(ti.CancelledError, match="closed"):
            await task

    asyncio.run(use())
