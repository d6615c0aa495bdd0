"""Which hub wakes which event loop."""

from __future__ import annotations

import asyncio
import threading
import weakref

from ._native import EventLoopHub

__all__ = ["running"]


class _LoopOfThread(threading.local):
    """The loop that ran last in this thread, so that the usual look-up is two comparisons."""

    loop: weakref.ref[asyncio.AbstractEventLoop] | None = None
    hub: EventLoopHub | None = None


_last = _LoopOfThread()
_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, EventLoopHub] = weakref.WeakKeyDictionary()


def running() -> tuple[asyncio.AbstractEventLoop, EventLoopHub]:
    """The running event loop and its hub; raises RuntimeError when none runs."""
    loop = asyncio.get_running_loop()
    if _last.loop is not None and _last.hub is not None and _last.loop() is loop:
        return loop, _last.hub
    hub = _hubs.get(loop)
    if hub is None:
        hub = _hubs[loop] = EventLoopHub()
        loop.add_reader(hub.fileno(), hub.drain)
    _last.loop, _last.hub = weakref.ref(loop), hub
    return loop, hub
