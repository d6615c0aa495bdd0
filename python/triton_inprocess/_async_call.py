"""Blocking calls that an event loop awaits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from ._background import BackgroundCall

__all__ = ["in_background"]

Result = TypeVar("Result")


async def in_background(function: Callable[[], Result], abandoned: Callable[[], object] | None = None) -> Result:
    """Call a function that blocks on a thread of its own, while the loop goes on.

    It goes on when the task is cancelled, and `abandoned` is called after it. Not by the loop's own executor, whose
    threads the end of the loop waits for.
    """
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    call = BackgroundCall(function, abandoned)

    def tell() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(over.set)

    call.when_over(tell)
    try:
        call.start()
        await over.wait()
        return call.result()
    except BaseException:
        call.abandon()
        raise
