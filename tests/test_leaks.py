"""Nothing grows: reference counts, memory, file descriptors, threads."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import StartServer, answer, write_identity
from helpers_lifetime import FloatArray, add, four, open_descriptors, resident_bytes, run_script, wait_until

import triton_inprocess as ti

MEBIBYTE = 1 << 20


def echo(x: FloatArray) -> FloatArray:
    return x


@contextmanager
def no_collector() -> Iterator[None]:
    """Within it nothing is freed but by its last reference."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it comes true: Triton releases a request some microseconds after its answer."""
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.001)
    return False


def growth(action: Callable[[], object], repetitions: int, warm_up: int) -> int:
    """By how many bytes the process has grown after so many repetitions; the warm-up fills pools and caches."""
    for _ in range(warm_up):
        action()
    gc.collect()
    before = resident_bytes()
    for _ in range(repetitions):
        action()
    gc.collect()
    return resident_bytes() - before


# -- reference counts --------------------------------------------------------------------------------------------------


def test_reference_counts_of_inputs_return(server: ti.Server) -> None:
    model = add(server, echo)
    array = four()
    with no_collector():
        count = sys.getrefcount(array)
        for _ in range(100):
            for _response in model.infer(inputs={"x": array}):
                pass
        del _response
        assert sys.getrefcount(array) == count
        inputs = {"x": array}
        count = sys.getrefcount(array)
        iterators = [model.infer(inputs=inputs) for _ in range(100)]
        for iterator in iterators:
            next(iterator)
        assert sys.getrefcount(array) == count
        assert sys.getrefcount(inputs) == 2


def test_reference_counts_of_inputs_return_under_asyncio(server: ti.Server) -> None:
    model = add(server, echo)
    array = four()

    async def infer() -> None:
        async for _ in model.async_infer(inputs={"x": array}):
            pass

    async def main() -> None:
        await asyncio.gather(*(infer() for _ in range(100)))

    asyncio.run(main())
    with no_collector():
        count = sys.getrefcount(array)
        asyncio.run(main())
        assert sys.getrefcount(array) == count


def test_reference_counts_return_after_refused_requests(server: ti.Server) -> None:
    model = add(server, echo)
    array, wrong = four(), np.zeros(5, np.float32)
    with no_collector():
        counts = sys.getrefcount(array), sys.getrefcount(wrong)
        for inputs in ({"x": wrong}, {"x": array, "z": wrong}, {"z": array}, {"x": array, "z": None}):
            for _ in range(10):
                with pytest.raises((ti.TritonError, TypeError)):
                    model.infer(inputs=inputs)
        del inputs
        assert (sys.getrefcount(array), sys.getrefcount(wrong)) == counts


def test_reference_counts_return_after_functions_that_fail(server: ti.Server) -> None:
    def fail(x: FloatArray) -> FloatArray:
        raise ValueError("no")

    model = add(server, fail)
    array = four()
    with no_collector():
        count = sys.getrefcount(array)
        for _ in range(100):
            with pytest.raises(ti.TritonError):
                list(model.infer(inputs={"x": array}))
        assert sys.getrefcount(array) == count


def test_the_function_and_what_it_returns_are_let_go(server: ti.Server) -> None:
    result = four()
    model = add(server, lambda x: result)
    count = sys.getrefcount(result)
    with no_collector():
        for _ in range(100):
            answer(model, x=four())
        assert soon(lambda: sys.getrefcount(result) == count)


def test_the_owner_of_an_input_dies_without_the_collector(server: ti.Server) -> None:
    model = add(server, echo)
    with no_collector():
        for _ in range(100):
            array = four()
            gone = weakref.ref(array)
            answer(model, x=array)
            del array
            assert soon(lambda known=gone: known() is None)


def test_the_owner_of_an_input_dies_without_the_collector_under_asyncio(server: ti.Server) -> None:
    model = add(server, echo)
    gone: list[weakref.ref[FloatArray]] = []

    async def infer(value: float) -> None:
        array = four(value)
        gone.append(weakref.ref(array))
        async for response in model.async_infer(inputs={"x": array}):
            assert (response.outputs["y"].numpy() == array).all()

    async def main() -> None:
        await asyncio.gather(*(infer(i) for i in range(100)))

    with no_collector():
        asyncio.run(main())
        assert [reference() for reference in gone] == [None] * 100


