"""Which hub wakes which event loop.

A hub belongs to its loop, which holds it as the callback of a descriptor. Everything here is weak: a hub refers to the
futures that wait, and those to their loop, so that a strong reference would keep a closed loop for ever.
"""

from __future__ import annotations

import asyncio
import threading
import weakref

from ._native import EventLoopHub

__all__ = ["running"]

Loop = asyncio.AbstractEventLoop


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
