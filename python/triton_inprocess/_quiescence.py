"""Waiting for Triton's threads to come to rest.

Triton 2.51 and older have a race: a model's thread takes its instance out of a list while it executes, and puts it back
a moment after the response was sent (or the model was loaded). Unloading the model within that moment reads the empty
list, and the process dies. So nothing is unloaded before the threads that are not Python's sleep.
"""

from __future__ import annotations

import os
import threading
import time

from ._background import thread_ids

__all__ = ["wait_for_triton_threads"]

_TASKS = "/proc/self/task"
_LONGEST = 0.05  # a thread that is busy for longer is busy with something else
_STEP = 0.0002


def wait_for_triton_threads() -> None:
    """Return when no thread but Python's own runs, at the latest after 50 ms."""
    deadline = time.monotonic() + _LONGEST
    while _any_running() and time.monotonic() < deadline:
        time.sleep(_STEP)


def _any_running() -> bool:
    # A thread of Triton's that Python has once seen is in the list, too, as a dummy.
    # Not by threading.enumerate(): a signal handler would wait for a lock of the thread that it interrupted.
    threads = list(threading._active.values())  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
    pythons = {each.native_id for each in threads if not isinstance(each, threading._DummyThread)} | thread_ids()
    tasks = os.listdir(_TASKS)  # noqa: PTH208
    return any(int(task) not in pythons and _is_running(task) for task in tasks)


def _is_running(task: str) -> bool:
    try:
        with open(f"{_TASKS}/{task}/stat", "rb") as file:  # noqa: PTH123
            stat = file.read()
    except OSError:
        return False  # it has ended meanwhile
    # "4711 (a name, which may hold anything) R ..."
    return stat[stat.rindex(b")") + 2 :].startswith((b"R", b"D"))
