"""Models that send any number of responses."""

from __future__ import annotations

import asyncio
import gc
import queue
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, needs_cancel, write_identity

import triton_inprocess as ti

COUNTS = [0, 1, 2, 100]


@pytest.fixture
def sent() -> np.ndarray[Any, Any]:
    return np.arange(3, dtype=np.float32)


def indices(responses: list[ti.InferenceResponse]) -> list[Any]:
    return [response.parameters["index"] for response in responses]


def check(responses: list[ti.InferenceResponse], count: int, sent: np.ndarray[Any, Any]) -> None:
    """The responses, each once and in order, and then the final flag."""
    *with_outputs, last = responses
    assert indices(with_outputs) == list(range(count))
    for response in with_outputs:
        np.testing.assert_array_equal(response.outputs["OUTPUT0"].numpy(), sent)
        assert (response.final, response.error, response.request_id) == (False, None, "one")
    assert (last.final, last.outputs, last.error) == (True, {}, None)


async def collect(model: ti.Model, **fields: Any) -> list[ti.InferenceResponse]:
    return [response async for response in model.async_infer(**fields)]


@pytest.mark.parametrize("count", COUNTS)
def test_each_response_arrives_once_and_then_the_final_flag(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any], count: int
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": count})
    model = start_identity().model("identity")
    responses = model.infer(inputs={"INPUT0": sent}, request_id="one")
    check(list(responses), count, sent)
    with pytest.raises(StopIteration):
        next(responses)


@pytest.mark.parametrize("count", COUNTS)
def test_in_an_event_loop_too(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any], count: int
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": count})
    model = start_identity().model("identity")
    check(asyncio.run(collect(model, inputs={"INPUT0": sent}, request_id="one")), count, sent)


def test_many_streams_at_once_keep_apart(start_identity: StartServer, repository: Path) -> None:
    write_identity(
        repository,
        decoupled=True,
        parameters={"responses": 20},
        more="instance_group [ { kind: KIND_CPU count: 4 } ]",
    )
    model = start_identity().model("identity")

    async def use() -> list[list[ti.InferenceResponse]]:
        return await asyncio.gather(
            *(
                collect(model, inputs={"INPUT0": np.full(3, number, np.float32)}, request_id="one")
                for number in range(20)
            )
        )

    for number, responses in enumerate(asyncio.run(use())):
        check(responses, 20, np.full(3, number, np.float32))


def test_responses_arrive_as_they_are_sent(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 4, "delay_us": 50_000})
    model = start_identity().model("identity")
    begin = time.monotonic()
    times = [time.monotonic() - begin for _ in model.infer(inputs={"INPUT0": sent})]
    assert times[-1] - times[0] > 0.12

    async def use() -> list[float]:
        begin = time.monotonic()
        return [time.monotonic() - begin async for _ in model.async_infer(inputs={"INPUT0": sent})]

    times = asyncio.run(use())
    assert times[-1] - times[0] > 0.12


@pytest.mark.parametrize("good", [0, 2, 99])
def test_an_error_in_the_middle_reaches_the_caller_and_ends_the_iteration(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any], good: int
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 100, "fail_after": good})
    model = start_identity().model("identity")
    responses = model.infer(inputs={"INPUT0": sent})
    received = [next(responses) for _ in range(good)]
    assert indices(received) == list(range(good))
    with pytest.raises(ti.InternalError, match=f"response {good} fails"):
        next(responses)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(responses)


def test_an_error_in_the_middle_ends_the_iteration_in_an_event_loop(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 5, "fail_after": 2})
    model = start_identity().model("identity")

    async def use() -> None:
        responses = model.async_infer(inputs={"INPUT0": sent})
        assert indices([await responses.__anext__() for _ in range(2)]) == [0, 1]
        with pytest.raises(ti.InternalError, match="response 2 fails"):
            await responses.__anext__()
        with pytest.raises(StopAsyncIteration):
            await responses.__anext__()

    asyncio.run(use())


def test_with_errors_handed_out_the_iteration_goes_on(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 5, "fail_after": 2})
    model = start_identity().model("identity")
    for received in (
        list(model.infer(inputs={"INPUT0": sent}, raise_on_error=False)),
        asyncio.run(collect(model, inputs={"INPUT0": sent}, raise_on_error=False)),
    ):
        assert [response.error is not None for response in received] == [False, False, True, False, False, False]
        assert isinstance(received[2].error, ti.InternalError)
        assert [response.final for response in received] == [False] * 5 + [True]


