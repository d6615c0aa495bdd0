"""Event loops come and go; what waits in one must neither hold it for ever nor be lost."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import numpy as np

import triton_inprocess as ti


def slow_model(server: ti.Server) -> ti.Model:
    def slow(x: np.ndarray) -> np.ndarray:
        time.sleep(0.05)
        return x

    return server.add_model(slow, name="slow", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))})


def test_a_closed_loop_with_waiting_iterators_is_collected(runtime: ti.runtime.Runtime) -> None:
    x = np.ones(2, np.float32)
    with ti.Server() as server:
        model = slow_model(server)

        async def abandon() -> None:
            waiting = [asyncio.ensure_future(model.async_infer(inputs={"x": x}).__anext__()) for _ in range(3)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in waiting)

        loop = asyncio.new_event_loop()
        loop.run_until_complete(abandon())
        assert all(task.cancel() for task in asyncio.all_tasks(loop))  # and no name that keeps a task
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        gone = weakref.ref(loop)
        del loop
        gc.collect()
        assert gone() is None


def test_many_loops_one_after_the_other(runtime: ti.runtime.Runtime) -> None:
    x = np.ones(2, np.float32)
    with ti.Server() as server:
        model = server.add_model(
            lambda x: x, name="echo", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))}
        )

        async def infer() -> float:
            async for response in model.async_infer(inputs={"x": x}):
                return float(response.outputs["y"].numpy().sum())
            raise AssertionError("no response")

        assert [asyncio.run(infer()) for _ in range(50)] == [2.0] * 50


def test_a_cancelled_wait_leaves_the_response_for_the_next(runtime: ti.runtime.Runtime) -> None:
    x = np.ones(2, np.float32)
    with ti.Server() as server:
        model = slow_model(server)

        async def infer() -> list[bool]:
            iterator = model.async_infer(inputs={"x": x})
            first = asyncio.ensure_future(iterator.__anext__())
            await asyncio.sleep(0)
            first.cancel()
            return [response.final async for response in iterator]

        assert asyncio.run(infer()) == [True]


def test_abandoned_waits_are_no_leak_at_exit(runtime: ti.runtime.Runtime) -> None:
    program = """
import asyncio, time, numpy as np, triton_inprocess as ti
server = ti.Server().start()
def slow(x):
    time.sleep(0.05)
    return x
model = server.add_model(slow, name="slow", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))})
async def abandon():
    x = np.ones(2, np.float32)
    waits = [asyncio.ensure_future(model.async_infer(inputs={"x": x}).__anext__()) for _ in range(9)]
    await asyncio.sleep(0)
asyncio.run(abandon())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0
    assert "leaked" not in result.stderr


def test_a_loop_wakes_nobody_who_waits_in_another(runtime: ti.runtime.Runtime) -> None:
    x = np.ones(2, np.float32)
    gates = [threading.Event(), threading.Event()]

    def stream(x: np.ndarray) -> Iterator[np.ndarray]:
        for gate in gates:
            gate.wait()
            yield x

    async def begin(iterator: ti.AsyncResponseIterator) -> asyncio.Task[asyncio.AbstractEventLoop]:
        async def wait() -> asyncio.AbstractEventLoop:
            await iterator.__anext__()
            return asyncio.get_running_loop()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        return task

    async def take(iterator: ti.AsyncResponseIterator) -> None:
        await iterator.__anext__()

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    with ti.Server() as server:
        model = server.add_model(
            stream, name="stream", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))}
        )
        iterator = model.async_infer(inputs={"x": x})
        given_up = first.run_until_complete(begin(iterator))
        gates[0].set()
        time.sleep(0.1)  # the first loop is told of the response, but does not run
        given_up.cancel()
        second.run_until_complete(take(iterator))
        waiting = second.run_until_complete(begin(iterator))
        gates[1].set()
        time.sleep(0.1)
        first.run_until_complete(asyncio.wait([given_up]))
        first.run_until_complete(asyncio.sleep(0))
        assert not waiting.done()
        assert second.run_until_complete(waiting) is second
        iterator.close()
    first.close()
    second.close()
