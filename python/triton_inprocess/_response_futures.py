"""Responses on their way to the futures that wait for them."""

from __future__ import annotations

import asyncio
import collections
from concurrent.futures import InvalidStateError
from typing import TYPE_CHECKING, Any

from ._fork_locks import reentrant_lock

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ._native import TRITONSERVER_InferenceResponse

    Answer = tuple[TRITONSERVER_InferenceResponse | None, int]

__all__ = ["ResponseFutures"]


class ResponseFutures:
    """Gives each future a response, both in the order in which they came; one may come before the other."""

    def __init__(self) -> None:
        self._lock = reentrant_lock()  # a future's callbacks may ask for the next response at once
        self._answers: collections.deque[Answer] = collections.deque()
        self._futures: collections.deque[Future[Any] | asyncio.Future[Any]] = collections.deque()

    def add_response(self, response: TRITONSERVER_InferenceResponse | None, flags: int, _user_object: object) -> None:
        """A response has come; on any thread."""
        with self._lock:
            self._answers.append((response, flags))
        self._match()

    def add_future(self, future: Future[Any] | asyncio.Future[Any]) -> None:
        """Somebody waits."""
        if not hasattr(future, "set_result"):
            raise TypeError(f"future must be a concurrent or an asyncio future, not {type(future).__name__}")
        with self._lock:
            self._futures.append(future)
        self._match()

    def _match(self) -> None:
        while True:
            with self._lock:
                if not self._answers or not self._futures:
                    return
                future = self._futures[0]
                if asyncio.isfuture(future):
                    if self._match_in_loop(future.get_loop()):
                        return
                    continue
                self._futures.popleft()
                if not _claim(future):
                    continue
                answer = self._answers.popleft()
            try:
                future.set_result(answer)
            except InvalidStateError:  # somebody else has completed it, which is not his to do
                with self._lock:
                    self._answers.appendleft(answer)

    def _match_in_loop(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Have a loop's thread, on which alone its futures hold still, serve the first of them; False if it cannot."""
        try:
            loop.call_soon_threadsafe(self._serve_loop, loop)
        except RuntimeError:  # the loop is closed
            self._futures.popleft()
            return False
        return True

    def _serve_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            while self._answers and self._futures:
                future = self._futures[0]
                if not asyncio.isfuture(future) or future.get_loop() is not loop:
                    break
                self._futures.popleft()
                if not future.done():
                    future.set_result(self._answers.popleft())  # which only schedules what waits for it
        self._match()


def _claim(future: Future[Any]) -> bool:
    """Whether the future will take a result; it cannot be cancelled any more then."""
    if future.done():
        return False
    return future.running() or future.set_running_or_notify_cancel()
