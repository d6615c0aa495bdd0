"""Requests that belong together, for models that keep a state between them."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import TritonError, UnavailableError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from ._keywords import SequenceKeywords
    from ._native import AsyncResponseIterator, ResponseIterator
    from .model import Model

__all__ = ["Sequence"]

_START, _END = 1, 2  # TRITONSERVER_RequestFlag

# From anywhere: the sequences of earlier processes may live on where a model keeps them.
_numbers = itertools.count(int.from_bytes(os.urandom(6), "big") + 1)


class Sequence:
    """A sequence of requests to one model, which has them go to one instance, one after the other.

    The first request is flagged as the start, and the one that is sent with `end=True` as the end. A `with` block that
    is left without an end sends the last inputs once more, flagged as the end, and drops the answer: the model must
    learn that the sequence is over, or keeps the place until its `max_sequence_idle_microseconds` are over.

    Attributes:
        model: The model.
        correlation_id: What Triton knows the sequence by.
        ended: Whether the end was sent.
    """

    def __init__(self, model: Model, correlation_id: int | str | None = None) -> None:
        """A sequence of its own number, unless a `correlation_id` is given: a number from 1 on, or a text.

        Raises TypeError or ValueError for another one.
        """
        if correlation_id is None:
            correlation_id = next(_numbers)
        if not isinstance(correlation_id, str):
            if isinstance(correlation_id, bool) or not hasattr(correlation_id, "__index__"):
                raise TypeError(f"correlation_id must be an int or a str, not {type(correlation_id).__name__}")
            correlation_id = operator.index(correlation_id)
        if not correlation_id or (isinstance(correlation_id, int) and not 0 < correlation_id < 2**64):
            raise ValueError(
                f"correlation_id must be from 1 to {2**64 - 1}, or a text that is not empty, not {correlation_id!r}"
            )
        self.model: Model = model
        self.correlation_id: int | str = correlation_id
        self.ended: bool = False
        self._last: dict[str, Any] | None = None

    def infer(
        self, inputs: Mapping[str, Any], *, end: bool = False, **fields: Unpack[SequenceKeywords]
    ) -> ResponseIterator:
        """The next request, as `Model.infer`; with `end`, the last one.

        Raises UnavailableError after the end, and TypeError for `flags` and `correlation_id`, which are the sequence's.
        """
        responses = self.model.infer(inputs, **self._fields(end, fields))
        self._sent(inputs, end)
        return responses

    def async_infer(
        self, inputs: Mapping[str, Any], *, end: bool = False, **fields: Unpack[SequenceKeywords]
    ) -> AsyncResponseIterator:
        """As `infer`, for `async for` and `await`; a request goes before the next one in the order of the calls."""
        responses = self.model.async_infer(inputs, **self._fields(end, fields))
        self._sent(inputs, end)
        return responses

    def close(self) -> None:
        """Send the end, if a request was sent and none of them was the end."""
        if self._last is not None and not self.ended:
            self.infer(self._last, end=True, raise_on_error=False).result()

    def __enter__(self) -> Sequence:
        """For `with`: ends it at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it; what goes wrong is told unless an error is on its way already."""
        try:
            self.close()
        except TritonError:
            if error is None:
                raise

    async def __aenter__(self) -> Sequence:
        """For `async with`: ends it at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End it; what goes wrong is told unless an error is on its way already."""
        try:
            if self._last is not None and not self.ended:
                await self.async_infer(self._last, end=True, raise_on_error=False)
        except TritonError:
            if error is None:
                raise

    def __repr__(self) -> str:
        """Model, number and state."""
        state = "ended" if self.ended else "not begun" if self._last is None else "open"
        return f"Sequence(model={self.model.name!r}, correlation_id={self.correlation_id!r}, {state})"

    def _fields(self, end: bool, fields: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(end, bool):
            raise TypeError(f"end must be a bool, not {type(end).__name__}")
        for name in ("flags", "correlation_id"):
            if name in fields:
                raise TypeError(f"{name} is set by the sequence")
        if self.ended:
            raise UnavailableError("the sequence has ended")
        flags = (_START if self._last is None else 0) | (_END if end else 0)
        return {**fields, "flags": flags, "correlation_id": self.correlation_id}

    def _sent(self, inputs: Mapping[str, Any], end: bool) -> None:
        self._last = dict(inputs)
        self.ended = end
