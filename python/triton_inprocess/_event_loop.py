"""Which hub wakes which event loop.

A hub belongs to its loop, which holds it as the callback of a descriptor. Everything here is weak: nothing keeps a loop
that is closed.
"""

from __future__ import annotations

import asyncio
import weakref

from ._native import EventLoopHub, ResponseWait

__all__ = ["expire_after", "hub_of"]

Loop = asyncio.AbstractEventLoop

_hubs: weakref.WeakKeyDictionary[Loop, weakref.ref[EventLoopHub]] = weakref.WeakKeyDictionary()


def hub_of(loop: Loop) -> EventLoopHub:
    """The hub of an event loop, which runs in this thread."""
    known = _hubs.get(loop)
    hub = known() if known is not None else None
    if hub is None:
        hub = EventLoopHub(loop)
        loop.add_reader(hub.fileno(), hub.drain)
        _hubs[loop] = weakref.ref(hub)
    return hub


def expire_after(loop: Loop, wait: ResponseWait, seconds: float) -> asyncio.TimerHandle:
    """Have a wait give up after so many seconds."""
    return loop.call_later(seconds, wait.expire)
