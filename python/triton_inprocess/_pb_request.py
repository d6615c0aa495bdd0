"""Requests to Triton Python models, and those that they send to other models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from ._checks import check_integer
from ._native import MemoryType, available
from ._pb_context import current_server
from ._pb_error import TritonError, TritonModelException
from ._pb_response import InferenceResponse, Parameters, checked_parameters
from ._pb_response_sender import InferenceResponseSender
from ._pb_tensor import Tensor
from .errors import TritonError as TritonException
from .errors import UnsupportedError
from .flags import ModelTxnPropertyFlag

if TYPE_CHECKING:
    from ._native import InferenceResponse as NativeResponse
    from ._native import ModelRequest
    from .model import Model

__all__ = ["InferenceRequest", "InferenceTrace", "PreferredMemory"]

RELEASE_ALL: Final = 1  # TRITONSERVER_REQUEST_RELEASE_ALL
RELEASE_RESCHEDULE: Final = 2  # TRITONSERVER_REQUEST_RELEASE_RESCHEDULE


class PreferredMemory:
    """Where the outputs of a request to another model are to lie."""

    __slots__ = ("device_id", "memory_type")

    def __init__(self, preferred_memory_type: MemoryType, preferred_device_id: int = 0) -> None:
        """Memory of a kind and a device; raises TypeError for what is none."""
        if not isinstance(preferred_memory_type, MemoryType):
            raise TypeError(f"preferred_memory_type must be a MemoryType, not {type(preferred_memory_type).__name__}")
        check_integer("preferred_device_id", preferred_device_id, 0, 2**31 - 1)
        self.memory_type: MemoryType = preferred_memory_type
        self.device_id: int = preferred_device_id


class InferenceTrace:
    """The trace of a request, as far as a model sees it."""

    __slots__ = ("_context",)

    def __init__(self, context: str) -> None:
        """Made by `InferenceRequest.trace`."""
        self._context = context

    def get_context(self) -> str | None:
        """What the caller's trace hands on (TRITONSERVER_InferenceTraceContext); None where it has nothing."""
        return self._context or None


