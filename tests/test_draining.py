"""Requests whose answers nobody waits for any more end in silence, whether or not the runtime can cancel them."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CANCEL, StartServer, add_echo, answer, if_supported, lacks, write_identity
from helpers_lifetime import wait_until

import triton_inprocess as ti
from triton_inprocess import capi

RESPONSES = 20


@pytest.fixture
def stream(start_identity: StartServer, repository: Path) -> Iterator[ti.Model]:
    """A model that sends many responses to a request; its server must stop in time and without a warning."""
    write_identity(repository, decoupled=True, parameters={"responses": RESPONSES, "delay_us": 10_000})
    server = start_identity()
    yield server.model("identity")
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 2


class Held(np.ndarray[Any, Any]):
    """An array that can be referred to weakly."""


def tracked() -> tuple[np.ndarray[Any, Any], Callable[[], bool]]:
    """An input, and whether its memory is let go: so it is as soon as the request is over, however it ends."""
    array = np.ones(3, np.float32).view(Held)
    reference = weakref.ref(array)

    def gone() -> bool:
        gc.collect()
        return reference() is None

    return array, gone


def answers_all(model: ti.Model) -> bool:
    """Whether the next request is answered as if nothing had been."""
    responses = list(model.infer(inputs={"INPUT0": np.ones(3, np.float32)}))
    return len([response for response in responses if response.outputs]) == RESPONSES


# -- what the package does by itself -----------------------------------------------------------------------------------


def test_breaking_out_of_a_stream(stream: ti.Model) -> None:
    array, gone = tracked()
    for response in stream.infer(inputs={"INPUT0": array}):
        assert response.outputs
        break
    del array, response
    wait_until(gone)
    assert answers_all(stream)


def test_dropping_an_iterator_that_was_not_read(stream: ti.Model) -> None:
    array, gone = tracked()
    iterator = stream.infer(inputs={"INPUT0": array})
    del array, iterator
    wait_until(gone)
    assert answers_all(stream)


def test_dropping_an_iterator_that_was_read_in_part(stream: ti.Model) -> None:
    array, gone = tracked()
    iterator = stream.infer(inputs={"INPUT0": array})
    for _ in range(3):
        next(iterator)
    del array, iterator
    wait_until(gone)
    assert answers_all(stream)


def test_breaking_out_of_a_stream_in_an_event_loop(stream: ti.Model) -> None:
    array, gone = tracked()

    async def use(array: np.ndarray[Any, Any]) -> None:
        async for response in stream.async_infer(inputs={"INPUT0": array}):
            assert response.outputs
            break

    asyncio.run(use(array))
    del array
    wait_until(gone)
    assert answers_all(stream)


def test_a_cancelled_task(stream: ti.Model) -> None:
    array, gone = tracked()

    async def read(array: np.ndarray[Any, Any]) -> None:
        async for _ in stream.async_infer(inputs={"INPUT0": array}):
            pass

    async def use(array: np.ndarray[Any, Any]) -> None:
        task = asyncio.create_task(read(array))
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(use(array))
    del array
    wait_until(gone)
    assert answers_all(stream)


def test_a_deadline_of_asyncio(stream: ti.Model) -> None:
    array, gone = tracked()

    async def read(array: np.ndarray[Any, Any]) -> None:
        async for _ in stream.async_infer(inputs={"INPUT0": array}):
            pass

    async def use(array: np.ndarray[Any, Any]) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(array), 0.03)

    asyncio.run(use(array))
    del array
    wait_until(gone)
    assert answers_all(stream)


def test_a_task_cancelled_while_its_request_waits_in_the_queue(server: ti.Server) -> None:
    go_on = threading.Event()

    def wait(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        go_on.wait(10)
        return x

    model = server.add_model(wait, name="wait", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    running = model.infer(inputs={"x": np.ones(1, np.float32)})
    array, gone = tracked()

    async def read(array: np.ndarray[Any, Any]) -> None:
        async for _ in model.async_infer(inputs={"x": array}):
            pass

    async def use(array: np.ndarray[Any, Any]) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(array), 0.03)

    asyncio.run(use(array))
    go_on.set()
    assert len(list(running)) == 1
    del array
    wait_until(gone)
    assert answer(model, x=np.ones(2, np.float32)).tolist() == [1, 1]


def test_an_event_loop_that_ends_during_a_stream(stream: ti.Model) -> None:
    array, gone = tracked()

    async def use(array: np.ndarray[Any, Any]) -> None:
        iterator = stream.async_infer(inputs={"INPUT0": array})
        await iterator.__anext__()

    asyncio.run(use(array))
    del array
    wait_until(gone)
    assert answers_all(stream)


def test_a_stop_during_a_stream(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": RESPONSES, "delay_us": 10_000})
    server = start_identity()
    iterator = server.model("identity").infer(inputs={"INPUT0": np.ones(3, np.float32)})
    next(iterator)
    del iterator
    server.stop()


# -- what the user asks for --------------------------------------------------------------------------------------------


def test_cancel_says_whether_the_runtime_can(server: ti.Server) -> None:
    model = add_echo(server)
    inputs = {"x": np.ones(2, np.float32)}

    def try_all(cancel: Callable[[], None]) -> None:
        for _ in range(2):
            with if_supported(CANCEL):
                cancel()

    request = capi.TRITONSERVER_InferenceRequest(server.capi, "echo", -1)
    try_all(request.cancel)  # nothing to cancel: it is told all the same, since elsewhere that is a matter of luck
    iterator = model.infer(inputs=inputs, raise_on_error=False)
    try_all(iterator.cancel)
    (response,) = iterator
    assert response.error is None or isinstance(response.error, ti.CancelledError)
    assert response.error is None or not lacks(CANCEL)
    try_all(iterator.cancel)

    async def use() -> list[ti.InferenceResponse]:
        responses = model.async_infer(inputs=inputs, raise_on_error=False)
        try_all(responses.cancel)
        received = [response async for response in responses]
        try_all(responses.cancel)
        return received

    (response,) = asyncio.run(use())
    assert response.error is None or not lacks(CANCEL)
    assert answer(model, **inputs).tolist() == [1, 1]
