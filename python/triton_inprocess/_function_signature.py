"""What a function tells of itself: how it is called, and what its annotations say of its tensors."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from .spec import Spec

__all__ = ["EXTRA_ARGUMENTS", "FunctionSignature", "Kind"]

Kind = Literal["function", "generator", "async function", "async generator"]

# What a function gets beside its inputs, when it has a keyword-only parameter of that name.
EXTRA_ARGUMENTS = ("context", "parameters")

_NUMPY_ALIKE = (None, inspect.Parameter.empty, Any, object)


@dataclass(frozen=True)
class FunctionSignature:
    """What is known of a function before it is called.

    Attributes:
        kind: What a call of it gives.
        makes_objects: Whether it is a class (or a partial of one), of which each instance of the model gets an object.
        parameters: Its parameters; None when it does not tell.
        hints: The annotations of its parameters and, under "return", of its result.
    """

    kind: Kind
    makes_objects: bool
    parameters: tuple[inspect.Parameter, ...] | None
    hints: dict[str, Any]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> FunctionSignature:
        """Look at a function, an object or a class. Raises TypeError for a class whose objects cannot be called."""
        made = _made_class(function)
        if made is not None:
            if not any(
                "__call__" in each.__dict__ for each in made.__mro__
            ):  # not the metaclass's, which makes objects
                raise TypeError(f"fn is the class {made.__name__}, whose objects cannot be called: it has no __call__")
            target: Any = made.__dict__.get("__call__") or made.__call__
        else:
            target = function
        code = _code_of(target)
        return cls(
            kind=_kind_of(code),
            makes_objects=made is not None,
            parameters=_parameters_of(target, skip_self=made is not None),
            hints=_hints_of(code),
        )

    @property
    def extras(self) -> tuple[str, ...]:
        """Which of EXTRA_ARGUMENTS it asks for."""
        return tuple(
            each.name
            for each in self.parameters or ()
            if each.name in EXTRA_ARGUMENTS and each.kind is inspect.Parameter.KEYWORD_ONLY
        )

    def input_specs(self) -> dict[str, Spec]:
        """What the annotations say of the inputs. Raises TypeError for a parameter that has no Spec."""
        specs = {}
        for each in self.parameters or ():
            if each.name in self.extras:
                continue
            spec = _spec_of(self.hints.get(each.name))
            if spec is None:
                if each.default is not inspect.Parameter.empty or each.kind in _VARIABLE:
                    continue
                raise TypeError(
                    f"inputs must be given: the parameter {each.name!r} of fn has no annotation with a Spec, such as "
                    'Annotated[np.ndarray, Spec("FP32", [-1])]'
                )
            specs[each.name] = spec
        if not specs:
            raise TypeError("inputs must be given: no parameter of fn has an annotation with a Spec")
        return specs

    def output_specs(self) -> dict[str, Spec]:
        """What the annotation of the result says. Raises TypeError when it says nothing."""
        specs = dict(_result_specs(self.hints.get("return")))
        if not specs:
            raise TypeError(
                "outputs must be given: the result of fn has no annotation with a Spec, such as "
                'Annotated[np.ndarray, Spec("FP32", [-1], name="y")], a tuple or a TypedDict of them'
            )
        return specs

    def input_type(self, name: str) -> Any:
        """The type that an input is annotated with; None where it says nothing, or numpy's array."""
        hint = self.hints.get(name)
        if typing.get_origin(hint) is Annotated:
            hint = typing.get_args(hint)[0]
        return None if any(hint is each for each in _NUMPY_ALIKE) else hint

    def bytes_as(self, name: str) -> str | None:
        """How the Spec of an input wants its BYTES; None without a Spec."""
        spec = _spec_of(self.hints.get(name))
        return spec.bytes_as if spec is not None else None


_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _made_class(function: Any) -> type | None:
    while isinstance(function, functools.partial):
        function = function.func
    return function if isinstance(function, type) else None


def _code_of(target: Any) -> Any:
    """The function that is called in the end, whose kind and annotations count."""
    while True:
        if isinstance(target, functools.partial):
            target = target.func
        elif inspect.ismethod(target):
            target = target.__func__
        elif inspect.isroutine(target) or not hasattr(type(target), "__call__"):  # noqa: B004 - the class's is meant
            return target
        else:
            called = type(target).__call__
            if called is target or isinstance(called, (types.WrapperDescriptorType, types.MethodWrapperType)):
                return target
            target = called


def _kind_of(code: Any) -> Kind:
    if inspect.isasyncgenfunction(code):
        return "async generator"
    if inspect.iscoroutinefunction(code):
        return "async function"
    return "generator" if inspect.isgeneratorfunction(code) else "function"


def _parameters_of(target: Any, skip_self: bool) -> tuple[inspect.Parameter, ...] | None:
    try:
        parameters = tuple(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None  # a builtin that does not tell
    return parameters[1:] if skip_self else parameters


def _hints_of(code: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(code, include_extras=True)
    except Exception:  # names that are known to type checkers only
        return dict(getattr(code, "__annotations__", {}))


def _spec_of(hint: Any) -> Spec | None:
    if typing.get_origin(hint) is not Annotated:
        return None
    found = [each for each in hint.__metadata__ if isinstance(each, Spec)]
    if len(found) > 1:
        raise TypeError(f"an annotation has {len(found)} Specs, expected one: {hint}")
    return found[0] if found else None


def _result_specs(hint: Any) -> Iterator[tuple[str, Spec]]:
    spec = _spec_of(hint)
    if spec is not None:
        yield spec.name or "output", spec
    elif typing.get_origin(hint) in (Iterator, *_ITERATIONS):
        yield from _result_specs(typing.get_args(hint)[0])
    elif typing.get_origin(hint) is tuple:
        for index, each in enumerate(typing.get_args(hint)):
            spec = _spec_of(each)
            if spec is None:
                raise TypeError(f"element {index} of the result of fn has no annotation with a Spec")
            yield spec.name or f"output_{index}", spec
    elif typing.is_typeddict(hint):
        for name, each in typing.get_type_hints(hint, include_extras=True).items():
            spec = _spec_of(each)
            if spec is None:
                raise TypeError(f"{name!r} of {hint.__name__}, the result of fn, has no annotation with a Spec")
            yield name, spec


def _iterations() -> tuple[Any, ...]:
    from collections import abc

    return (abc.Iterable, abc.Generator, abc.AsyncIterator, abc.AsyncIterable, abc.AsyncGenerator)


_ITERATIONS = _iterations()
