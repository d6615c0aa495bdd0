"""Back-pressure: a model that answers faster than its reader waits for him, and is always let go."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, needs_cancel, run_beside_tests, write_identity

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)
MANY = 1000  # more than any bound here


@pytest.fixture
def stream(start_identity: StartServer, repository: Path) -> ti.Model:
    """A model that sends MANY responses as fast as it can; it has one instance."""
    write_identity(repository, decoupled=True, parameters={"responses": MANY})
    return start_identity().model("identity")


def allocations(model: ti.Model, **fields: Any) -> tuple[Callable[[], int], ti.MemoryAllocator]:
    """How many responses a model has begun: one output each."""

    class Counting(ti.MemoryAllocator):
        count = 0

        def allocate(self, byte_size: int, memory_type: ti.MemoryType, number: int, name: str, /) -> ti.MemoryBuffer:
            self.count += 1
            array = np.empty(byte_size, np.uint8)
            return ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, byte_size, array)

    counting = Counting()
    return (lambda: counting.count), counting


def settled(count: Callable[[], int]) -> int:
    """The count when it does not grow any more for a while."""
    last = -1
    while last != count():
        last = count()
        time.sleep(0.05)
    return last


def is_free(model: ti.Model) -> bool:
    """Whether the model's only instance answers another request to its end."""
    count = 0
    for response in model.infer({"INPUT0": X}, deadline=20, raise_on_error=False):
        count += 1
        last = response
    return last.final and count > 1


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_model_waits_for_its_reader(stream: ti.Model, limit: int) -> None:
    count, allocator = allocations(stream)
    responses = stream.infer({"INPUT0": X}, max_pending_responses=limit, output_memory_allocator=allocator)
    assert settled(count) == limit + 1  # and the one that the model holds
    for taken in range(1, 4):
        next(responses)
        assert settled(count) == limit + 1 + taken
    rest = list(responses)
    assert [each.parameters.get("index") for each in rest] == [*range(3, MANY), None]
    assert rest[-1].final


def test_every_response_comes_in_an_event_loop_too(stream: ti.Model) -> None:
    async def use() -> list[Any]:
        responses = stream.async_infer({"INPUT0": X}, max_pending_responses=2)
        return [response.parameters.get("index") async for response in responses]

    assert asyncio.run(use()) == [*range(MANY), None]


def test_the_model_waits_for_a_coroutine(stream: ti.Model) -> None:
    count, allocator = allocations(stream)

    async def use() -> None:
        responses = stream.async_infer({"INPUT0": X}, max_pending_responses=3, output_memory_allocator=allocator)
        await responses.__anext__()
        assert settled(count) == 5
        responses.close()

    asyncio.run(use())
    assert is_free(stream)