@pytest.mark.parametrize("taken", [0, 1, 50])
def test_a_stream_that_is_dropped_half_read_leaks_nothing(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any], taken: int
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 100})
    server = start_identity()
    model = server.model("identity")
    references = sys.getrefcount(sent)
    for _ in range(20):
        responses = model.infer(inputs={"INPUT0": sent})
        for _ in range(taken):
            next(responses)
        del responses
    list(model.infer(inputs={"INPUT0": np.zeros(1, np.float32)}))  # after the others: there is one instance
    list(model.infer(inputs={"INPUT0": np.zeros(1, np.float32)}))
    assert sys.getrefcount(sent) == references
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 2


def test_a_stream_that_is_dropped_half_read_in_an_event_loop_leaks_nothing(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 100})
    server = start_identity()
    model = server.model("identity")
    references = sys.getrefcount(sent)

    async def use() -> None:
        for _ in range(20):
            async for _response in model.async_infer(inputs={"INPUT0": sent}):
                break
        await collect(model, inputs={"INPUT0": np.zeros(1, np.float32)})

    asyncio.run(use())
    gc.collect()
    list(model.infer(inputs={"INPUT0": np.zeros(1, np.float32)}))
    assert sys.getrefcount(sent) == references
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 2


def test_kept_responses_do_not_delay_the_stop(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 10})
    server = start_identity()
    responses = server.model("identity").infer(inputs={"INPUT0": sent}, request_id="one")
    kept = [next(responses) for _ in range(5)]
    begin = time.monotonic()
    server.stop()
    assert time.monotonic() - begin < 2
    # What was sent before the stop is there all the same.
    kept += list(responses)
    check(kept, 10, sent)


@needs_cancel
def test_a_stream_can_be_cancelled(start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 1000, "delay_us": 5000})
    model = start_identity().model("identity")
    responses = model.infer(inputs={"INPUT0": sent})
    assert [next(responses).parameters["index"] for _ in range(3)] == [0, 1, 2]
    begin = time.monotonic()
    responses.cancel()
    with pytest.raises(ti.CancelledError):
        list(responses)
    assert time.monotonic() - begin < 2
    with pytest.raises(StopIteration):
        next(responses)


@needs_cancel
def test_a_stream_can_be_cancelled_in_an_event_loop(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 1000, "delay_us": 5000})
    model = start_identity().model("identity")

    async def drain(responses: ti.AsyncResponseIterator) -> None:
        async for _ in responses:
            pass

    async def use() -> None:
        responses = model.async_infer(inputs={"INPUT0": sent})
        assert indices([await responses.__anext__() for _ in range(3)]) == [0, 1, 2]
        responses.cancel()
        with pytest.raises(ti.CancelledError):
            await asyncio.wait_for(drain(responses), 2)

    asyncio.run(use())


@needs_cancel
def test_a_cancelled_stream_that_hands_out_errors_ends_with_the_final_flag(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 1000, "delay_us": 5000})
    model = start_identity().model("identity")
    responses = model.infer(inputs={"INPUT0": sent}, raise_on_error=False)
    next(responses)
    responses.cancel()
    received = list(responses)
    assert isinstance(received[-2].error, ti.CancelledError)
    assert received[-1].final


@pytest.mark.parametrize("count", COUNTS)
def test_every_response_goes_to_the_queue_too(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any], count: int
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": count})
    model = start_identity().model("identity")
    target: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    received = list(model.infer(inputs={"INPUT0": sent}, request_id="one", response_queue=target))
    check(received, count, sent)
    check([target.get(timeout=5) for _ in range(count + 1)], count, sent)
    assert target.empty()


@pytest.mark.parametrize("maximum", [0, 1])
def test_every_response_goes_to_the_asyncio_queue_too(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any], maximum: int
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 10})
    model = start_identity().model("identity")

    async def use() -> None:
        # A full queue holds up nobody but who fills it.
        target: asyncio.Queue[ti.InferenceResponse] = asyncio.Queue(maximum)
        check(await collect(model, inputs={"INPUT0": sent}, request_id="one", response_queue=target), 10, sent)
        check([await asyncio.wait_for(target.get(), 5) for _ in range(11)], 10, sent)

    asyncio.run(use())


def test_the_queue_may_be_read_by_others_alone(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 3, "fail_after": 1})
    model = start_identity().model("identity")
    target: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    model.infer(inputs={"INPUT0": sent}, response_queue=target)
    received = [target.get(timeout=5) for _ in range(4)]
    assert [response.error is not None for response in received] == [False, True, False, False]
    assert received[-1].final


def test_statistics_know_the_requests(
    start_identity: StartServer, repository: Path, sent: np.ndarray[Any, Any]
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 5})
    model = start_identity().model("identity")
    for _ in range(3):
        list(model.infer(inputs={"INPUT0": sent}))
    deadline = time.monotonic() + 5
    # The backend reports them after the final flag.
    while model.statistics()["model_stats"][0]["inference_stats"]["success"]["count"] < 3:
        assert time.monotonic() < deadline
        time.sleep(0.001)
