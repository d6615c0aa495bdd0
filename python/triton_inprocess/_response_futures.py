"""Responses on their way to the futures that wait for them."""

from __future__ import annotations

import asyncio
import collections
import threading
from concurrent.futures import InvalidStateError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ._native import TRITONSERVER_InferenceResponse

    Answer = tuple[TRITONSERVER_InferenceResponse | None, int]

__all__ = ["ResponseFutures"]


class ResponseFutures:
    """Gives each future a response, both in the order in which they came; one may come before the other."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a future's callbacks may ask for the next response at once
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
                future, answer = self._futures.popleft(), self._answers.popleft()
            if asyncio.isfuture(future):
                self._set_in_loop(future, answer)
                continue
            try:
                future.set_result(answer)
            except InvalidStateError:  # it was cancelled, or completed by somebody else
                self._put_back(answer)

    def _set_in_loop(self, future: asyncio.Future[Any], answer: Answer) -> None:
        try:
            future.get_loop().call_soon_threadsafe(self._set, future, answer)
        except RuntimeError:  # the loop is closed
            self._put_back(answer)

    def _set(self, future: asyncio.Future[Any], answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)
            return
        self._put_back(answer)
        self._match()

    def _put_back(self, answer: Answer) -> None:
        with self._lock:
            self._answers.appendleft(answer)
