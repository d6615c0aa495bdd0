"""A request, described."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._types import Device

if TYPE_CHECKING:
    import asyncio
    import queue

    from ._native import InferenceResponse, NativeMemoryAllocator
    from .memory_allocator import MemoryAllocator
    from .model import Model
    from .trace import Trace

__all__ = ["InferenceRequest"]


@dataclass
class InferenceRequest:
    """What is sent to a model. It is a description: it can be sent any number of times, also at once.

    Attributes:
        model: The model it is for.
        request_id: Comes back with each response and stands in Triton's logs.
        flags: TRITONSERVER_RequestFlag: 1 starts a sequence, 2 ends one.
        correlation_id: Which sequence it belongs to: a number or a text.
        priority: 1 goes first; 0 is the model's default.
        timeout: Microseconds that it may wait in the queue; 0 is the model's default.
        inputs: A tensor, or anything that can become one, for each input. Lists and numbers take the model's type.
        parameters: Sent along to the model. Needs C API 1.21.
        output_memory_type: Where outputs are allocated, as in `Tensor.to_device`: "cpu", "cpu_pinned", "gpu:1", …
        response_queue: Every response is put there, too: a queue.SimpleQueue, or an asyncio.Queue with `async_infer`.
        requested_outputs: Names of the outputs to compute; all of them by default.
        outputs: Memory for outputs, by name: writable arrays or tensors of their type and shape, to which Triton writes
            the one response.
        deadline: Seconds that the caller waits, from sending the request on: then it is cancelled, and TimeoutError is
            raised. None: for ever.
        trace: A Trace, which tells what happens to the request; it is for sending once.
        output_memory_allocator: What gives the memory for the outputs that are not in `outputs`: a MemoryAllocator or a
            NativeMemoryAllocator. None: the server's (`Options`), or else this package's.
        max_pending_responses: How many responses may wait for the iterator's reader; for models that send several. When
            they are there, the next one waits in Triton's thread: the model's instance, and with it its other requests
            and its unloading, until one is taken, or the request is cancelled, closed, dropped or over its `deadline`,
            or the server stops. Nothing waits for a task that was cancelled, and the last response never does. None:
            any number may wait. It goes with no `response_queue`. A response that comes on the reader's own thread when
            all room is taken is an UnsupportedError in its stead.
    """

    model: Model
    request_id: str | None = None
    flags: int = 0
    correlation_id: int | str | None = None
    priority: int = 0
    timeout: int = 0
    inputs: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, str | int | bool | float] = field(default_factory=dict)
    output_memory_type: Device | None = None
    response_queue: queue.SimpleQueue[InferenceResponse] | asyncio.Queue[InferenceResponse] | None = None
    requested_outputs: Sequence[str] | None = None
    outputs: Mapping[str, Any] | None = None
    deadline: float | None = None
    trace: Trace | None = None
    output_memory_allocator: MemoryAllocator | NativeMemoryAllocator | None = None
    max_pending_responses: int | None = None

    def fields(self) -> dict[str, Any]:
        """What differs from the defaults, as keywords of `Model.infer`."""
        # Whether the values are right is for `infer` to say, which names the field.
        given: dict[str, Any] = {"inputs": dict(self.inputs) if isinstance(self.inputs, Mapping) else self.inputs}
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value is not default and value != default:
                given[name] = value
        return given


_DEFAULTS: dict[str, Any] = {
    "request_id": None,
    "flags": 0,
    "correlation_id": None,
    "priority": 0,
    "timeout": 0,
    "parameters": {},
    "output_memory_type": None,
    "response_queue": None,
    "requested_outputs": None,
    "outputs": None,
    "deadline": None,
    "trace": None,
    "output_memory_allocator": None,
    "max_pending_responses": None,
}
