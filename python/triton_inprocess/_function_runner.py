"""How the functions of models are called that the backend does not call directly.

The backend calls `begin_instance`, `execute` and `end_instance` on Triton's threads. A runner answers every execution
that it is given: with what the function returned, or with the error that it raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _convert
from ._function_arguments import FunctionArguments
from ._function_errors import describe
from ._function_instance import FunctionInstances
from ._native import DataType, Tensor
from ._sequence_states import SequenceStates
from .batch_context import BatchContext
from .errors import CancelledError, FunctionTraceback, InternalError
from .function_request import FunctionRequest
from .instance_context import InstanceContext
from .request_context import RequestContext

if TYPE_CHECKING:
    from ._native import Execution
    from .function_model import FunctionModel

__all__ = ["BatchRunner", "FunctionRunner", "GeneratorRunner", "RequestsRunner", "SampleRunner"]


class FunctionRunner:
    """What every kind of function needs: its instances, its arguments, and what it is told of requests."""

    def __init__(self, model: FunctionModel) -> None:
        """Nothing is called yet."""
        self.model: FunctionModel = model
        self.extras: tuple[str, ...] = model.signature.extras
        self.arguments: FunctionArguments = FunctionArguments(model.inputs, model.signature)
        self.instances: FunctionInstances = FunctionInstances(
            model.function, model.signature.makes_objects, self.take_told
        )
        idle = model.sequence_idle_us
        self.failure: InternalError | None = None
        self._states = SequenceStates(idle) if idle is not None else None

    def take_told(self, told: Any) -> None:
        """Look at what `initialize` or `finalize` has returned."""
        if inspect.iscoroutine(told):
            told.close()
            raise TypeError(
                f"initialize and finalize of model {self.model.name!r} are async, which its function is not: nobody "
                "would await them"
            )

    def prepare(self) -> None:
        """Begin the instances before Triton does; what their `initialize` raises is raised."""
        self.instances.prepare([self._instance_context(name) for name in self.model.instance_names()])

    def begin_instance(self, key: int, name: str) -> None:
        """An instance of the model begins. Never raises: see FunctionInstances.prepare."""
        context = self._instance_context(name)
        try:
            self.instances.begin(key, context)
        except BaseException as error:
            _, message, text = describe(error)
            self.failure = InternalError(f"model {self.model.name!r} was not loaded: {message}")
            self.failure.__cause__ = FunctionTraceback(text)
            self.instances.begin_broken(key, context, str(self.failure))

    def _instance_context(self, name: str) -> InstanceContext:
        return InstanceContext(self.model.name, self.model.version, name, len(self.model.instance_names()))

    def end_instance(self, key: int) -> None:
        """An instance of the model ends."""
        self.instances.end(key)

    def execute(self, key: int, executions: list[Execution]) -> None:
        """Call the function for each execution, and answer it."""
        function, instance = self.instances[key]
        for execution in executions:
            for each in self._real(execution) if self._states is not None else (execution,):
                self.run(function, instance, each)

    def run(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        """Call the function for the requests of an execution, and answer them."""
        raise NotImplementedError

    def close(self) -> None:
        """Finalize what Triton has not."""
        self.instances.end_all()

    def context(self, instance: InstanceContext, execution: Execution, index: int, rows: int) -> RequestContext:
        """What is known of a request."""
        return self._with_state(RequestContext(instance, execution, index, rows))

    def extra_arguments(self, instance: InstanceContext, execution: Execution) -> dict[str, Any]:
        """What the function has asked for beside the inputs, of the only request of an execution."""
        if not self.extras:
            return {}
        context = self.context(instance, execution, 0, sum(execution.rows))
        extras = {"context": context, "parameters": context.parameters}
        return {name: extras[name] for name in self.extras}

    def _with_state(self, context: RequestContext) -> RequestContext:
        if self._states is not None:
            self._states.attach(context)
        return context

    def _real(self, execution: Execution) -> list[Execution]:
        """Without the requests of no sequence, with which the direct batcher fills empty places of a batch."""
        if all(execution.information(index)[1] for index in range(execution.count)):
            return [execution]
        real = []
        for each in execution.split():
            if each.information(0)[1]:
                real.append(each)
            else:
                each.discard()
        return real


class BatchRunner(FunctionRunner):
    """Functions that take whole batches."""

    def run(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        """Call the function once for all requests; where that fails and the author says so, for each alone."""
        try:
            execution.answer(self._call(function, instance, execution))
        except BaseException as error:
            if not self.model.isolate_failures or execution.count < 2:
                execution.fail(error)
                return
        for each in execution.split():
            try:
                each.answer(self._call(function, instance, each))
            except BaseException as error:
                each.fail(error)

    def _call(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> Any:
        arguments = self.arguments.of(execution)
        if self.model.max_batch_size == 0:
            return function(**arguments, **self.extra_arguments(instance, execution))
        if self.extras:
            contexts = tuple(
                self.context(instance, execution, index, rows) for index, rows in enumerate(execution.rows)
            )
            arguments["context"] = BatchContext(instance.model, instance.version, instance.instance, contexts)
        return function(**arguments)


class SampleRunner(FunctionRunner):
    """Functions that take a single sample: without a batch dimension, one row of a batch after the other."""

    def run(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        """Call the function for each row of each request, which succeed and fail request by request."""
        for each in execution.split():
            try:
                each.answer(self._call(function, instance, each))
            except BaseException as error:
                each.fail(error)

    def _call(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> dict[str, Any]:
        arguments = self.arguments.of(execution)
        (rows,) = execution.rows
        extras = self.extra_arguments(instance, execution)
        results = [
            self._by_name(function(**{name: array[row] for name, array in arguments.items()}, **extras))
            for row in range(rows)
        ]
        return {
            spec.name: self._joined(spec.name, [self._sample(spec, result) for result in results], spec)
            for spec in self.model.outputs
        }

    def _by_name(self, result: Any) -> dict[str, Any]:
        names = [spec.name for spec in self.model.outputs]
        if isinstance(result, dict):
            given = result
        else:
            values = result if isinstance(result, tuple) else (result,)
            if result is None or len(values) != len(names):
                got = "None" if result is None else f"{len(values)} output(s)"
                raise InternalError(
                    f"the function of model {self.model.name!r} returned {got}, expected {len(names)} output(s)"
                )
            given = dict(zip(names, values, strict=True))
        if set(given) != set(names):
            raise InternalError(
                f"the function of model {self.model.name!r} returned the outputs {sorted(map(str, given))}, declared "
                f"are {names}"
            )
        return given

    def _sample(self, spec: Any, result: dict[str, Any]) -> Any:
        try:
            array = _convert.to_output_tensor(result[spec.name], spec.data_type).numpy()
        except (TypeError, ValueError) as error:
            raise InternalError(
                f"the function of model {self.model.name!r} returned output {spec.name!r} that is no "
                f"{spec.data_type.name} tensor: {error}"
            ) from None
        fits = len(array.shape) == len(spec.shape) and all(
            declared in (-1, size) for declared, size in zip(spec.shape, array.shape, strict=True)
        )
        if not fits:
            raise InternalError(
                f"the function of model {self.model.name!r} returned output {spec.name!r} of shape "
                f"{list(array.shape)}, expected {list(spec.shape)}"
            )
        return array

    def _joined(self, name: str, arrays: list[Any], spec: Any) -> Any:
        if not arrays:
            shape = (0, *(max(size, 0) for size in spec.shape))
            return Tensor.from_any(
                np.zeros(shape, object if spec.data_type is DataType.BYTES else bool), spec.data_type
            )
        kinds = {(array.shape, array.dtype) for array in arrays}
        if len(kinds) > 1:
            shown = ", ".join(sorted(f"{dtype} {list(shape)}" for shape, dtype in kinds))
            raise InternalError(
                f"the function of model {self.model.name!r} returned output {name!r} in different forms for the rows "
                f"of one request: {shown}"
            )
        return np.stack(arrays)


class RequestsRunner(FunctionRunner):
    """Functions that take and return lists of requests."""

    def run(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        """Call the function with all requests; each is answered with its own result, or its own exception."""
        parts: list[Execution] = []
        requests: list[FunctionRequest] = []
        for each in execution.split():
            try:
                requests.append(self._request(instance, each))
            except BaseException as error:
                each.fail(error)
            else:
                parts.append(each)
        if not parts:
            return
        try:
            results = self._checked(function(requests), len(parts))
        except BaseException as error:
            for each in parts:
                each.fail(error)
            return
        del requests  # and the inputs with them, before it is looked who has them still
        for index, each in enumerate(parts):
            if isinstance(results[index], BaseException):
                each.fail(results[index])
                continue
            try:
                each.answer(self._taken(results, index))
            except BaseException as error:
                each.fail(error)

    @staticmethod
    def _taken(results: list[Any], index: int) -> Any:
        """A result that nobody here refers to any more: a response may take its memory over."""
        result = results[index]
        results[index] = None
        return result

    def _request(self, instance: InstanceContext, execution: Execution) -> FunctionRequest:
        inputs = self.arguments.of(execution)
        request = FunctionRequest(instance, execution, sum(execution.rows), inputs)
        self._with_state(request)
        return request

    def _checked(self, results: Any, count: int) -> list[Any]:
        if not isinstance(results, (list, tuple)):
            raise InternalError(
                f"the function of model {self.model.name!r} returned {type(results).__name__}, expected a list of the "
                f"results of {count} request(s)"
            )
        if len(results) != count:
            raise InternalError(
                f"the function of model {self.model.name!r} returned {len(results)} result(s), expected one for each "
                f"of {count} request(s)"
            )
        return list(results)


class GeneratorRunner(FunctionRunner):
    """Functions that yield their responses, on the instance's thread."""

    def run(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        """Send what the function yields for each request; a cancelled request closes it."""
        for each in execution.split():
            try:
                self._stream(function, instance, each)
            except BaseException as error:
                each.fail(error)

    def _stream(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        arguments = self.arguments.of(execution)
        results = function(**arguments, **self.extra_arguments(instance, execution))
        if not hasattr(results, "__iter__") or isinstance(results, (dict, tuple, list, np.ndarray)):
            raise InternalError(
                f"the function of model {self.model.name!r} returned {type(results).__name__}, expected an iterator "
                "over its responses"
            )
        iterator = iter(results)
        del arguments, results
        try:
            while True:
                try:
                    # Not by a variable: a response may take over the memory of what nobody refers to any more.
                    execution.send(self._next(iterator, execution))
                except StopIteration:
                    break
                if execution.cancelled:
                    raise CancelledError("the request was cancelled")
            execution.end()
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                close()

    @staticmethod
    def _next(iterator: Iterator[Any], execution: Execution) -> Any:
        result = next(iterator)
        if execution.cancelled:
            raise CancelledError("the request was cancelled")
        return result
