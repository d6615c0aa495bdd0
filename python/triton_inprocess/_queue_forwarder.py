"""Responses for a user's queue, beside the iterator."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import asyncio

    from ._native import AsyncResponseIterator, ResponseIterator
    from .model import Model

__all__ = ["async_infer", "infer"]

_tasks: set[asyncio.Task[None]] = set()


def infer(
    model: Model, raise_on_error: bool, inputs: dict[str, Any] | None, fields: dict[str, Any]
) -> ResponseIterator:
    """As Model.infer, with a `response_queue` in `fields`: a thread puts every response there, too."""
    import inspect

    fields, target = _fields_and_queue(fields)
    if inspect.iscoroutinefunction(target.put):
        raise TypeError("response_queue must be a queue.SimpleQueue here; one of asyncio is for async_infer")
    first, second = _native.infer_twice(model._handle, model, raise_on_error, inputs, fields)

    def forward() -> None:
        for response in second:
            target.put(response)

    threading.Thread(target=forward, name="triton-inprocess-queue", daemon=True).start()
    return first


def async_infer(
    model: Model, raise_on_error: bool, inputs: dict[str, Any] | None, fields: dict[str, Any]
) -> AsyncResponseIterator:
    """As Model.async_infer, with a `response_queue` in `fields`: a task puts every response there, too."""
    import asyncio

    fields, target = _fields_and_queue(fields)
    loop = asyncio.get_running_loop()
    first, second = _native.async_infer_twice(model._handle, model, raise_on_error, inputs, fields)

    async def forward() -> None:
        async for response in second:
            put = target.put(response)
            if put is not None:
                await put

    # The loop itself holds its tasks only weakly.
    task = loop.create_task(forward())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return first


def _fields_and_queue(fields: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    fields = dict(fields)
    target = fields.pop("response_queue")
    if fields.get("max_pending_responses") is not None:
        raise ValueError(
            "max_pending_responses goes with no response_queue: whoever reads the queue need not read the iterator"
        )
    if not callable(getattr(target, "put", None)):
        raise TypeError(f"response_queue must be a queue with a put method, not {type(target).__name__}")
    return fields, target