def test_a_model_that_sends_one_response_never_waits(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    model = start_identity().model("identity")
    pending = [model.infer({"INPUT0": X}, max_pending_responses=1) for _ in range(10)]
    assert all(each.result().outputs["OUTPUT0"].tolist() == X.tolist() for each in pending)


def drop(responses: list[Any]) -> None:
    responses.clear()
    gc.collect()


def close(responses: list[Any]) -> None:
    responses[0].close()


def cancel(responses: list[Any]) -> None:
    responses[0].cancel()


ENDS = [drop, close, pytest.param(cancel, marks=needs_cancel)]


@pytest.mark.parametrize("end", ENDS)
def test_a_model_that_waits_is_let_go(stream: ti.Model, end: Callable[[list[Any]], None]) -> None:
    count, allocator = allocations(stream)
    held: list[Any] = [stream.infer({"INPUT0": X}, max_pending_responses=1, output_memory_allocator=allocator)]
    assert settled(count) == 2
    end(held)
    assert is_free(stream)


@pytest.mark.parametrize("end", ENDS)
def test_a_model_that_waits_is_let_go_from_an_event_loop(stream: ti.Model, end: Callable[[list[Any]], None]) -> None:
    count, allocator = allocations(stream)

    async def use() -> None:
        held: list[Any] = [
            stream.async_infer({"INPUT0": X}, max_pending_responses=1, output_memory_allocator=allocator)
        ]
        await held[0].__anext__()
        assert settled(count) == 3
        end(held)

    asyncio.run(use())
    assert is_free(stream)


@needs_cancel
def test_a_cancelled_iterator_still_ends_with_a_final_response(stream: ti.Model) -> None:
    responses = stream.infer({"INPUT0": X}, max_pending_responses=1, raise_on_error=False)
    next(responses)
    responses.cancel()
    *_, last = responses
    assert last.final


def test_leaving_a_loop_lets_it_go(stream: ti.Model) -> None:
    for response in stream.infer({"INPUT0": X}, max_pending_responses=2):
        if response.parameters["index"] == 5:
            break
    assert is_free(stream)


def test_a_cancelled_task_lets_it_go(stream: ti.Model) -> None:
    async def read(begun: asyncio.Event) -> None:
        async for _ in stream.async_infer({"INPUT0": X}, max_pending_responses=1):
            begun.set()
            await asyncio.Event().wait()

    async def use() -> None:
        begun = asyncio.Event()
        task = asyncio.create_task(read(begun))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(use())
    assert is_free(stream)


@pytest.mark.parametrize("waiting", [True, False])
def test_a_cancelled_task_lets_it_go_though_its_frames_keep_the_iterator(stream: ti.Model, waiting: bool) -> None:
    async def read(begun: asyncio.Event) -> None:
        responses = stream.async_infer({"INPUT0": X}, max_pending_responses=1)
        async for _ in responses:
            begun.set()
            if not waiting:
                await asyncio.Event().wait()

    async def use() -> None:
        busy = stream.infer({"INPUT0": X}, max_pending_responses=1) if waiting else None
        begun = asyncio.Event()
        task = asyncio.create_task(read(begun))
        if busy is None:
            await begun.wait()
        else:
            await asyncio.sleep(0.01)  # it waits for the first response, which cannot come before `busy` has ended
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            kept = error  # with the frames
        if busy is not None:
            busy.close()
        await asyncio.sleep(0)
        assert await asyncio.to_thread(is_free, stream)
        assert kept.__traceback__ is not None

    asyncio.run(use())


def test_a_task_may_hand_the_iterator_on(stream: ti.Model) -> None:
    count, allocator = allocations(stream)

    async def first(responses: ti.AsyncResponseIterator) -> None:
        await responses.__anext__()

    async def use() -> None:
        responses = stream.async_infer({"INPUT0": X}, max_pending_responses=1, output_memory_allocator=allocator)
        for number in range(1, 4):
            await asyncio.create_task(first(responses))
            assert settled(count) == number + 2
        assert len([each async for each in responses]) == MANY - 2

    asyncio.run(use())


def test_a_wait_that_timed_out_loses_nothing(stream: ti.Model) -> None:
    async def use() -> list[Any]:
        responses = stream.async_infer({"INPUT0": X}, max_pending_responses=1)
        seen = []
        while True:
            try:
                response = await asyncio.wait_for(responses.__anext__(), 0.0001)
            except asyncio.TimeoutError:
                continue
            except StopAsyncIteration:
                return seen
            seen.append(response.parameters.get("index"))

    assert asyncio.run(use()) == [*range(MANY), None]


def test_the_deadline_lets_it_go_though_nobody_asks(stream: ti.Model) -> None:
    responses = stream.infer({"INPUT0": X}, max_pending_responses=3, deadline=0.1)
    assert is_free(stream)  # the only instance
    received = [next(responses) for _ in range(3)]
    assert [each.parameters["index"] for each in received] == [0, 1, 2]
    with pytest.raises(TimeoutError, match=r"deadline of 0\.1 s"):
        next(responses)
    with pytest.raises(StopIteration):
        next(responses)


def test_the_deadline_lets_it_go_in_an_event_loop(stream: ti.Model) -> None:
    async def use() -> None:
        responses = stream.async_infer({"INPUT0": X}, max_pending_responses=3, deadline=0.1)
        await responses.__anext__()
        assert is_free(stream)  # which blocks the loop
        for _ in range(3):
            await responses.__anext__()
        with pytest.raises(TimeoutError, match=r"deadline of 0\.1 s"):
            await responses.__anext__()

    asyncio.run(use())


def test_the_stop_lets_it_go_and_the_rest_can_be_read(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": MANY})
    server = start_identity()
    count, allocator = allocations(server.model("identity"))
    responses = server.model("identity").infer(
        {"INPUT0": X}, max_pending_responses=1, output_memory_allocator=allocator
    )
    assert settled(count) == 2
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 5
    assert [each.parameters.get("index") for each in responses] == [*range(MANY), None]


@pytest.mark.parametrize("how", ["infer", "async_infer"])
def test_the_end_of_the_interpreter_lets_it_go(identity_backend: Path, repository: Path, how: str) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": MANY})
    run_beside_tests(
        f"""
import faulthandler
faulthandler.dump_traceback_later(50, exit=True)
import asyncio, time
import numpy as np
import triton_inprocess as ti
ti.runtime.open_forwarder()
server = ti.Server(model_repository={str(repository)!r}, backend_directory={str(identity_backend)!r}).start()
model = server.model("identity")
responses = model.{how}({{"INPUT0": np.zeros(3, np.float32)}}, max_pending_responses=1)
time.sleep(0.2)
"""
    )


def test_a_reader_in_another_thread_is_woken_by_each_response(stream: ti.Model) -> None:
    responses = stream.infer({"INPUT0": X}, max_pending_responses=1)
    received: list[Any] = []
    reader = threading.Thread(target=lambda: received.extend(responses))
    reader.start()
    reader.join(30)
    assert len(received) == MANY + 1


def test_an_error_that_is_raised_lets_it_go(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": MANY, "fail_after": 2})
    model = start_identity().model("identity")
    with pytest.raises(ti.InternalError, match="response 2 fails"):
        list(model.infer({"INPUT0": X}, max_pending_responses=1))
    assert is_free(model)


def test_what_nobody_reads_any_more_is_not_kept(stream: ti.Model) -> None:
    class Watching(ti.MemoryAllocator):
        def __init__(self) -> None:
            self.alive: weakref.WeakSet[Any] = weakref.WeakSet()
            self.most = 0

        def allocate(self, byte_size: int, memory_type: ti.MemoryType, number: int, name: str, /) -> ti.MemoryBuffer:
            array = np.empty(byte_size, np.uint8)
            self.alive.add(array)
            self.most = max(self.most, len(self.alive))
            return ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, byte_size, array)

    watching = Watching()
    stream.infer({"INPUT0": X}, output_memory_allocator=watching).close()
    assert is_free(stream)
    assert watching.most < MANY / 2


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0, ValueError, "max_pending_responses must be at least 1, or None, not 0"),
        (-1, ValueError, "max_pending_responses must be from 0 to"),
        (1.5, TypeError, "max_pending_responses must be an int, not float"),
        (True, TypeError, "max_pending_responses must be an int, not bool"),
        ("2", TypeError, "max_pending_responses must be an int, not str"),
    ],
)
def test_a_bound_that_is_none_is_told(stream: ti.Model, value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        stream.infer({"INPUT0": X}, max_pending_responses=value)


def test_a_bound_goes_with_no_queue(stream: ti.Model) -> None:
    with pytest.raises(ValueError, match="max_pending_responses goes with no response_queue"):
        stream.infer({"INPUT0": X}, max_pending_responses=1, response_queue=queue.SimpleQueue())

    async def use() -> None:
        with pytest.raises(ValueError, match="max_pending_responses goes with no response_queue"):
            stream.async_infer({"INPUT0": X}, max_pending_responses=1, response_queue=asyncio.Queue())

    asyncio.run(use())


def test_a_described_request_may_have_a_bound(stream: ti.Model) -> None:
    request = stream.create_request(inputs={"INPUT0": X}, max_pending_responses=1)
    for _ in range(2):
        assert len(list(stream.infer(request))) == MANY + 1
