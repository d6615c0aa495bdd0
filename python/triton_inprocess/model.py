"""A model of a server."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, overload

from . import _infer_many, _native, _queue_forwarder
from ._messages import object_of
from ._native import AsyncResponseIterator, ModelHandle, ResponseIterator, Tensor
from .flags import ModelBatchFlag, ModelTxnPropertyFlag
from .request import InferenceRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._capi_server import TRITONSERVER_Server
    from ._keywords import ManyKeywords, RequestKeywords
    from ._native import InferenceResponse
    from .byte_counts import ByteCounts
    from .sequence import Sequence
    from .server import Server

__all__ = ["Model"]


class Model:
    """A model that a server has. It is a name and a version: what it names may be loaded and unloaded meanwhile.

    Attributes:
        server: The server.
        name: The model's name.
        version: Its version; -1 for the latest that is served.
        state: "READY", "UNAVAILABLE", …, when the model came from `Server.models`; else None.
        reason: Why it is in that state.
    """

    __slots__ = ("__weakref__", "_handle", "_native", "_traces", "name", "reason", "server", "state", "version")

    def __init__(
        self,
        server: Server,
        name: str,
        version: int = -1,
        state: str | None = None,
        reason: str | None = None,
        *,
        native: TRITONSERVER_Server | None = None,
    ) -> None:
        """Made by the server; `native` is its server of the C API, where that outlasts it for a while."""
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        if "\0" in name:
            raise ValueError("name must not contain a NUL character")
        if not isinstance(version, int) or isinstance(version, bool):
            raise TypeError(f"version must be an int, not {type(version).__name__}")
        if not -1 <= version < 2**63:
            raise ValueError(f"version must be from -1 to {2**63 - 1}, not {version}")
        self.server: Server = server
        self.name: str = name
        self.version: int = version
        self.state: str | None = state
        self.reason: str | None = reason
        self._native: TRITONSERVER_Server = server._running() if native is None else native
        self._handle = ModelHandle(self._native, name, version)
        traces = server._traces
        self._traces = traces if traces is not None and traces.has_contexts else None

    def create_request(self, **fields: Unpack[RequestKeywords]) -> InferenceRequest:
        """A request for this model, to be filled and sent with `infer` or `async_infer`."""
        return InferenceRequest(model=self, **fields)

    @overload
    def infer(self, inference_request: InferenceRequest, raise_on_error: bool = True) -> ResponseIterator: ...

    @overload
    def infer(
        self,
        inference_request: Mapping[str, Any] | None = None,
        raise_on_error: bool = True,
        **fields: Unpack[RequestKeywords],
    ) -> ResponseIterator: ...

    def infer(
        self,
        inference_request: InferenceRequest | Mapping[str, Any] | None = None,
        raise_on_error: bool = True,
        **fields: Any,
    ) -> ResponseIterator:
        """Send a request (TRITONSERVER_ServerInferAsync) and return an iterator over its responses.

        `infer(...).result()` is the response of a model that sends one. An iterator that is dropped or closed before
        its end cancels its request.

        Args:
            inference_request: The request, or its inputs as a dict.
            raise_on_error: Whether a response that carries an error raises it, instead of being handed out.
            fields: The fields of an InferenceRequest, instead of one.

        Raises:
            InvalidArgumentError: An input is unknown, missing, or of another type or shape than the model's.
            NotFoundError: The server has no such model or version.
            UnavailableError: The server is stopped, or the model is not loaded.
            TypeError, ValueError: A field is none, or is of the wrong type or value.

        While they wait, the iterator's methods raise the error of the response (`raise_on_error`), and TimeoutError at
        the `deadline`.
        """
        inputs = inference_request
        if inputs is not None and (fields or type(inputs) is not dict):
            inputs, fields = self._inputs_and_fields(inputs, fields)
        if raise_on_error is not True and raise_on_error is not False:
            raise TypeError(f"raise_on_error must be a bool, not {type(raise_on_error).__name__}")
        if self._traces is not None and fields.get("trace") is None:
            fields = {**fields, "trace": self._traces.next()}
        if fields and fields.get("response_queue") is not None:
            return _queue_forwarder.infer(self, raise_on_error, inputs, fields)
        return _native.infer(self._handle, self, raise_on_error, inputs, fields)

    @overload
    def async_infer(
        self, inference_request: InferenceRequest, raise_on_error: bool = True
    ) -> AsyncResponseIterator: ...

    @overload
    def async_infer(
        self,
        inference_request: Mapping[str, Any] | None = None,
        raise_on_error: bool = True,
        **fields: Unpack[RequestKeywords],
    ) -> AsyncResponseIterator: ...

    def async_infer(
        self,
        inference_request: InferenceRequest | Mapping[str, Any] | None = None,
        raise_on_error: bool = True,
        **fields: Any,
    ) -> AsyncResponseIterator:
        """As `infer`, but the iterator is for `async for`; `await` it for the response of a model that sends one."""
        inputs = inference_request
        if inputs is not None and (fields or type(inputs) is not dict):
            inputs, fields = self._inputs_and_fields(inputs, fields)
        if raise_on_error is not True and raise_on_error is not False:
            raise TypeError(f"raise_on_error must be a bool, not {type(raise_on_error).__name__}")
        if self._traces is not None and fields.get("trace") is None:
            fields = {**fields, "trace": self._traces.next()}
        if fields and fields.get("response_queue") is not None:
            return _queue_forwarder.async_infer(self, raise_on_error, inputs, fields)
        return _native.async_infer(self._handle, self, raise_on_error, inputs, fields)

    def __call__(self, **inputs: Any) -> dict[str, Tensor]:
        """Infer once, with the inputs as keywords; returns the outputs by name.

        Raises what `infer` and its `result()` raise: it is for models that send one response.
        """
        fields = {} if self._traces is None else {"trace": self._traces.next()}
        return _native.infer(self._handle, self, True, inputs, fields).result().outputs

    def infer_many(
        self,
        requests: Iterable[InferenceRequest | Mapping[str, Any]],
        max_in_flight: int = 64,
        raise_on_error: bool = True,
        ordered: bool = True,
        **fields: Unpack[ManyKeywords],
    ) -> Iterator[InferenceResponse]:
        """Infer one after the other, with some of them in flight at once.

        A request is taken from `requests` when there is room for it: they may be a generator without end. Leaving the
        iteration early cancels what is in flight, as the first error does that is raised.

        Args:
            requests: The inputs of each request as a dict, or InferenceRequests.
            max_in_flight: How many requests may be on their way, or wait for their responses to be taken.
            raise_on_error: As in `infer`: the first error ends the iteration. False hands all of them out.
            ordered: Whether the responses come in the order of the requests, or as they are completed (a `request_id`
                tells then whose each is).
            fields: Fields of an InferenceRequest for each of them, beside the inputs.

        Raises what `infer` and its `result()` raise: it is for models that send one response.
        """
        _infer_many.check(max_in_flight, ordered)
        return _infer_many.infer_many(
            self, requests, max_in_flight=max_in_flight, ordered=ordered, raise_on_error=raise_on_error, fields=fields
        )

    def async_infer_many(
        self,
        requests: Iterable[InferenceRequest | Mapping[str, Any]] | AsyncIterable[InferenceRequest | Mapping[str, Any]],
        max_in_flight: int = 64,
        raise_on_error: bool = True,
        ordered: bool = True,
        **fields: Unpack[ManyKeywords],
    ) -> AsyncIterator[InferenceResponse]:
        """As `infer_many`, for `async for`; `requests` may be an asynchronous iterable, too."""
        _infer_many.check(max_in_flight, ordered)
        return _infer_many.async_infer_many(
            self, requests, max_in_flight=max_in_flight, ordered=ordered, raise_on_error=raise_on_error, fields=fields
        )

    def sequence(self, correlation_id: int | str | None = None) -> Sequence:
        """A sequence of requests that belong together, for `with` and `async with`; see Sequence."""
        from .sequence import Sequence

        return Sequence(self, correlation_id)

    def _inputs_and_fields(
        self, request: InferenceRequest | Mapping[str, Any], fields: dict[str, Any]
    ) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        if type(request) is not dict:
            if isinstance(request, InferenceRequest):
                if fields:
                    raise TypeError(f"give an inference_request or its fields, not both: {', '.join(fields)}")
                if request.model is not self:
                    self._check_same_model(request.model)
                return None, request.fields()
            if not isinstance(request, Mapping):
                raise TypeError(
                    f"inference_request must be an InferenceRequest or a dict of inputs, not {type(request).__name__}"
                )
            request = dict(request)
        if "inputs" in fields:
            raise TypeError("inputs were given twice")
        return request, fields

    def _check_same_model(self, other: object) -> None:
        if not isinstance(other, Model):
            raise TypeError(f"model of an InferenceRequest must be a Model, not {type(other).__name__}")
        if (other.name, other.version, other.server) != (self.name, self.version, self.server):
            raise ValueError(f"the request is for model {other.name!r}, not for {self.name!r}")

    def ready(self) -> bool:
        """Whether the model can be used (TRITONSERVER_ServerModelIsReady)."""
        return self._native.model_is_ready(self.name, self.version)

    def metadata(self) -> dict[str, Any]:
        """Names, types and shapes of inputs and outputs (TRITONSERVER_ServerModelMetadata)."""
        return object_of(self._native.model_metadata(self.name, self.version))

    def statistics(self) -> dict[str, Any]:
        """Counts and durations of requests and batches (TRITONSERVER_ServerModelStatistics).

        Each of the `model_stats` of a function that was added to the server also has the `byte_counts` of that version,
        by name; see ByteCounts. Triton's other entries are as the C API gives them.
        """
        statistics = object_of(self._native.model_statistics(self.name, self.version))
        for entry in statistics["model_stats"]:
            counts = self.server._byte_counts(entry["name"], int(entry["version"]))
            if counts is not None:
                entry["byte_counts"] = asdict(counts)
        return statistics

    @property
    def byte_counts(self) -> ByteCounts | None:
        """How many bytes of tensors were copied on their way to and from the function, and how many were not.

        None for a model that is no function of this server's, and for a version that it does not have.
        """
        return self.server._byte_counts(self.name, self.version)

    def config(self, config_version: int = 1) -> dict[str, Any]:
        """The model's configuration (TRITONSERVER_ServerModelConfig)."""
        if not isinstance(config_version, int) or isinstance(config_version, bool) or not 0 <= config_version < 2**32:
            raise TypeError(f"config_version must be an int that is not negative, not {config_version!r}")
        return object_of(self._native.model_config(self.name, self.version, config_version))

    def batch_properties(self) -> ModelBatchFlag:
        """How the model batches (TRITONSERVER_ServerModelBatchProperties)."""
        return ModelBatchFlag(self._native.model_batch_properties(self.name, self.version)[0])

    def transaction_properties(self) -> ModelTxnPropertyFlag:
        """How the model responds (TRITONSERVER_ServerModelTransactionProperties)."""
        return ModelTxnPropertyFlag(self._native.model_transaction_properties(self.name, self.version)[0])

    def __repr__(self) -> str:
        """Name and version."""
        return f"Model(name={self.name!r}, version={self.version})"
