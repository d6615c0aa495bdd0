"""How Triton Python models are called, with what Triton's own python backend calls them with."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from . import _native
from ._function_errors import describe
from ._native import LogLevel
from ._pb_context import ModelContext, running_in
from ._pb_request import RELEASE_RESCHEDULE, InferenceRequest
from ._pb_response import InferenceResponse
from ._pb_response_sender import native_outputs
from ._pb_types import using_decoupled_model_transaction_policy
from .errors import InternalError, UnavailableError

if TYPE_CHECKING:
    from ._model_code import ModelCode
    from ._native import Execution

__all__ = ["PythonModelRunner"]

_COPY_INPUTS = "COPY_INPUTS"

_loaded: set[PythonModelRunner] = set()  # what keeps them: Triton's threads only borrow


class PythonModelRunner:
    """A model of a repository, from its load to its end. The backend calls its methods on Triton's threads."""

    def __init__(self, context: ModelContext, code: ModelCode, model_class: Any) -> None:
        """No object is made yet."""
        self._function: _native.PythonFunction | None = None
        self._context = context
        self._code = code
        self._class = model_class
        self._lock = threading.Lock()
        self._config = ""
        self._decoupled = False
        self._copies = False
        self._ready: list[tuple[str, Any]] = []  # objects that wait for their instance, with its name
        self._objects: dict[int, Any] = {}

    def serve(self, function: _native.PythonFunction) -> None:
        """From here on the backend has it, by way of `function`, until the model ends."""
        self._function = function
        _loaded.add(self)

    def begin_model(self, config: str) -> None:
        """Make and initialize the objects of all instances; what that raises fails the load.

        Not when Triton makes the instances: it does not survive one that fails beside one that has begun.
        """
        parsed = json.loads(config)
        self._config = config
        self._decoupled = using_decoupled_model_transaction_policy(parsed)
        copies = parsed.get("parameters", {}).get(_COPY_INPUTS, {}).get("string_value", "")
        self._copies = copies.lower() in ("true", "yes", "1")
        try:
            for group in parsed.get("instance_group", ()):
                for name, kind, device in _instances(group):
                    self._ready.append((name, self._made(name, kind, device)))
        except BaseException as error:
            self._log(error)
            raise

    def end_model(self) -> None:
        """The model is gone, or could not be loaded: nothing of it stays."""
        with self._lock:
            left = [each for _, each in self._ready] + list(self._objects.values())
            self._ready.clear()
            self._objects.clear()
        try:
            for each in left:
                self._finalize(each)
        finally:
            self._code.close()
            _loaded.discard(self)
            if self._function is not None:
                self._function.close()
                self._function = None

    def begin_instance(self, key: int, name: str) -> None:
        """An instance begins: it gets the object that was made for it."""
        with self._lock:
            found = next((index for index, (each, _) in enumerate(self._ready) if each == name), 0)
            made = self._ready.pop(found)[1] if self._ready else None
        if made is None:  # one that the configuration does not tell of
            made = self._made(name, "CPU", 0)
        with self._lock:
            self._objects[key] = made

    def end_instance(self, key: int) -> None:
        """An instance ends: its object is finalized."""
        with self._lock:
            made = self._objects.pop(key, None)
        if made is not None:
            self._finalize(made)

    def require_ready(self, key: int) -> None:
        """Raise UnavailableError when the object says that it is not ready."""
        is_ready = getattr(self._objects.get(key), "is_model_ready", None)
        if is_ready is None:
            return
        with running_in(self._context):
            if not is_ready():
                raise UnavailableError(f"model {self._context.model!r} says that it is not ready")

    def _made(self, name: str, kind: str, device: int) -> Any:
        with running_in(self._context):
            made = self._class()
            initialize = getattr(made, "initialize", None)
            if initialize is not None:
                initialize(
                    {
                        "model_config": self._config,
                        "model_instance_kind": kind,
                        "model_instance_name": name,
                        "model_instance_device_id": str(device),
                        "model_repository": self._context.directory,
                        "model_version": str(self._context.version),
                        "model_name": self._context.model,
                    }
                )
        return made

    def _finalize(self, made: Any) -> None:
        finalize = getattr(made, "finalize", None)
        if finalize is None:
            return
        try:
            with running_in(self._context):
                finalize()
        except BaseException as error:  # nobody waits for it
            self._log(error)

    def _log(self, error: BaseException) -> None:
        _, message, text = describe(error)
        _native.TRITONSERVER_LogMessage(
            LogLevel.ERROR, "model.py", 0, f"model '{self._context.model}' has failed: {text or message}"
        )

    def execute(self, key: int, executions: list[Execution]) -> None:
        """Call the model with all requests, and answer those that it has answered."""
        made = self._objects[key]
        context = self._context
        requests: list[InferenceRequest] = []
        rows: list[int] = []
        for execution in executions:
            natives = execution.take_requests()
            rows.append(sum(each.rows for each in natives))
            requests += [
                InferenceRequest._of(each, context.model, context.version, self._decoupled, self._copies)
                for each in natives
            ]
        if not requests:
            return
        try:
            with running_in(context):
                answers = self._checked(made.execute(requests), requests)
        except BaseException as error:
            executions[0].log_failure(error)
            for request in requests:
                _fail(request, error)
            return
        for execution, count in zip(executions, rows, strict=True):
            if count:
                execution.report_taken(count)
        for request, answer in zip(requests, answers, strict=True):
            try:
                _answer(request, answer)
            except BaseException as error:
                executions[0].log_failure(error)
                _fail(request, error)

    def _checked(self, answers: Any, requests: list[InferenceRequest]) -> list[InferenceResponse | None]:
        """What `execute` has returned, one for each request; raises InternalError for what does not fit."""
        name = self._context.model
        if answers is None and (self._decoupled or all(_answers_itself(each) for each in requests)):
            return [None] * len(requests)
        if self._decoupled:
            raise InternalError(
                f"execute of model {name!r} returned {type(answers).__name__}: a decoupled model returns None, and "
                "sends its responses by InferenceRequest.get_response_sender"
            )
        if not isinstance(answers, (list, tuple)):
            raise InternalError(
                f"execute of model {name!r} returned {type(answers).__name__}, expected a list of InferenceResponses"
            )
        if len(answers) != len(requests):
            raise InternalError(
                f"execute of model {name!r} returned {len(answers)} response(s), expected one for each of "
                f"{len(requests)} request(s)"
            )
        for request, answer in zip(requests, answers, strict=True):
            if answer is None and not _answers_itself(request):
                raise InternalError(
                    f"execute of model {name!r} returned None for a request, which is for those that are rescheduled "
                    "or have a response sender"
                )
            if answer is not None and not isinstance(answer, InferenceResponse):
                raise InternalError(
                    f"execute of model {name!r} returned a list with {type(answer).__name__}, expected "
                    "InferenceResponse"
                )
            if answer is not None and _answers_itself(request):
                raise InternalError(
                    f"execute of model {name!r} returned a response for a request that is rescheduled or has a "
                    "response sender: return None for it"
                )
        return list(answers)


def _instances(group: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Name, kind and device of each instance of a group, as Triton makes them."""
    kind = str(group.get("kind", "KIND_CPU")).removeprefix("KIND_")
    name, count, devices = group.get("name", ""), int(group.get("count", 1)), group.get("gpus") or [0]
    return [(f"{name}_{index}", kind, int(device)) for device in devices for index in range(count)]


def _answers_itself(request: InferenceRequest) -> bool:
    return request._sender is not None or request._release_flags == RELEASE_RESCHEDULE


def _answer(request: InferenceRequest, answer: InferenceResponse | None) -> None:
    native = request._native
    assert native is not None
    if request._release_flags == RELEASE_RESCHEDULE:
        native.reschedule()
        return
    if answer is None:
        native.release(True)
        return
    error = answer.error()
    if error is not None:
        native.fail(error._exception(), answer._parameters, True, True)
    else:
        native.send(native_outputs(answer), answer._parameters, True, True)


def _fail(request: InferenceRequest, error: BaseException) -> None:
    """The request fails, unless it was answered."""
    native = request._native
    assert native is not None
    if native.open:
        native.fail(error, {}, True, True)
    native.release(False)
