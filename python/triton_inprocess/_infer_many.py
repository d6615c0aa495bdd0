"""Many requests, some of them in flight at once: the answers while the next ones are on their way."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import ResponseWindow

if TYPE_CHECKING:
    import asyncio

    from ._keywords import ManyKeywords
    from ._native import AsyncResponseIterator, InferenceResponse
    from .model import Model

__all__ = ["async_infer_many", "check", "infer_many"]


def check(max_in_flight: object, ordered: object) -> None:
    """Raises TypeError or ValueError for what is no number of requests, or no bool."""
    if not isinstance(ordered, bool):
        raise TypeError(f"ordered must be a bool, not {type(ordered).__name__}")
    if not isinstance(max_in_flight, int) or isinstance(max_in_flight, bool):
        raise TypeError(f"max_in_flight must be an int, not {type(max_in_flight).__name__}")
    if max_in_flight < 1:
        raise ValueError(f"max_in_flight must be at least 1, not {max_in_flight}")


def infer_many(
    model: Model,
    requests: Iterable[Any],
    *,
    max_in_flight: int,
    ordered: bool,
    raise_on_error: bool,
    fields: ManyKeywords,
) -> Iterator[InferenceResponse]:
    """What Model.infer_many returns."""
    infer = model.infer
    window = ResponseWindow(ordered)  # dropped with the generator, its requests are cancelled
    for request in requests:
        window.add(infer(request, raise_on_error, **fields))
        if len(window) >= max_in_flight:
            yield window.take()
            while (response := window.poll()) is not None:
                yield response
    while len(window):
        yield window.take()


async def async_infer_many(
    model: Model,
    requests: Iterable[Any] | AsyncIterable[Any],
    *,
    max_in_flight: int,
    ordered: bool,
    raise_on_error: bool,
    fields: ManyKeywords,
) -> AsyncIterator[InferenceResponse]:
    """What Model.async_infer_many returns."""
    window = _InOrder() if ordered else _AsCompleted()
    try:
        async for request in _as_async(requests):
            window.add(model.async_infer(request, raise_on_error, **fields))
            if len(window) >= max_in_flight:
                yield await window.take()
                while (response := window.poll()) is not None:
                    yield response
        while len(window):
            yield await window.take()
    finally:
        window.close()


class _InOrder:
    """Requests whose responses are taken in the order of the requests."""

    def __init__(self) -> None:
        self._pending: deque[AsyncResponseIterator] = deque()

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, iterator: AsyncResponseIterator) -> None:
        self._pending.append(iterator)

    def take(self) -> Awaitable[InferenceResponse]:
        return self._pending.popleft()

    def poll(self) -> InferenceResponse | None:
        response = _native.poll(self._pending[0]) if self._pending else None
        if response is not None:
            self._pending.popleft()
        return response

    def close(self) -> None:
        self._pending.clear()  # dropped, they are cancelled


class _AsCompleted:
    """Requests whose responses are taken as they come."""

    def __init__(self) -> None:
        import asyncio

        self._ensure_future = asyncio.ensure_future
        self._pending: set[asyncio.Future[InferenceResponse]] = set()
        self._done: asyncio.Queue[asyncio.Future[InferenceResponse]] = asyncio.Queue()

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, iterator: AsyncResponseIterator) -> None:
        waiting = self._ensure_future(iterator)
        waiting.add_done_callback(self._done.put_nowait)
        self._pending.add(waiting)

    async def take(self) -> InferenceResponse:
        done = await self._done.get()
        self._pending.discard(done)
        return done.result()

    def poll(self) -> InferenceResponse | None:
        if self._done.empty():
            return None
        done = self._done.get_nowait()
        self._pending.discard(done)
        return done.result()

    def close(self) -> None:
        for each in self._pending:
            if not each.cancel() and not each.cancelled():
                each.exception()  # which nobody wants to hear of after the first


async def _as_async(requests: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(requests, AsyncIterable):
        async for request in requests:
            yield request
    else:
        for request in requests:
            yield request
