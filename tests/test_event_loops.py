"""Event loops come and go; what waits in one must neither hold it for ever nor be lost."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
import weakref

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
