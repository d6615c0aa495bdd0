"""Requests from event loops."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, needs_cancel, write_identity

import triton_inprocess as ti

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run in a loop that complains about what was forgotten and what blocks."""
    return asyncio.run(asyncio.wait_for(coroutine, 20), debug=True)


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


async def answer_async(model: ti.Model, output: str = "y", **inputs: Any) -> list[float]:
    responses = [response async for response in model.async_infer(inputs=inputs)]
    assert [response.final for response in responses] == [True]
    received: list[float] = responses[0].outputs[output].numpy().tolist()
    return received


@pytest.fixture
def echo(server: ti.Server) -> ti.Model:
    return add_echo(server)


@pytest.fixture
def slow(server: ti.Server) -> tuple[ti.Model, threading.Event]:
    """A model that answers when the event is set."""
    go_on = threading.Event()
    model = server.add_model(
        lambda x: go_on.wait(10) and x,
        name="slow",
        inputs={"x": (np.float32, (-1,))},
        outputs={"y": (np.float32, (-1,))},
    )
    return model, go_on


def test_an_answer(echo: ti.Model) -> None:
    assert run(answer_async(echo, x=array(1, 2))) == [1, 2]


def test_a_request_object_may_be_given(echo: ti.Model) -> None:
    async def use() -> str:
        request = echo.create_request(inputs={"x": array(1)}, request_id="seven")
        async for response in echo.async_infer(request):
            return response.request_id
        raise AssertionError("no response")

    assert run(use()) == "seven"


def test_many_requests_at_once_get_their_own_answers(echo: ti.Model) -> None:
    async def use() -> list[list[float]]:
        return await asyncio.gather(*(answer_async(echo, x=array(number)) for number in range(200)))

    assert run(use()) == [[number] for number in range(200)]


def test_iteration_ends_and_stays_ended(echo: ti.Model) -> None:
    async def use() -> None:
        responses = echo.async_infer(inputs={"x": array(1)})
        assert responses.__aiter__() is responses
        assert (await responses.__anext__()).final
        for _ in range(2):
            with pytest.raises(StopAsyncIteration):
                await responses.__anext__()

    run(use())


def test_an_answer_that_is_there_already(echo: ti.Model) -> None:
    async def use() -> list[float]:
        responses = echo.async_infer(inputs={"x": array(1)})
        answer(echo, x=array(2))  # in the same instance, so after the first
        received: list[float] = (await responses.__anext__()).outputs["y"].numpy().tolist()
        return received

    assert run(use()) == [1]


def test_a_request_may_be_sent_before_the_loop_runs(echo: ti.Model) -> None:
    responses = echo.async_infer(inputs={"x": array(1)})

    async def use() -> list[float]:
        return [float(response.outputs["y"].numpy()[0]) async for response in responses]

    assert run(use()) == [1]


def test_an_error_is_raised_and_ends_the_iteration(server: ti.Server) -> None:
    def fail(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raise ValueError("no more coffee")

    model = server.add_model(fail, name="fail", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})

    async def use() -> None:
        responses = model.async_infer(inputs={"x": array(1)})
        with pytest.raises(ti.InternalError, match="no more coffee"):
            await responses.__anext__()
        with pytest.raises(StopAsyncIteration):
            await responses.__anext__()
        handed_out = [each async for each in model.async_infer(inputs={"x": array(1)}, raise_on_error=False)]
        assert [type(each.error) for each in handed_out] == [ti.InternalError]

    run(use())


def test_a_bad_request_is_refused_at_once(echo: ti.Model) -> None:
    async def use() -> None:
        with pytest.raises(ti.InvalidArgumentError, match="nowhere"):
            echo.async_infer(inputs={"nowhere": array(1)})

    run(use())


def test_without_a_loop_waiting_is_refused(echo: ti.Model) -> None:
    responses = echo.async_infer(inputs={"x": array(1)})
    with pytest.raises(RuntimeError, match="event loop"):
        responses.__anext__()


def test_the_loop_goes_on_while_a_request_is_waited_for(slow: tuple[ti.Model, threading.Event]) -> None:
    model, go_on = slow

    async def use() -> list[float]:
        task = asyncio.create_task(answer_async(model, x=array(1)))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not task.done()
        go_on.set()
        return await task

    assert run(use()) == [1]


def test_a_wait_that_timed_out_can_be_taken_up_again(slow: tuple[ti.Model, threading.Event]) -> None:
    model, go_on = slow

    async def use() -> list[float]:
        responses = model.async_infer(inputs={"x": array(3)})
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(responses.__anext__(), 0.01)
        go_on.set()
        received: list[float] = (await responses.__anext__()).outputs["y"].numpy().tolist()
        return received

    assert run(use()) == [3]


