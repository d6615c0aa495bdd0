"""A time that a task may take for something."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["TimeLimit"]


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
        uncancel = getattr(self._task, "uncancel", None)  # since Python 3.11
        others = uncancel() if uncancel is not None else 0
        if kind is asyncio.CancelledError and not others:
            raise TimeoutError from None