class InferenceRequest:
    """A request: one that `execute` has got, or one that the model sends to another with `exec` or `async_exec`."""

    __slots__ = (
        "_correlation_id",
        "_decoupled",
        "_flags",
        "_inputs",
        "_memory",
        "_model_name",
        "_model_version",
        "_native",
        "_parameters",
        "_priority",
        "_release_flags",
        "_request_id",
        "_requested",
        "_sender",
        "_timeout",
        "_trace",
    )

    def __init__(  # noqa: PLR0917 - existing models give them so
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        inputs: Sequence[Tensor] | None = None,
        requested_output_names: Sequence[str] | None = None,
        model_name: str | None = None,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory | None = None,
        trace: InferenceTrace | None = None,
        parameters: Parameters | None = None,
        priority: int = 0,
    ) -> None:
        """A request for another model.

        Args:
            request_id: Comes back with each response and stands in Triton's logs.
            correlation_id: Which sequence it belongs to: a number or a text; 0 for none.
            inputs: The inputs.
            requested_output_names: Names of the outputs to compute.
            model_name: The model.
            model_version: Its version; -1 for the latest.
            flags: TRITONSERVER_REQUEST_FLAG_SEQUENCE_START and …_END.
            timeout: Microseconds that it may wait in the queue.
            preferred_memory: Where the outputs are to lie.
            trace: The trace of the request that led to this one. Its context is known to that one alone: Triton's
                backend API lets no backend hand on a trace.
            parameters: Sent along to the model, by name.
            priority: 1 goes first; 0 is the model's default.

        Raises TypeError or ValueError for an argument of the wrong type or value.
        """
        if not isinstance(model_name, str) or not model_name:
            raise TypeError(f"model_name must be the name of a model, not {model_name!r}")
        if not isinstance(request_id, str):
            raise TypeError(f"request_id must be a str, not {type(request_id).__name__}")
        if isinstance(correlation_id, bool) or not isinstance(correlation_id, (int, str)):
            raise TypeError(f"correlation_id must be an int or a str, not {type(correlation_id).__name__}")
        given = list(inputs or ())
        for each in given:
            if not isinstance(each, Tensor):
                raise TypeError(f"inputs must hold pb_utils.Tensor objects, not {type(each).__name__}")
        if isinstance(requested_output_names, str):
            raise TypeError("requested_output_names must be a list of str, not a str")
        if preferred_memory is not None and not isinstance(preferred_memory, PreferredMemory):
            raise TypeError(f"preferred_memory must be a PreferredMemory, not {type(preferred_memory).__name__}")
        check_integer("model_version", model_version, -1, 2**63 - 1)
        check_integer("flags", flags, 0, 2**32 - 1)
        check_integer("timeout", timeout, 0, 2**64 - 1)
        check_integer("priority", priority, 0, 2**64 - 1)
        self._native: ModelRequest | None = None
        self._sender: InferenceResponseSender | None = None
        self._decoupled = False
        self._release_flags: int = RELEASE_ALL
        self._request_id: str = request_id
        self._correlation_id: int | str = correlation_id
        self._inputs: list[Tensor] = given
        self._requested: list[str] = list(requested_output_names or ())
        self._model_name: str = model_name
        self._model_version: int = model_version
        self._flags: int = flags
        self._timeout: int = timeout
        self._memory: PreferredMemory | None = preferred_memory
        self._trace: InferenceTrace = trace if trace is not None else InferenceTrace("")
        self._parameters: dict[str, str | int | bool | float] = checked_parameters(parameters)
        self._priority: int = priority

    @classmethod
    def _of(cls, native: ModelRequest, model: str, version: int, decoupled: bool, copy: bool) -> InferenceRequest:
        """The request that a model is to execute."""
        request = cls(
            request_id=native.request_id,
            correlation_id=native.correlation_id,
            inputs=[Tensor._of(name, tensor, copy) for name, tensor in native.inputs],
            requested_output_names=native.requested_outputs,
            model_name=model,
            model_version=version,
            flags=native.flags,
            timeout=native.timeout,
            trace=InferenceTrace(native.trace_context),
            parameters=native.parameters,
        )
        request._native = native
        request._decoupled = decoupled
        return request

    def inputs(self) -> list[Tensor]:
        """The inputs."""
        return self._inputs

    def request_id(self) -> str:
        """The request's id."""
        return self._request_id

    def correlation_id(self) -> int | str:
        """The sequence that it belongs to; 0 or "" for none."""
        return self._correlation_id

    def flags(self) -> int:
        """Bits of TRITONSERVER_REQUEST_FLAG_…."""
        return self._flags

    def set_flags(self, flags: int) -> None:
        """Set the flags of a request that is to be sent; raises TypeError or ValueError for what are none."""
        check_integer("flags", flags, 0, 2**32 - 1)
        self._flags = flags

    def timeout(self) -> int:
        """Microseconds that it may wait in the queue; 0 for the model's default."""
        return self._timeout

    def priority(self) -> int:
        """The priority that it is sent with; Triton does not tell a model that of the requests which it executes."""
        return self._priority

    def preferred_memory(self) -> PreferredMemory | None:
        """Where the outputs are to lie."""
        return self._memory

    def model_name(self) -> str:
        """The model that it is for."""
        return self._model_name

    def model_version(self) -> int:
        """The model's version."""
        return self._model_version

    def parameters(self) -> str:
        """The parameters, as the text of a JSON object."""
        return json.dumps(self._parameters)

    def trace(self) -> InferenceTrace:
        """The trace."""
        return self._trace

    def requested_output_names(self) -> list[str]:
        """Names of the outputs to compute."""
        return self._requested

    def is_cancelled(self) -> bool:
        """Whether the request that is executed was cancelled (TRITONBACKEND_RequestIsCancelled)."""
        return self._native is not None and self._native.cancelled

    def set_release_flags(self, flags: int) -> None:
        """Say what becomes of the request when `execute` returns (TRITONBACKEND_RequestRelease).

        With TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, Triton executes it once more; `execute` returns None for it. That
        is for models with an iterative sequence batcher. Raises TritonModelException for other flags, and for a request
        that is not executed; UnsupportedError before C API 1.27, which would lose the request.
        """
        if self._native is None:
            raise TritonModelException("set_release_flags is for requests that execute has got")
        if isinstance(flags, bool) or flags not in (RELEASE_ALL, RELEASE_RESCHEDULE):
            raise TritonModelException(
                f"flags must be TRITONSERVER_REQUEST_RELEASE_ALL or TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, not "
                f"{flags!r}"
            )
        # There is no function of its own to look for: this one came with the flag.
        if flags == RELEASE_RESCHEDULE and not available("TRITONBACKEND_InferenceRequestTimeoutMicroseconds"):
            raise UnsupportedError("TRITONSERVER_REQUEST_RELEASE_RESCHEDULE needs C API 1.27")
        self._release_flags = flags

    def get_response_sender(self) -> InferenceResponseSender:
        """What answers the request, also when `execute` has returned; `execute` returns None for it then.

        Raises TritonModelException for a request that is not executed.
        """
        if self._native is None:
            raise TritonModelException("get_response_sender is for requests that execute has got")
        if self._sender is None:
            self._sender = InferenceResponseSender(self._native, self._decoupled)
        return self._sender

    @overload
    def exec(self, decoupled: Literal[False] = ...) -> InferenceResponse: ...

    @overload
    def exec(self, decoupled: Literal[True]) -> Iterator[InferenceResponse]: ...

    def exec(self, decoupled: bool = False) -> InferenceResponse | Iterator[InferenceResponse]:
        """Send the request to its model, on the same server, and wait (TRITONSERVER_ServerInferAsync).

        Args:
            decoupled: Whether to return an iterator over the responses, for models that send any number.

        Returns what the model has sent; an error comes as a response. Raises TritonModelException when `decoupled` is
        False and the model is decoupled, and for a request that the model was given.
        """
        model, fields = self._prepared(decoupled)
        if isinstance(model, InferenceResponse):
            return iter([model]) if decoupled else model
        if decoupled:
            return self._responses(model, fields)
        try:
            return _to_response(model.infer(raise_on_error=False, **fields).result())
        except (TritonException, TypeError, ValueError) as error:
            return InferenceResponse(error=TritonError._of(error))

    async def async_exec(self, decoupled: bool = False) -> Any:
        """As `exec`, to be awaited; with `decoupled` it gives an asynchronous iterator."""
        model, fields = self._prepared(decoupled)
        if isinstance(model, InferenceResponse):
            return _only(model) if decoupled else model
        if decoupled:
            return self._async_responses(model, fields)
        try:
            return _to_response(await model.async_infer(raise_on_error=False, **fields))
        except (TritonException, TypeError, ValueError) as error:
            return InferenceResponse(error=TritonError._of(error))

    def _prepared(self, decoupled: bool) -> tuple[Model | InferenceResponse, dict[str, Any]]:
        """The model and the fields of the request; or the response that says why there is no model."""
        if self._native is not None:
            raise TritonModelException("exec is for requests that the model has made: make an InferenceRequest")
        fields: dict[str, Any] = {
            "inputs": {each.name(): each._native for each in self._inputs},
            "request_id": self._request_id or None,
            "correlation_id": self._correlation_id or None,
            "flags": self._flags,
            "timeout": self._timeout,
            "priority": self._priority,
            "parameters": self._parameters,
            "requested_outputs": self._requested or None,
        }
        if self._memory is not None:
            fields["output_memory_type"] = (self._memory.memory_type, self._memory.device_id)
        try:
            model = current_server().model(self._model_name, self._model_version)
            is_decoupled = ModelTxnPropertyFlag.DECOUPLED in model.transaction_properties()
        except TritonException as error:
            return InferenceResponse(error=TritonError._of(error)), {}
        if is_decoupled and not decoupled:
            raise TritonModelException(f"model {self._model_name!r} is decoupled: use decoupled=True")
        return model, fields

    @staticmethod
    def _responses(model: Model, fields: dict[str, Any]) -> Iterator[InferenceResponse]:
        try:
            for each in model.infer(raise_on_error=False, **fields):
                yield _to_response(each)
        except (TritonException, TypeError, ValueError) as error:
            yield InferenceResponse(error=TritonError._of(error))

    @staticmethod
    async def _async_responses(model: Model, fields: dict[str, Any]) -> AsyncIterator[InferenceResponse]:
        try:
            async for each in model.async_infer(raise_on_error=False, **fields):
                yield _to_response(each)
        except (TritonException, TypeError, ValueError) as error:
            yield InferenceResponse(error=TritonError._of(error))

    def __repr__(self) -> str:
        """Model and id."""
        return f"InferenceRequest(model_name={self._model_name!r}, request_id={self._request_id!r})"


def _to_response(response: NativeResponse) -> InferenceResponse:
    if response.error is not None:
        return InferenceResponse(error=TritonError._of(response.error))
    outputs = [Tensor._of(name, tensor) for name, tensor in response.outputs.items()]
    return InferenceResponse(outputs, parameters=response.parameters)


async def _only(response: InferenceResponse) -> AsyncIterator[InferenceResponse]:
    yield response
