"""Many requests, some of them in flight at once: the answers while the next ones are on their way."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import AsyncResponseIterator, InferenceResponse, ResponseIterator
    from .model import Model

__all__ = ["async_infer_many", "check", "infer_many"]


def check(max_in_flight: object) -> None:
    """Raises TypeError or ValueError for what is no number of requests."""
    if not isinstance(max_in_flight, int) or isinstance(max_in_flight, bool):
        raise TypeError(f"max_in_flight must be an int, not {type(max_in_flight).__name__}")
    if max_in_flight < 1:
        raise ValueError(f"max_in_flight must be at least 1, not {max_in_flight}")


def infer_many(
    model: Model, requests: Iterable[Any], max_in_flight: int, raise_on_error: bool, fields: dict[str, Any]
) -> Iterator[InferenceResponse]:
    """What Model.infer_many returns."""
    infer = model.infer
    pending: deque[ResponseIterator] = deque()  # dropped with the generator, they are cancelled
    for request in requests:
        pending.append(infer(request, raise_on_error, **fields))
        if len(pending) >= max_in_flight:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


async def async_infer_many(
    model: Model,
    requests: Iterable[Any] | AsyncIterable[Any],
    max_in_flight: int,
    raise_on_error: bool,
    fields: dict[str, Any],
) -> AsyncIterator[InferenceResponse]:
    """What Model.async_infer_many returns."""
    infer = model.async_infer
    pending: deque[AsyncResponseIterator] = deque()
    async for request in _as_async(requests):
        pending.append(infer(request, raise_on_error, **fields))
        if len(pending) >= max_in_flight:
            yield await pending.popleft()
    while pending:
        yield await pending.popleft()


async def _as_async(requests: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(requests, AsyncIterable):
        async for request in requests:
            yield request
    else:
        for request in requests:
            yield request
