"""What a model's function is told of a request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from .flags import RequestFlag

if TYPE_CHECKING:
    from ._native import Execution
    from .instance_context import InstanceContext

__all__ = ["RequestContext"]


class RequestContext:
    """One request, as the keyword-only argument `context` of a model's function.

    It may be kept: it holds nothing of Triton's, and nothing of the inputs.

    Attributes:
        model: Name of the model.
        version: Its version.
        instance: Name of the instance that executes the request.
        request_id: The request's id, or the empty string.
        correlation_id: The sequence that it belongs to: a number or a text; 0 or "" for none.
        flags: Bits of RequestFlag.
        parameters: What the caller sent along, by name.
        timeout: The request's timeout in microseconds, as sent (for Triton's queue); 0 for none. Needs C API 1.17.
        deadline: When that is over, counted from the call of the function, on the clock of `time.monotonic`; None
            without a timeout.
        trace_id: Number of the request's trace (TRITONSERVER_InferenceTraceId); None when it is not traced.
        rows: How many rows of the batch are the request's; 1 without a batch dimension.
        state: With SequenceBatching, a dict that the requests of a sequence share; an empty one otherwise.
    """

    __slots__ = (
        "_execution",
        "_index",
        "correlation_id",
        "deadline",
        "flags",
        "instance",
        "model",
        "parameters",
        "request_id",
        "rows",
        "state",
        "timeout",
        "trace_id",
        "version",
    )

    def __init__(self, instance: InstanceContext, execution: Execution, index: int, rows: int) -> None:
        """Made for the call of a function."""
        self.model: str = instance.model
        self.version: int = instance.version
        self.instance: str = instance.instance
        identifier, correlation, flags, timeout, parameters, trace = execution.information(index)
        self.request_id: str = identifier
        self.correlation_id: int | str = correlation
        self.flags: RequestFlag = RequestFlag(flags)
        self.parameters: dict[str, str | int | bool | float] = parameters
        self.timeout: int = timeout
        self.deadline: float | None = time.monotonic() + timeout / 1e6 if timeout else None
        self.trace_id: int | None = trace
        self.rows: int = rows
        self.state: dict[str, Any] = {}
        self._execution = execution
        self._index = index

    @property
    def sequence_start(self) -> bool:
        """Whether it is the first request of its sequence."""
        return bool(self.flags & RequestFlag.SEQUENCE_START)

    @property
    def sequence_end(self) -> bool:
        """Whether it is the last request of its sequence."""
        return bool(self.flags & RequestFlag.SEQUENCE_END)

    def is_cancelled(self) -> bool:
        """Whether Triton was asked to cancel the request (TRITONBACKEND_RequestIsCancelled).

        False once it is answered, and always before C API 1.25, where requests cannot be cancelled.
        """
        return self._execution.request_cancelled(self._index)

    def __repr__(self) -> str:
        """What tells it from others."""
        return (
            f"{type(self).__name__}(model={self.model!r}, request_id={self.request_id!r}, "
            f"correlation_id={self.correlation_id!r})"
        )