def test_the_owner_of_a_tensor_dies_with_it() -> None:
    class Owner:
        pass

    array = four()
    with no_collector():
        for drop in ("buffer", "tensor", "array", "dlpack", "capsule"):
            owner = Owner()
            gone = weakref.ref(owner)
            buffer = ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, array.nbytes, owner)
            kept: object = buffer
            if drop != "buffer":
                kept = tensor = ti.Tensor(ti.DataType.FP32, [4], buffer)
                if drop == "array":
                    kept = tensor.numpy()
                elif drop == "dlpack":
                    kept = np.from_dlpack(tensor)
                elif drop == "capsule":
                    kept = tensor.__dlpack__(max_version=(1, 0))
                del tensor
            del owner, buffer
            assert gone() is not None, drop
            del kept
            assert gone() is None, drop


def test_an_owner_may_be_let_go_by_any_thread() -> None:
    class Owner:
        pass

    array = four()
    for _ in range(100):
        owner = Owner()
        gone = weakref.ref(owner)
        box = [ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, array.nbytes, owner)]
        del owner
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
        wait_until(lambda gone=gone: gone() is None, 2)  # type: ignore[misc]


def test_responses_die_without_the_collector(server: ti.Server) -> None:
    model = add(server, echo)
    with no_collector():
        blocks = sys.getallocatedblocks()
        for _ in range(2000):
            (response,) = model.infer(inputs={"x": four()})
            response.outputs["y"].numpy()
        del response
        assert sys.getallocatedblocks() - blocks < 200


def test_requests_under_asyncio_die_without_the_collector(server: ti.Server) -> None:
    model = add(server, echo)

    async def infer(count: int) -> None:
        for _ in range(count):
            async for response in model.async_infer(inputs={"x": four()}):
                response.outputs["y"].numpy()

    async def main() -> int:
        await infer(500)
        with no_collector():
            blocks = sys.getallocatedblocks()
            await infer(2000)
            return sys.getallocatedblocks() - blocks

    assert asyncio.run(main()) < 200


# -- memory ------------------------------------------------------------------------------------------------------------


def test_memory_is_flat_over_200_000_requests(server: ti.Server) -> None:
    model = add(server, echo)
    inputs = {"x": four()}

    def one() -> None:
        for response in model.infer(inputs=inputs):
            response.outputs["y"].numpy()

    async def several(count: int) -> None:
        for _ in range(count):
            async for response in model.async_infer(inputs=inputs):
                response.outputs["y"].numpy()

    async def many() -> None:
        await asyncio.gather(*(several(100) for _ in range(50)))

    assert growth(one, 100_000, 10_000) < 4 * MEBIBYTE
    assert growth(lambda: asyncio.run(many()), 20, 4) < 4 * MEBIBYTE


def test_memory_is_flat_over_large_requests(server: ti.Server) -> None:
    model = server.add_model(echo, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})

    def one() -> None:
        answer(model, x=np.ones(MEBIBYTE, np.float32))

    assert growth(one, 300, 20) < 24 * MEBIBYTE


