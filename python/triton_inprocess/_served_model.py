"""What a server holds of the models that were added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native
from ._function_errors import describe
from .byte_counts import ByteCounts
from .errors import FunctionTraceback, InternalError, TritonError

if TYPE_CHECKING:
    from ._function_runner import FunctionRunner
    from .function_model import FunctionModel

__all__ = ["ServedFunction", "ServedModel"]


class ServedFunction:
    """A function that serves as a version of a model."""

    def __init__(self, model: FunctionModel, folder: str) -> None:
        """From here on Triton finds the function behind the model's folder; what executes it has begun before.

        Raises InternalError for what that raises, or the TritonError.
        """
        self.model: FunctionModel = model
        self._runner: FunctionRunner | None = model.runner()
        if self._runner is not None:
            _prepare(self._runner)
        self._native = _native.PythonFunction(
            model.function if self._runner is None else self._runner,
            f"{folder}/{model.version}",
            model.name,
            model.tuples(model.inputs),
            model.tuples(model.outputs),
            model.max_batch_size > 0,
            self._runner is not None,
            model.adopt,
            model.copy_inputs,
        )

    @property
    def loaded(self) -> bool:
        """Whether Triton has the model still."""
        return self._native.loaded

    @property
    def byte_counts(self) -> ByteCounts:
        """What was copied on its way to and from the function."""
        return ByteCounts(*self._native.byte_counts)

    @property
    def failure(self) -> InternalError | None:
        """What became of an instance that could not begin."""
        return self._runner.failure if self._runner is not None else None

    def restore(self) -> None:
        """Take its place again, in which another function was tried."""
        self._native.restore()

    def close(self) -> None:
        """What Triton still sends to the function fails; it is finalized, unless it is being executed."""
        self._native.close()
        if self._runner is not None and not self._native.loaded:
            self._runner.close()


class ServedModel:
    """A model: functions by version; none for an ensemble."""

    def __init__(self) -> None:
        """Without versions yet."""
        self.versions: dict[int, ServedFunction] = {}
        self._replaced: list[ServedFunction] = []

    @property
    def loaded(self) -> bool:
        """Whether Triton has one of the functions still."""
        return any(each.loaded for each in (*self.versions.values(), *self._replaced))

    def config_differences(self, model: FunctionModel) -> list[str]:
        """In which fields of its configuration a version would differ from the others."""
        others = [each.model for version, each in self.versions.items() if version != model.version]
        if not others:
            return []
        ours, theirs = model.config([]), others[0].config([])
        return [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]

    def put(self, served: ServedFunction) -> ServedFunction | None:
        """Have a function serve as its version; returns the one that did so before."""
        former = self.versions.get(served.model.version)
        self.versions[served.model.version] = served
        if former is not None:
            self._replaced.append(former)
        return former

    def put_back(self, served: ServedFunction, former: ServedFunction | None) -> None:
        """As it was before `put`."""
        if former is None:
            del self.versions[served.model.version]
        else:
            self._replaced.remove(former)
            self.versions[served.model.version] = former
            former.restore()
        served.close()

    def forget_replaced(self) -> bool:
        """Close the functions that Triton has let go of; returns whether those are all that were replaced."""
        for each in [each for each in self._replaced if not each.loaded]:
            self._replaced.remove(each)
            each.close()
        return not self._replaced

    def close(self) -> None:
        """What Triton still sends to the functions fails."""
        for each in (*self.versions.values(), *self._replaced):
            each.close()


def _prepare(runner: FunctionRunner) -> None:
    try:
        runner.prepare()
    except BaseException as error:
        runner.close()
        if isinstance(error, TritonError) or not isinstance(error, Exception):
            raise
        _, message, text = describe(error)
        failure = InternalError(f"model {runner.model.name!r} was not loaded: {message}")
        raise failure from (FunctionTraceback(text) if text else None)
