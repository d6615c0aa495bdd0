"""Which hub wakes which event loop.

A hub belongs to its loop, which holds it as the callback of a descriptor. Everything here is weak: nothing keeps a loop
that is closed.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import TYPE_CHECKING, Any

from ._native import EventLoopHub

if TYPE_CHECKING:
    from ._native import AsyncResponseIterator, InferenceResponse

    _Future = asyncio.Future[InferenceResponse]
else:
    _Future = asyncio.Future

__all__ = ["ResponseFuture", "expire_after", "running"]

Loop = asyncio.AbstractEventLoop


class ResponseFuture(_Future):
    """A future for the next response, which keeps the iterator for as long as somebody waits."""

    __slots__ = ("iterator",)

    iterator: AsyncResponseIterator | None

    def cancel(self, msg: Any = None) -> bool:
        """Let go of the iterator: if nobody else has it, or it was awaited itself, its request is cancelled."""
        cancelled = super().cancel(msg)
        iterator = self.iterator
        if cancelled and iterator is not None:
            self.iterator = None
            iterator.forget()
        return cancelled


def expire_after(loop: Loop, future: ResponseFuture, seconds: float) -> None:
    """Have the future's iterator give up after so many seconds, unless the future is done by then."""

    def expire() -> None:
        if future.iterator is not None:
            future.iterator.expire()

    timer = loop.call_later(seconds, expire)
    future.add_done_callback(lambda _: timer.cancel())


class _LastOfThread(threading.local):
    """The loop that ran last in this thread, so that the usual look-up is two comparisons."""

    loop: weakref.ref[Loop] | None = None
    hub: weakref.ref[EventLoopHub] | None = None


_last = _LastOfThread()
_hubs: weakref.WeakKeyDictionary[Loop, weakref.ref[EventLoopHub]] = weakref.WeakKeyDictionary()


def running() -> tuple[Loop, EventLoopHub]:
    """The running event loop and its hub; raises RuntimeError when none runs."""
    loop = asyncio.get_running_loop()
    if _last.loop is not None and _last.hub is not None and _last.loop() is loop:
        hub = _last.hub()
        if hub is not None:
            return loop, hub
    known = _hubs.get(loop)
    hub = known() if known is not None else None
    if hub is None:
        hub = EventLoopHub()
        loop.add_reader(hub.fileno(), hub.drain)
        _hubs[loop] = weakref.ref(hub)
    _last.loop, _last.hub = weakref.ref(loop), weakref.ref(hub)
    return loop, hub