def test_memory_is_flat_over_large_requests_of_many_sizes(server: ti.Server) -> None:
    model = server.add_model(echo, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    sizes = iter(range(1_000, 100_000_000, 7_919))

    def one() -> None:
        answer(model, x=np.ones(next(sizes) % MEBIBYTE, np.float32))

    assert growth(one, 1000, 500) < 64 * MEBIBYTE


def test_memory_is_flat_over_requests_that_nobody_waits_for(server: ti.Server) -> None:
    model = server.add_model(echo, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    array = np.ones(10_000, np.float32)

    def many() -> None:
        for _ in range(100):
            model.infer(inputs={"x": array})
        answer(model, x=array)

    assert growth(many, 100, 20) < 4 * MEBIBYTE


def test_memory_is_flat_over_requests_that_fail(server: ti.Server) -> None:
    def fail(x: FloatArray) -> FloatArray:
        raise ValueError("no" * 100)

    model = add(server, fail)

    def failed() -> None:
        with pytest.raises(ti.TritonError):
            list(model.infer(inputs={"x": four()}))

    def refused() -> None:
        with pytest.raises(ti.TritonError):
            model.infer(inputs={"z": four()})

    assert growth(failed, 10_000, 1_000) < 4 * MEBIBYTE
    assert growth(refused, 10_000, 1_000) < 4 * MEBIBYTE


def test_memory_is_flat_over_bytes(server: ti.Server) -> None:
    model = server.add_model(echo, name="m", inputs={"x": (str, (-1,))}, outputs={"y": (str, (-1,))})
    array = np.array([b"a" * 100] * 100, object)

    def one() -> None:
        assert answer(model, x=array)[99] == b"a" * 100

    assert growth(one, 5_000, 500) < 4 * MEBIBYTE


def test_memory_is_flat_over_half_read_streams(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 20})
    model = start_identity().model("identity")
    array = np.ones(1000, np.float32)

    def one() -> None:
        next(model.infer(inputs={"INPUT0": array}))

    def settled() -> None:
        for _ in range(100):
            one()
        list(model.infer(inputs={"INPUT0": array}))

    assert growth(settled, 30, 10) < 4 * MEBIBYTE


def test_memory_is_flat_over_models_that_come_and_go(server: ti.Server) -> None:
    def one() -> None:
        answer(add(server, echo), x=four())
        server.remove_model("m")

    threads = threading.active_count()
    assert growth(one, 200, 30) < 8 * MEBIBYTE
    assert threading.active_count() <= threads  # one of an earlier test may have ended


def test_memory_descriptors_and_threads_are_flat_over_servers_that_come_and_go() -> None:
    # A process of its own: the C servers of the other tests must not keep these from being deleted.
    source = """
from pathlib import Path
def one():
    server, model = start()
    answer(model)
    server.stop()
def state():
    gc.collect()
    return (int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
for _ in range(5):
    one()
before = state()
for _ in range(20):
    one()
after = state()
print(*(late - early for early, late in zip(before, after)))
"""
    memory, descriptors, threads = map(int, run_script(source).check(within=20).output.split())
    assert memory < 20 * MEBIBYTE
    assert descriptors <= 0
    assert threads <= 0


def test_memory_is_flat_over_starts_that_fail() -> None:
    source = """
import pathlib, tempfile
folder = tempfile.TemporaryDirectory()
model = pathlib.Path(folder.name, "broken", "1")
model.mkdir(parents=True)
model.parent.joinpath("config.pbtxt").write_text('backend: "there is none"')
def one():
    try:
        ti.Server(model_repository=folder.name).start()
    except ti.TritonError:
        return
    raise AssertionError("started")
def state():
    gc.collect()
    return (int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
            len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")))
for _ in range(3):
    one()
before = state()
for _ in range(10):
    one()
print(*(late - early for early, late in zip(before, state())))
"""
    memory, descriptors, threads = map(int, run_script(source).check(within=40).output.split())
    assert memory < 20 * MEBIBYTE
    assert descriptors <= 0
    assert threads <= 0


def test_memory_is_flat_over_log_callbacks() -> None:
    source = """
lines = []
def one():
    server, model = start(log_callback=lambda level, text: lines.append(text), log_info=True)
    answer(model)
    server.stop()
    assert lines
    lines.clear()
one()
before = len(os.listdir("/proc/self/fd")), threading.active_count()
for _ in range(5):
    one()
assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
"""
    run_script(source).check(within=20)


# -- exports -----------------------------------------------------------------------------------------------------------


def test_ten_thousand_exports_leave_nothing(server: ti.Server) -> None:
    array = np.arange(1000, dtype=np.float32)
    (response,) = add_any(server).infer(inputs={"x": array})
    output = response.outputs["y"]
    tensor = ti.Tensor.from_dlpack(array)
    exports: list[Callable[[], object]] = [
        output.numpy,
        lambda: np.asarray(output),
        lambda: np.from_dlpack(output),
        output.__dlpack__,
        lambda: output.__dlpack__(max_version=(1, 0)),
        lambda: output.__dlpack__(copy=True),
        lambda: np.from_dlpack(tensor),
        lambda: tensor.numpy()[3:],
        lambda: ti.Tensor.from_dlpack(array).numpy(),
        lambda: ti.Tensor.from_dlpack(output).numpy(),
        lambda: ti.Tensor(ti.DataType.FP32, [1000], output.memory_buffer).numpy(),
        lambda: output.memory_buffer,
        lambda: response.outputs,
    ]
    with no_collector():
        for export in exports:
            export()
        for export in exports:
            counts = sys.getrefcount(array), sys.getrefcount(tensor), sys.getrefcount(output)
            blocks = sys.getallocatedblocks()
            assert growth(export, 10_000, 100) < 2 * MEBIBYTE
            assert (sys.getrefcount(array), sys.getrefcount(tensor), sys.getrefcount(output)) == counts
            assert sys.getallocatedblocks() - blocks < 200


def add_any(server: ti.Server) -> ti.Model:
    return server.add_model(echo, name="any", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})


