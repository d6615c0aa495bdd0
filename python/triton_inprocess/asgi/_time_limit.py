"""A time that a task may take for something."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

__all__ = ["TimeLimit", "uncancel"]


def uncancel(task: asyncio.Task[Any]) -> int:
    """Take one cancellation back; returns how many others there are, which Python 3.10 cannot tell."""
    method = getattr(task, "uncancel", None)
    return method() if method is not None else 0


class TimeLimit:
    """`with TimeLimit(seconds):` raises TimeoutError when the awaiting in it takes longer.

    As asyncio.timeout, which Python 3.10 has not; and cheaper than asyncio.wait_for, which makes a task of each call.
    """

    __slots__ = ("_expired", "_seconds", "_task", "_timer")

    def __init__(self, seconds: float) -> None:
        """The time starts when the block is entered."""
        self._seconds = max(0.0, seconds)
        self._expired = False

    def __enter__(self) -> None:
        """Start the time."""
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raise TimeoutError where the time is over."""
        self._timer.cancel()
        if not self._expired:
            return
        if not uncancel(self._task) and kind is asyncio.CancelledError:
            raise TimeoutError from None
