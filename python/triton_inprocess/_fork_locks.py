"""Locks that a forked child finds free, whoever held them in its parent: that thread does not exist in the child."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

__all__ = ["reentrant_lock"]

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def reentrant_lock() -> threading.RLock:
    """A threading.RLock, made anew in a forked child unless the thread that forked held it, which will release it."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _renew() -> None:
    for lock in _locks:
        if not lock._is_owned():
            lock._at_fork_reinit()


os.register_at_fork(after_in_child=_renew)
