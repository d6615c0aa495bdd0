"""Nothing that goes through triton_inprocess.capi grows: reference counts, objects, memory, descriptors, threads."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import write_identity
from helpers_capi_inference import (
    CPU,
    FP32,
    PATIENCE,
    Host,
    Memory,
    Told,
    X,
    answer,
    content,
    explicit_options,
    fill,
    next_response,
    run_capi_script,
    running_host,
)
from helpers_lifetime import open_descriptors, resident_bytes, wait_until

import triton_inprocess as ti
from triton_inprocess import capi

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def host(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    repository = tmp_path_factory.mktemp("models")
    write_identity(repository, "long", decoupled=True, parameters={"responses": 20})
    with running_host(identity_backend, repository) as host:
        yield host


@contextmanager
def no_collector() -> Iterator[None]:
    """Within it nothing is freed but by its last reference."""
    gc.collect()  # what earlier tests have left is not to be counted here
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def growth(action: Callable[[], object], repetitions: int, warm_up: int) -> int:
    """By how many bytes the process has grown after so many repetitions, without help from the collector."""
    with no_collector():
        for _ in range(warm_up):
            action()
        before = resident_bytes()
        for _ in range(repetitions):
            action()
        return resident_bytes() - before


class User:
    """What a callback is given."""


# -- reference counts --------------------------------------------------------------------------------------------------


def test_reference_counts_of_user_objects_return(host: Host) -> None:
    users = [User() for _ in range(5)]
    with no_collector():
        counts = [sys.getrefcount(user) for user in users]
        done = threading.Semaphore(0)
        blocks: list[Any] = [np.zeros(8, np.float32)]

        def alloc(_a: Any, _name: str, _size: int, _kind: Any, _id: int, user: Any) -> Any:
            return blocks[0].ctypes.data, users[4], CPU, 0

        allocator = capi.TRITONSERVER_ResponseAllocator(alloc, lambda *_: done.release())
        for model in ("fast", "function"):
            request = host.request(model)
            request.set_response_callback(allocator, users[0], lambda response, flags, user: done.release(), users[1])
            request.set_release_callback(lambda request, flags, user: done.release(), users[2])
            for _ in range(500):
                host.capi.infer_async(request)
                for _ in range(3):
                    assert done.acquire(timeout=PATIENCE)
            del request
        wait_until(lambda: [sys.getrefcount(user) for user in users] == counts, 5)


def test_the_reference_count_of_a_request_returns(host: Host) -> None:
    with no_collector():
        for model in ("fast", "function"):
            request = host.request(model)
            told = Told(request)

            def count(request: Any = request) -> int:
                return sys.getrefcount(request)

            before = count()
            for _ in range(500):
                host.capi.infer_async(request)
                told.complete()
            wait_until(lambda count=count, before=before: count() == before, 5)  # type: ignore[misc]


def test_the_reference_counts_of_futures_return(host: Host) -> None:
    request = host.request()
    future: Future[Any] = Future()
    count = sys.getrefcount(future)
    with no_collector():
        request.get_next_response(future)
        assert sys.getrefcount(future) == count + 1
        host.capi.infer_async(request)
        future.result(PATIENCE)
        wait_until(lambda: sys.getrefcount(future) == count, 5)


def test_the_reference_counts_return_after_submissions_that_fail(host: Host) -> None:
    users = [User() for _ in range(3)]
    request = capi.TRITONSERVER_InferenceRequest(host.capi, "fast", -1)
    allocator = Memory().allocator()
    request.set_response_callback(allocator, users[0], lambda *_: None, users[1])
    request.set_release_callback(lambda *_: None, users[2])
    everything = [request, allocator, *users]
    with no_collector():
        counts = [sys.getrefcount(each) for each in everything]
        for _ in range(1000):
            with pytest.raises(ti.InvalidArgumentError):
                host.capi.infer_async(request)
        wait_until(lambda: [sys.getrefcount(each) for each in everything] == counts, 5)


def test_the_reference_counts_return_after_refused_uses_in_flight(host: Host) -> None:
    users = [User() for _ in range(3)]
    request = host.request("gated")
    told = Told(request)
    with host.in_flight(request), no_collector():
        counts = [sys.getrefcount(user) for user in users], sys.getrefcount(request)
        for _ in range(200):
            for action in (
                lambda: host.capi.infer_async(request),
                lambda: request.set_response_callback(None, users[0], users[1], users[2]),  # type: ignore[arg-type]
                lambda: request.set_response_callback(None, users[0], print, users[2]),
                lambda: request.set_release_callback(print, users[0]),
                lambda: setattr(request, "id", "x"),
            ):
                with pytest.raises((ti.UnavailableError, TypeError)):
                    action()
        wait_until(lambda: ([sys.getrefcount(user) for user in users], sys.getrefcount(request)) == counts, 5)
    told.complete()


def test_callbacks_that_are_replaced_are_let_go_at_once(host: Host) -> None:
    request = host.request()
    with no_collector():
        for _ in range(100):
            users = [User() for _ in range(4)]
            gone = [weakref.ref(user) for user in users]
            request.set_response_callback(None, users[0], lambda *_: None, users[1])
            request.set_release_callback(lambda *_, user=users[2]: None, users[3])
            del users
            request.set_response_callback(None, None, lambda *_: None, None)
            request.set_release_callback(lambda *_: None, None)
            assert [reference() for reference in gone] == [None] * 4


def test_a_dropped_request_lets_go_of_everything_without_the_collector(host: Host) -> None:
    with no_collector():
        for model in ("fast", "function", "stream"):
            for sent in (False, True):
                users = [User() for _ in range(4)]
                gone = [weakref.ref(user) for user in users]
                request = host.request(model)
                done = threading.Semaphore(0)

                def respond(
                    response: Any, flags: int, user: Any, done: threading.Semaphore = done, kept: Any = users[0]
                ) -> None:
                    if flags:
                        done.release()

                request.set_response_callback(None, users[1], respond, users[2])
                request.set_release_callback(lambda *_, done=done: done.release(), users[3])
                if sent:
                    host.capi.infer_async(request)
                    for _ in range(2):
                        assert done.acquire(timeout=PATIENCE)
                del users, request, respond
                wait_until(lambda gone=gone: all(reference() is None for reference in gone), 5)  # type: ignore[misc]


def test_a_server_and_its_requests_die_without_the_collector(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "m")
    options = explicit_options(repository, identity_backend)
    with no_collector():
        for _ in range(3):
            server = capi.TRITONSERVER_Server(options)
            gone = weakref.ref(server)
            server.load_model("m")
            request = capi.TRITONSERVER_InferenceRequest(server, "m", -1)
            fill(request)
            kept = answer(server, request)
            del server
            assert gone() is None, "a request does not hold the object"
            del request
            assert (content(kept) == X).all()


# -- objects -----------------------------------------------------------------------------------------------------------


def one_with_futures(host: Host, model: str) -> None:
    request = host.request(model)
    host.capi.infer_async(request)
    next_response(request)


def one_with_early_futures(host: Host, model: str) -> None:
    request = host.request(model)
    future: Future[Any] = Future()
    request.get_next_response(future)
    host.capi.infer_async(request)
    future.result(PATIENCE)


def one_with_callbacks(host: Host, model: str) -> None:
    request = host.request(model)
    told = Told(request)
    host.capi.infer_async(request)
    told.complete()


def one_with_an_allocator(host: Host, model: str) -> None:
    memory = Memory()
    request = host.request(model)
    told = Told(request, memory.allocator(lambda *_: None), "user")
    host.capi.infer_async(request)
    told.complete()


def one_that_nobody_waits_for(host: Host, model: str) -> None:
    request = host.request(model)
    request.set_response_callback(None, None, lambda *_: None, None)
    host.capi.infer_async(request)


def one_that_is_refused(host: Host, model: str) -> None:
    request = capi.TRITONSERVER_InferenceRequest(host.capi, model, -1)
    Told(request, Memory().allocator())
    try:
        host.capi.infer_async(request)
    except ti.InvalidArgumentError:
        return
    raise AssertionError("it was accepted")


def one_that_is_never_sent(host: Host, model: str) -> None:
    request = host.request(model)
    Told(request, Memory().allocator())


def one_that_is_cancelled(host: Host, model: str) -> None:
    request = host.request(model)
    told = Told(request)
    host.capi.infer_async(request)
    if capi.available("TRITONSERVER_InferenceRequestCancel"):
        request.cancel()
    told.complete()


def one_whose_allocator_fails(host: Host, model: str) -> None:
    def fail(*_: Any) -> Any:
        raise ti.UnavailableError("no")

    request = host.request(model)
    told = Told(request, capi.TRITONSERVER_ResponseAllocator(fail, fail))
    host.capi.infer_async(request)
    told.complete()


def one_with_a_trace(host: Host, model: str) -> None:
    released = threading.Event()
    activities: list[Any] = []
    trace = capi.TRITONSERVER_InferenceTrace(
        capi.TRITONSERVER_InferenceTraceLevel.TIMESTAMPS,
        0,
        lambda _trace, activity, timestamp, user: activities.append(activity),
        lambda _trace, user: released.set(),
        User(),
    )
    request = host.request(model)
    told = Told(request)
    host.capi.infer_async(request, trace)
    told.complete()
    assert released.wait(PATIENCE)


WAYS = [
    one_with_futures,
    one_with_early_futures,
    one_with_callbacks,
    one_with_an_allocator,
    one_that_nobody_waits_for,
    one_that_is_refused,
    one_that_is_never_sent,
    one_that_is_cancelled,
    one_whose_allocator_fails,
    one_with_a_trace,
]


@pytest.mark.parametrize("model", ["fast", "function"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_memory_and_objects_are_flat(host: Host, way: Callable[[Host, str], None], model: str) -> None:
    repetitions, warm_up = 1_500, 300

    def several(count: int) -> None:
        for number in range(count):
            way(host, model)
            if number % 20 == 19:
                one_with_callbacks(host, model)  # what nobody waits for is answered before: the queue stays short

    with no_collector():
        several(warm_up)
        blocks, memory = sys.getallocatedblocks(), resident_bytes()
        several(repetitions)
        wait_until(lambda: sys.getallocatedblocks() - blocks < 300, 5)
        assert resident_bytes() - memory < 3 * MEBIBYTE


def test_memory_is_flat_over_one_request_that_is_sent_again(host: Host) -> None:
    for model in ("fast", "function"):
        request = host.request(model)
        told = Told(request, Memory().allocator())

        def one(request: Any = request, told: Told = told) -> None:
            request.remove_all_inputs()
            fill(request)
            request.id = "again"
            host.capi.infer_async(request)
            told.complete()

        assert growth(one, 3_000, 500) < 4 * MEBIBYTE


def test_memory_is_flat_over_large_outputs(host: Host) -> None:
    array = np.ones(MEBIBYTE // 4, np.float32)
    block = np.zeros_like(array)
    allocator = capi.TRITONSERVER_ResponseAllocator(lambda *_: (block.ctypes.data, None, CPU, 0), lambda *_: None)
    request = host.request("fast", array)
    for given in (None, allocator):
        told = Told(request, given)

        def one(told: Told = told) -> None:
            host.capi.infer_async(request)
            (response,) = told.complete()
            assert response.output(0)[4] == MEBIBYTE

        assert growth(one, 200, 20) < 8 * MEBIBYTE


def test_memory_is_flat_over_streams_that_are_read_by_half(host: Host) -> None:
    def one() -> None:
        request = host.request("long")
        released = threading.Event()
        request.set_release_callback(lambda *_: released.set(), None)
        host.capi.infer_async(request)
        next_response(request)
        assert released.wait(PATIENCE)

    assert growth(one, 500, 100) < 4 * MEBIBYTE


def test_memory_is_flat_over_requests_that_are_changed_and_read(host: Host) -> None:
    request = host.request()
    attributes = capi.TRITONSERVER_BufferAttributes()
    attributes.byte_size = 4

    def one() -> None:
        request.id = "x" * 100
        request.correlation_id_string = "y" * 100
        assert request.id
        assert request.correlation_id_string
        request.add_requested_output("OUTPUT0")
        request.remove_all_requested_outputs()
        request.remove_all_inputs()
        request.add_input("INPUT0", FP32, (1,))
        request.append_input_data_with_buffer_attributes("INPUT0", X.ctypes.data, attributes)
        request.remove_all_input_data("INPUT0")
        with pytest.raises(ti.InvalidArgumentError):
            request.remove_input("nothing")
        with pytest.raises(TypeError):
            request.add_input("INPUT1", FP32, "no")  # type: ignore[arg-type]

    assert growth(one, 5_000, 500) < 2 * MEBIBYTE


def test_memory_is_flat_over_questions_to_a_response(host: Host) -> None:
    request = host.request("stream")
    host.capi.infer_async(request)
    response, _ = next_response(request)

    def one() -> None:
        response.output(0)
        response.parameter(0)
        assert response.model
        assert response.id == ""
        response.output_classification_label(0, 0)
        with pytest.raises(ti.InvalidArgumentError):
            response.output(1)

    with no_collector():
        count = sys.getrefcount(response)
        assert growth(one, 10_000, 500) < 2 * MEBIBYTE
        assert sys.getrefcount(response) == count


def test_memory_is_flat_over_questions_to_a_server(host: Host) -> None:
    metrics = host.capi.metrics()

    def one() -> None:
        host.capi.metadata().serialize_to_json()
        host.capi.model_index(0).serialize_to_json()
        host.capi.model_statistics("", -1)
        host.capi.model_config("fast", -1, 1)
        metrics.formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS)
        host.capi.metrics()
        with pytest.raises(ti.TritonError):
            host.capi.load_model("nothing")

    assert growth(one, 150, 40) < 4 * MEBIBYTE


def test_memory_is_flat_over_asyncio_futures(host: Host) -> None:
    async def one(loop: asyncio.AbstractEventLoop) -> None:
        request = host.request()
        future = loop.create_future()
        request.get_next_response(future)
        host.capi.infer_async(request)
        response, _ = await future
        assert response.output_count == 1

    async def several(count: int) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(count):
            await one(loop)

    async def main() -> int:
        await several(500)
        with no_collector():
            memory, blocks = resident_bytes(), sys.getallocatedblocks()
            await several(2_000)
            assert sys.getallocatedblocks() - blocks < 300
            return resident_bytes() - memory

    assert asyncio.run(main()) < 3 * MEBIBYTE


def test_memory_is_flat_over_futures_that_never_come(host: Host) -> None:
    def one() -> None:
        request = host.request()
        for _ in range(3):
            request.get_next_response(Future())

    assert growth(one, 2_000, 300) < 3 * MEBIBYTE


def test_memory_descriptors_and_threads_are_flat_over_servers(identity_backend: Path, repository: Path) -> None:
    # A process of its own: the C servers of the other tests must not keep these from being deleted.
    source = """
def one():
    server = explicit("fast")
    request = filled(server)
    answer(server, request)
    server.stop()
    del server, request
def state():
    return (int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
for _ in range(5):
    one()
before = state()
for _ in range(20):
    one()
print(*(late - early for early, late in zip(before, state())))
"""
    result = run_capi_script(source, identity_backend, repository).check(within=20)
    memory, descriptors, threads = map(int, result.output.split())
    assert memory < 20 * MEBIBYTE
    assert descriptors <= 0
    assert threads <= 0


def test_descriptors_and_threads_do_not_grow(host: Host) -> None:
    for way in WAYS:
        way(host, "fast")
    descriptors, threads = open_descriptors(), len(list(Path("/proc/self/task").iterdir()))
    for _ in range(50):
        for way in WAYS:
            way(host, "fast")
    assert open_descriptors() <= descriptors
    assert len(list(Path("/proc/self/task").iterdir())) <= threads
