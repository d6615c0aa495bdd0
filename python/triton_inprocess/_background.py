"""Blocking calls on threads of their own, so that whoever waits for them can be interrupted.

What interrupts is Ctrl-C or another signal's handler, or the cancellation of an asyncio task. The threads are started
below `threading`, and nothing here takes a lock: a signal handler may find it taken by the code that it interrupted.
"""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from .errors import UnavailableError

__all__ = ["BackgroundCall", "interruptible", "thread_ids"]

Result = TypeVar("Result")

_LOOK = 1.0  # seconds after which a waiter looks by itself whether the call is over
_THREAD_END = 0.05  # seconds that a thread may take to end after its call

_threads: set[int] = set()


def thread_ids() -> set[int]:
    """The native ids of the threads that run such calls."""
    return _threads.copy()


class BackgroundCall(Generic[Result]):
    """A call that runs on a thread of its own. When its waiter gives up it goes on, and is cleaned up after."""

    def __init__(self, function: Callable[[], Result], abandoned: Callable[[], object] | None = None) -> None:
        """Prepare a call of `function`; `abandoned` is called after it, once, when nobody took what came of it."""
        self._function: Callable[[], Result] | None = function
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._over = False
        self._taken = False
        self._given_up = False
        self._clean_ups: list[Callable[[], object]] = [abandoned] if abandoned is not None else []
        self._told: list[Callable[[], object]] = []
        self._running = _thread.allocate_lock()  # held until the call is over
        self._process = os.getpid()
        self._thread: int | None = None

    def start(self) -> None:
        """Start the thread. Where none can be started any more, as the interpreter ends, the call is made here."""
        self._running.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:
            self._run()

    @property
    def outcome(self) -> Result | None:
        """What the call has returned; None before."""
        return self._result

    def when_over(self, tell: Callable[[], object]) -> None:
        """Have `tell` called, on any thread, when the call is over."""
        self._told.append(tell)
        if self._over:
            _call_each(self._told)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the call is over, or the time is (False). What interrupts the wait is raised."""
        if self._process != os.getpid():
            raise UnavailableError("what is waited for goes on in the process that this one was forked from")
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._over:
            left = _LOOK if deadline is None else min(_LOOK, deadline - time.monotonic())
            if left < 0:
                return False
            if self._running.acquire(timeout=left):
                self._running.release()
        return True

    def result(self) -> Result:
        """Wait for the call; what it returned or raised. What interrupts the wait abandons the call."""
        try:
            self.wait()
            self._join()
            self._taken = True
            self._clean_ups.clear()
        except BaseException:
            self.abandon()
            raise
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # it holds this frame
        return cast("Result", self._result)

    def abandon(self) -> None:
        """Nobody waits any more: the cleaning up comes after the call, at once if that is over."""
        if not self._taken:
            self._given_up = True
            if self._over:
                _call_each(self._clean_ups)

    def _run(self) -> None:
        assert self._function is not None
        self._thread = threading.get_native_id()
        _threads.add(self._thread)
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error
        self._function = None
        try:
            # In this order, as in `abandon` and `when_over`: one of the two sides sees what the other has done.
            self._over = True
            _call_each(self._told)
            if self._given_up:
                _call_each(self._clean_ups)
        finally:
            _forget_dummy()
            _threads.discard(self._thread)
            self._running.release()

    def _join(self) -> None:
        """Wait the moment until the thread has ended, too: who counts threads afterwards finds none."""
        deadline = time.monotonic() + _THREAD_END
        while self._thread != threading.get_native_id() and _exists(self._thread) and time.monotonic() < deadline:
            time.sleep(0)


def interruptible(function: Callable[[], Result], abandoned: Callable[[], object] | None = None) -> Result:
    """Call a function that blocks. Where signals come, on the main thread, they end the wait for it at once.

    It goes on then; `abandoned` is called after it.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return function()
    call = BackgroundCall(function, abandoned)
    try:
        call.start()
        return call.result()
    except BaseException:
        call.abandon()
        raise


def _call_each(functions: list[Callable[[], object]]) -> None:
    while functions:
        try:
            function = functions.pop()
        except IndexError:  # whoever has got it calls it
            return
        function()


def _forget_dummy() -> None:
    """Forget what threading.current_thread() makes for a thread that it has not started, and keeps beyond its end."""
    active: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined] # pyright: ignore
    if isinstance(active.get(threading.get_ident()), threading._DummyThread):
        active.pop(threading.get_ident(), None)


def _exists(thread: int | None) -> bool:
    return os.path.exists(f"/proc/self/task/{thread}")  # noqa: PTH110
