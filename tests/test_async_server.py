"""A server in an event loop: started and stopped in threads, while the loop goes on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import add_echo, run_beside_tests, write_identity
from helpers_lifetime import wait_until
from test_capi_server import WARM_UP

import triton_inprocess as ti
from triton_inprocess._lifetime import running_servers

X = np.arange(3, dtype=np.float32)


@pytest.fixture
def make(identity_backend: Path, repository: Path) -> Callable[..., ti.Server]:
    def make(**options: Any) -> ti.Server:
        return ti.Server(model_repository=repository, backend_directory=identity_backend, **options)

    return make


def threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))  # noqa: PTH208


class Ticks:
    """Counts how often the loop comes round, and the longest time that it did not."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __call__(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            self.longest = max(self.longest, now - last)
            last = now


def test_a_server_for_the_time_of_a_block(runtime: ti.runtime.Runtime) -> None:
    async def main() -> None:
        server = ti.Server()
        async with server as entered:
            assert entered is server
            (response,) = [each async for each in add_echo(server).async_infer({"x": X})]
            assert (response.outputs["y"].numpy() == X).all()
        with pytest.raises(ti.UnavailableError, match="stopped"):
            server.live()

    asyncio.run(main())


def test_a_server_that_was_started_before(server: ti.Server) -> None:
    async def main() -> None:
        async with server:
            assert server.live()

    asyncio.run(main())
    with pytest.raises(ti.UnavailableError, match="stopped"):
        server.live()


def test_a_start_that_fails(tmp_path: Path) -> None:
    async def main() -> None:
        async with ti.Server(model_repository=tmp_path / "none"):
            raise AssertionError

    with pytest.raises(ti.InternalError, match="is not a folder"):
        asyncio.run(main())


def test_an_error_in_the_block_stops_it(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server()

    async def main() -> None:
        async with server:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())
    with pytest.raises(ti.UnavailableError, match="stopped"):
        server.live()


def test_the_loop_goes_on_meanwhile(make: Callable[..., ti.Server], repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 300_000}, more=WARM_UP)
    ticks = Ticks()

    async def main() -> None:
        task = asyncio.create_task(ticks())
        begin = time.monotonic()
        async with make() as server:
            started = time.monotonic()
            assert started - begin >= 0.3
            iterator = server.model("identity").async_infer({"INPUT0": X})
        assert time.monotonic() - started >= 0.3
        assert (await anext(iterator)).outputs
        task.cancel()

    asyncio.run(main())
    assert ticks.longest < 0.15


def test_no_thread_is_left(make: Callable[..., ti.Server], repository: Path) -> None:
    write_identity(repository)

    async def main() -> None:
        async with make():
            pass

    asyncio.run(main())  # what Triton starts once and for all
    before = threads()
    for _ in range(5):
        asyncio.run(main())
        assert threads() <= before


def test_a_cancelled_start_stops_the_server(make: Callable[..., ti.Server], repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 300_000}, more=WARM_UP)
    server = make()

    async def main() -> None:
        async def enter() -> None:
            async with server:
                raise AssertionError

        task = asyncio.create_task(enter())
        await asyncio.sleep(0.05)
        task.cancel()
        begin = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - begin < 0.1

    begin = time.monotonic()
    asyncio.run(main())  # its end does not wait for the start either
    assert time.monotonic() - begin < 0.25
    wait_until(lambda: server._stopped)
    server.stop()  # waits for what goes on in the background
    assert server not in running_servers


def test_a_cancelled_stop_goes_on(make: Callable[..., ti.Server], repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 300_000})
    server = make()

    async def main() -> list[ti.InferenceResponse]:
        iterators: list[ti.ResponseIterator] = []

        async def use() -> None:
            async with server:
                iterators.append(server.model("identity").infer({"INPUT0": X}))

        async def use_until_stopped() -> None:
            while server.live():  # the thread that stops it may not have begun
                await asyncio.sleep(0.01)

        task = asyncio.create_task(use())
        while not iterators:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ti.UnavailableError, match="stop"):
            await use_until_stopped()
        return list(iterators[0])

    (response,) = asyncio.run(main())
    assert (response.outputs["OUTPUT0"].numpy() == X).all()
    server.stop()
    assert server._files is None


def test_a_stop_that_does_not_end_in_time_warns(make: Callable[..., ti.Server]) -> None:
    source = """
import asyncio, threading, warnings
import numpy as np
import triton_inprocess as ti
entered, opened = threading.Event(), threading.Event()
def wait(x):
    entered.set()
    opened.wait()
    return x
async def main():
    async with ti.Server(exit_timeout=0) as server:
        tensors = (np.float32, (2,))
        model = server.add_model(wait, name="m", inputs={"x": tensors}, outputs={"y": tensors})
        iterator = model.infer({"x": np.ones(2, np.float32)})
        assert entered.wait(10)
    opened.set()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    asyncio.run(main())
(warning,) = caught
assert "left behind" in str(warning.message), warning
assert warning.category is RuntimeWarning
print("warned")
"""
    assert run_beside_tests(source).stdout == "warned\n"


def test_a_models_function_cannot_leave_its_servers_block(server: ti.Server) -> None:
    async def leave() -> None:
        async with server:
            pass

    def function(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        asyncio.run(leave())
        return x

    tensors = {"x": (np.float32, (-1,))}
    model = server.add_model(function, name="m", inputs=tensors, outputs={"y": tensors["x"]})
    with pytest.raises(ti.UnavailableError, match="it would wait for itself"):
        list(model.infer({"x": X}))
    assert server.live()


def test_ctrl_c_while_it_starts(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 20_000_000}, more=WARM_UP)
    source = f"""
import asyncio, os, signal, sys, threading, time
import triton_inprocess as ti
ti.runtime.load()
ti.runtime.open_forwarder()
def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
async def main():
    asyncio.get_running_loop().call_later(0.3, interrupt)
    async with ti.Server(model_repository={str(repository)!r}, backend_directory={str(identity_backend)!r}):
        print("started")
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print(time.monotonic() - sent < 0.1)
"""
    begin = time.monotonic()
    assert run_beside_tests(source).stdout == "True\n"
    assert time.monotonic() - begin < 15  # the process does not wait for the model either
