"""What executes a model for one of its instances: the function, or an object of the function's class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .errors import InternalError
from .instance_context import InstanceContext

__all__ = ["FunctionInstances", "has_life"]


def has_life(function: Any) -> bool:
    """Whether it is an object that wants to be told when it begins or ends."""
    if isinstance(function, type) or inspect.isroutine(function):
        return False
    return any(callable(getattr(function, name, None)) for name in ("initialize", "finalize"))


class FunctionInstances:
    """The callables of a model's instances: one that they share, or an object for each."""

    def __init__(self, function: Callable[..., Any], makes_objects: bool, take_told: Callable[[Any], None]) -> None:
        """Nothing is made or told yet; `take_told` gets what `initialize` and `finalize` return."""
        import threading

        self._function = function
        self._makes_objects = makes_objects
        self._take_told = take_told
        self._callables: dict[int, tuple[Callable[..., Any], InstanceContext]] = {}
        self._prepared: dict[str, Callable[..., Any]] = {}
        self._told = False  # of the object that the instances share
        # Held while the function is told: an instance that begins meanwhile finds it ready.
        self._telling = threading.RLock()

    def prepare(self, contexts: Sequence[InstanceContext]) -> None:
        """Make and initialize, before Triton asks for it, what will execute the instances; what that raises is raised.

        Triton itself does not survive an instance that fails beside one that has begun, nor can it stop any more after
        a reload that has failed.
        """
        with self._telling:
            for context in contexts:
                self._prepared[context.instance] = self._made(context)

    def begin(self, key: int, context: InstanceContext) -> None:
        """Make and initialize what executes an instance; what that raises is raised here."""
        with self._telling:
            name = context.instance if context.instance in self._prepared else next(iter(self._prepared), None)
            made = self._made(context) if name is None else self._prepared.pop(name)
            self._callables[key] = (made, context)

    def begin_broken(self, key: int, context: InstanceContext, reason: str) -> None:
        """What executes an instance could not be made: its requests are told."""

        def fail(*_: object, **__: object) -> None:
            raise InternalError(reason)

        self._callables[key] = (fail, context)

    def _made(self, context: InstanceContext) -> Callable[..., Any]:
        if self._makes_objects:
            made: Callable[..., Any] = self._function()
            self._tell(made, "initialize", context)
            return made
        if not self._told and has_life(self._function):
            self._tell(self._function, "initialize", context)
            self._told = True
        return self._function

    def end(self, key: int) -> None:
        """Finalize what executes an instance; nothing happens the second time."""
        with self._telling:
            made, _ = self._callables.pop(key, (None, None))
            if made is not None:
                self._finalize(made)

    def end_all(self) -> None:
        """Finalize what Triton has not, where it could not tell."""
        for key in list(self._callables):
            self.end(key)
        with self._telling:
            while self._prepared:
                self._finalize(self._prepared.popitem()[1])

    def _finalize(self, made: Callable[..., Any]) -> None:
        if self._makes_objects:
            self._tell(made, "finalize")
        elif self._told and not self._callables:
            self._told = False
            self._tell(made, "finalize")

    def _tell(self, made: Any, method: str, *arguments: Any) -> None:
        told = getattr(made, method, None)
        if callable(told):
            self._take_told(told(*arguments[: _most_positional(told)]))

    def __getitem__(self, key: int) -> tuple[Callable[..., Any], InstanceContext]:
        """What executes an instance, and what it was told."""
        return self._callables[key]

    def __len__(self) -> int:
        """How many instances there are."""
        return len(self._callables)


def _most_positional(function: Callable[..., Any]) -> int:
    """How many positional arguments it takes: `initialize()` without a context is welcome."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return 1
    return sum(
        each.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in parameters
    )