def test_event_loops_that_come_and_go_leave_nothing(server: ti.Server) -> None:
    model = add(server, echo)
    gone: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def infer() -> None:
        gone.append(weakref.ref(asyncio.get_running_loop()))
        async for _ in model.async_infer(inputs={"x": four()}):
            pass

    asyncio.run(infer())
    descriptors = open_descriptors()
    for _ in range(100):
        asyncio.run(infer())
    gc.collect()
    assert open_descriptors() <= descriptors + 1
    assert [reference() for reference in gone[:-1]] == [None] * 100


def test_event_loops_with_abandoned_requests_leave_nothing(server: ti.Server) -> None:
    held = threading.Event()

    def slow(x: FloatArray) -> FloatArray:
        held.wait(20)
        return x

    model = add(server, slow)
    gone: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def abandon() -> None:
        gone.append(weakref.ref(asyncio.get_running_loop()))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(model.async_infer(inputs={"x": four()}).__anext__(), 0.01)

    asyncio.run(abandon())
    gc.collect()
    descriptors = open_descriptors()
    try:
        for _ in range(20):
            asyncio.run(abandon())
        gc.collect()
        assert [reference() for reference in gone[:-1]] == [None] * 20
    finally:
        held.set()
    # What wakes a loop lives as long as the request that would have woken it.
    wait_until(lambda: open_descriptors() <= descriptors + 1)


# -- Triton's threads --------------------------------------------------------------------------------------------------


def test_an_ended_thread_of_triton_leaves_no_thread_state_behind(server: ti.Server) -> None:
    local = threading.local()
    gone: list[weakref.ref[object]] = []

    class Value:
        pass

    def function(x: FloatArray) -> FloatArray:
        if not hasattr(local, "value"):
            local.value = Value()
            gone.append(weakref.ref(local.value))
        return x

    for _ in range(20):
        model = add(server, function)
        for _ in range(5):
            answer(model, x=four())
        server.remove_model("m")
    assert len(gone) == 20, "one thread each, and it kept its thread state between the requests"
    wait_until(lambda: not any(reference() is not None for reference in gone), 3)


def test_threads_of_triton_are_known_to_threading_while_they_run(server: ti.Server) -> None:
    before = threading.active_count()

    def function(x: FloatArray) -> FloatArray:
        threading.current_thread()
        return x

    for _ in range(5):
        model = add(server, function)
        answer(model, x=four())
        server.remove_model("m")
    # CPython before 3.13 forgets the dummy objects of foreign threads only by their reused identifiers.
    assert threading.active_count() <= before + (5 if sys.version_info < (3, 13) else 1)


def test_threads_that_infer_leave_nothing(server: ti.Server) -> None:
    model = add(server, echo)

    def one() -> None:
        threads = [threading.Thread(target=answer, args=(model,), kwargs={"x": four()}) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert growth(one, 50, 10) < 4 * MEBIBYTE


def test_statistics_and_other_questions_leave_nothing(server: ti.Server) -> None:
    model = add(server, echo)

    def ask() -> None:
        model.statistics()
        model.metadata()
        model.config()
        server.metadata()
        server.metrics()
        server.models()
        with pytest.raises(ti.TritonError):
            server.load("there is none")

    assert growth(ask, 300, 50) < 4 * MEBIBYTE
