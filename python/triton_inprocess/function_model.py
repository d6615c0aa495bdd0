"""How a Python function is declared as a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import (
    _convert,
    _function_errors,  # noqa: F401 - imported now: Triton's threads must not import
)
from ._native import DataType

__all__ = ["BACKEND_NAME", "Batching", "FunctionModel", "TensorSpec", "TensorSpecs"]

BACKEND_NAME = "triton_inprocess"

_MAXIMUM_BATCH = 2**31 - 1


@dataclass(frozen=True)
class TensorSpec:
    """Name, type and shape of an input or output.

    Attributes:
        name: Its name; for an input also the keyword that the function is called with.
        data_type: A DataType, Triton's name of one, or a numpy dtype (str and bytes mean BYTES).
        shape: Size of each dimension, without the batch dimension; -1 for any size.
    """

    name: str
    data_type: DataType
    shape: tuple[int, ...]

    def __init__(self, name: str, data_type: Any, shape: Sequence[int]) -> None:
        """Check and keep the declaration; raises TypeError or ValueError naming what is wrong."""
        if not isinstance(name, str):
            raise TypeError(f"name of a TensorSpec must be a str, not {type(name).__name__}")
        if not name or "\0" in name:
            raise ValueError(f"name of a TensorSpec must not be empty or contain a NUL character, not {name!r}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "data_type", _convert.to_data_type(data_type))
        object.__setattr__(self, "shape", _checked_shape(name, shape))


@dataclass(frozen=True)
class Batching:
    """Triton's dynamic batcher, which joins requests that arrive together.

    Attributes:
        max_queue_delay_us: Microseconds that a request may wait for others.
        preferred_sizes: Batch sizes that are worth waiting for; by default the largest that can be had.
    """

    max_queue_delay_us: int = 0
    preferred_sizes: Sequence[int] = field(default=())

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        _check_integer("max_queue_delay_us", self.max_queue_delay_us, 0, 2**63 - 1)
        if isinstance(self.preferred_sizes, (str, bytes)) or not isinstance(self.preferred_sizes, Iterable):
            raise TypeError(f"preferred_sizes must be a sequence of ints, not {type(self.preferred_sizes).__name__}")
        for size in self.preferred_sizes:
            _check_integer("each of preferred_sizes", size, 1, _MAXIMUM_BATCH)


TensorSpecs = Sequence[TensorSpec] | Mapping[str, tuple[Any, Sequence[int]]]


@dataclass(frozen=True)
class FunctionModel:
    """A Python function and everything that Triton has to know of it."""

    function: Callable[..., Any]
    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    max_batch_size: int
    batching: Batching | None
    instances: int
    version: int

    def __post_init__(self) -> None:
        """Check the declaration; raises TypeError or ValueError naming the argument."""
        if not callable(self.function):
            raise TypeError(f"fn must be callable, not {type(self.function).__name__}")
        _check_name(self.name)
        if not self.outputs:
            raise ValueError("outputs must not be empty")
        for argument, specs in (("inputs", self.inputs), ("outputs", self.outputs)):
            names = [spec.name for spec in specs]
            if len(set(names)) != len(names):
                raise ValueError(f"{argument} names a tensor twice: {names}")
        _check_integer("max_batch_size", self.max_batch_size, 0, _MAXIMUM_BATCH)
        _check_integer("instances", self.instances, 1, 2**31 - 1)
        _check_integer("version", self.version, 1, 2**63 - 1)
        if self.batching is not None:
            if not isinstance(self.batching, Batching):
                raise TypeError(f"batching must be a Batching or None, not {type(self.batching).__name__}")
            if self.max_batch_size == 0:
                raise ValueError("batching needs a max_batch_size of at least 1")
            too_large = [size for size in self.batching.preferred_sizes if size > self.max_batch_size]
            if too_large:
                raise ValueError(f"preferred_sizes {too_large} are larger than max_batch_size {self.max_batch_size}")
        if not self.inputs:
            raise ValueError("inputs must not be empty")
        _check_parameters(self.function, [spec.name for spec in self.inputs])

    def config(self) -> str:
        """The model's configuration (config.pbtxt)."""
        lines = [
            f"name: {_quoted(self.name)}",
            f"backend: {_quoted(BACKEND_NAME)}",
            f"max_batch_size: {self.max_batch_size}",
            *(_tensor_entry("input", spec) for spec in self.inputs),
            *(_tensor_entry("output", spec) for spec in self.outputs),
            # Not left to Triton, which would make one instance for each GPU.
            f"instance_group [ {{ count: {self.instances} kind: KIND_CPU }} ]",
            f"version_policy {{ specific {{ versions: [ {self.version} ] }} }}",
        ]
        if self.batching is not None:
            sizes = ", ".join(str(size) for size in self.batching.preferred_sizes)
            preferred = f" preferred_batch_size: [ {sizes} ]" if sizes else ""
            delay = self.batching.max_queue_delay_us
            lines.append(f"dynamic_batching {{ max_queue_delay_microseconds: {delay}{preferred} }}")
        return "\n".join(lines) + "\n"


def to_specs(argument: str, specs: TensorSpecs) -> tuple[TensorSpec, ...]:
    """The declarations in one form; `argument` is what errors call them."""
    if isinstance(specs, Mapping):
        return tuple(_named_spec(argument, name, value) for name, value in specs.items())
    if not isinstance(specs, Iterable) or isinstance(specs, (str, bytes)):
        raise TypeError(
            f"{argument} must be TensorSpecs, or a dict of name to (dtype, shape), not {type(specs).__name__}"
        )
    result = tuple(specs)
    for spec in result:
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"{argument} must hold TensorSpecs, not {type(spec).__name__}")
    return result


def _named_spec(argument: str, name: str, value: Any) -> TensorSpec:
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{argument}[{name!r}] must be a tuple (dtype, shape), not {value!r}")
    return TensorSpec(name, *value)


def _checked_shape(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        raise TypeError(f"shape of {name!r} must be a sequence of ints, not {type(shape).__name__}")
    result = tuple(shape)
    for size in result:
        _check_integer(f"each dimension of the shape of {name!r}", size, -1, 2**63 - 1)
    if not result:
        raise ValueError(f"shape of {name!r} must not be empty: Triton has no tensors without dimensions, use (1,)")
    return tuple(int(size) for size in result)


def _check_integer(argument: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{argument} must be an int, not {type(value).__name__}")
    if not low <= value <= high:
        raise ValueError(f"{argument} must be from {low} to {high}, not {value}")


def _check_parameters(function: Callable[..., Any], names: list[str]) -> None:
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin that does not tell: the first call will
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        raise TypeError(f"fn cannot be called with the inputs {', '.join(names)} as keywords: {error}") from None


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {type(name).__name__}")
    if not name or name in (".", "..") or "/" in name or "\0" in name or len(name.encode()) > 255:
        raise ValueError(f"name must be a file name of 1 to 255 bytes, not {name!r}")


def _quoted(text: str) -> str:
    """A string of protobuf's text format; everything but plain ASCII as octal escapes."""
    plain = set(range(0x20, 0x7F)) - {ord('"'), ord("\\")}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'


def _tensor_entry(kind: str, spec: TensorSpec) -> str:
    data_type = "STRING" if spec.data_type is DataType.BYTES else spec.data_type.name
    dims = ", ".join(str(size) for size in spec.shape)
    return f"{kind} [ {{ name: {_quoted(spec.name)} data_type: TYPE_{data_type} dims: [ {dims} ] }} ]"