def test_only_one_coroutine_may_wait_for_the_next_response(slow: tuple[ti.Model, threading.Event]) -> None:
    model, go_on = slow

    async def use() -> None:
        responses = model.async_infer(inputs={"x": array(1)})
        first = asyncio.ensure_future(responses.__anext__())
        await asyncio.sleep(0)
        with pytest.raises(ti.UnavailableError, match="waiting"):
            responses.__anext__()
        go_on.set()
        assert (await first).final

    run(use())


def test_a_cancelled_task_does_no_harm(slow: tuple[ti.Model, threading.Event], server: ti.Server) -> None:
    model, go_on = slow

    async def use() -> list[float]:
        tasks = [asyncio.create_task(answer_async(model, x=array(number))) for number in range(10)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        go_on.set()
        return await answer_async(add_echo(server), x=array(4))

    assert run(use()) == [4]


def test_a_request_may_outlive_its_loop(slow: tuple[ti.Model, threading.Event]) -> None:
    model, go_on = slow

    async def leave() -> ti.AsyncResponseIterator:
        responses = model.async_infer(inputs={"x": array(5)})
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(responses.__anext__(), 0.01)
        return responses

    async def take_up(responses: ti.AsyncResponseIterator) -> list[float]:
        received: list[float] = (await responses.__anext__()).outputs["y"].numpy().tolist()
        return received

    responses = run(leave())
    go_on.set()
    assert run(take_up(responses)) == [5]


def test_an_abandoned_request_does_no_harm(slow: tuple[ti.Model, threading.Event]) -> None:
    model, go_on = slow
    sent = array(1)
    references = sys.getrefcount(sent)

    async def abandon() -> None:
        asyncio.create_task(answer_async(model, x=sent))  # noqa: RUF006
        await asyncio.sleep(0.01)

    run(abandon())
    go_on.set()
    answer(model, x=array(2))
    gc.collect()
    answer(model, x=array(3))
    assert sys.getrefcount(sent) == references


def test_loop_after_loop(echo: ti.Model) -> None:
    for number in range(20):
        assert run(answer_async(echo, x=array(number))) == [number]


def test_loops_leave_no_files_open(echo: ti.Model) -> None:
    run(answer_async(echo, x=array(0)))
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        run(answer_async(echo, x=array(0)))
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_loops_in_several_threads(echo: ti.Model) -> None:
    async def use(number: int) -> list[list[float]]:
        return await asyncio.gather(*(answer_async(echo, x=array(number, turn)) for turn in range(50)))

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: run(use(number)), range(8)))
    assert results == [[[number, turn] for turn in range(50)] for number in range(8)]


def test_threads_and_a_loop_on_one_model(echo: ti.Model) -> None:
    async def use() -> list[list[float]]:
        return await asyncio.gather(*(answer_async(echo, x=array(turn)) for turn in range(200)))

    with ThreadPoolExecutor(2) as pool:
        threads = [pool.submit(lambda: [answer(echo, x=array(turn)).tolist() for turn in range(200)]) for _ in range(2)]
        expected = [[turn] for turn in range(200)]
        assert run(use()) == expected
        assert all(thread.result(20) == expected for thread in threads)


@needs_cancel
def test_cancel_ends_with_that_error(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 100_000})
    model = start_identity().model("identity")

    async def use() -> None:
        responses = model.async_infer(inputs={"INPUT0": array(1)})
        responses.cancel()
        with pytest.raises(ti.CancelledError):
            await responses.__anext__()

    run(use())


def test_responses_go_to_the_queue_too(echo: ti.Model) -> None:
    async def use() -> None:
        target: asyncio.Queue[ti.InferenceResponse] = asyncio.Queue()
        received = [
            response
            async for response in echo.async_infer(inputs={"x": array(1, 2)}, request_id="one", response_queue=target)
        ]
        queued = await target.get()
        assert [each.request_id for each in (*received, queued)] == ["one", "one"]
        assert queued.outputs["y"].numpy().tolist() == [1, 2]
        assert target.empty()

    run(use())


def test_a_function_may_call_another_model(server: ti.Server) -> None:
    inner = add_echo(server, name="inner")
    outer = server.add_model(
        lambda x: answer(inner, x=x + 1),
        name="outer",
        inputs={"x": (np.float32, (-1,))},
        outputs={"y": (np.float32, (-1,))},
    )
    assert run(answer_async(outer, x=array(1))) == [2]


def test_a_function_may_run_a_loop_of_its_own(server: ti.Server) -> None:
    inner = add_echo(server, name="inner")
    outer = server.add_model(
        lambda x: np.array(asyncio.run(answer_async(inner, x=x + 1)), np.float32),
        name="outer",
        inputs={"x": (np.float32, (-1,))},
        outputs={"y": (np.float32, (-1,))},
    )
    assert run(answer_async(outer, x=array(1))) == [2]
