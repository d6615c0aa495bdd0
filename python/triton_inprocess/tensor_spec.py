"""Name, type and shape of a tensor, declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _convert
from ._checks import check_integer
from ._native import DataType

__all__ = ["TensorSpec", "TensorSpecs", "to_specs"]


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

    def config(self) -> dict[str, Any]:
        """As Triton's configuration has it (ModelInput, ModelOutput)."""
        name = "STRING" if self.data_type is DataType.BYTES else self.data_type.name
        return {"name": self.name, "data_type": f"TYPE_{name}", "dims": list(self.shape)}


TensorSpecs = Sequence[TensorSpec] | Mapping[str, tuple[Any, Sequence[int]]]


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
        check_integer(f"each dimension of the shape of {name!r}", size, -1, 2**63 - 1)
    if not result:
        raise ValueError(f"shape of {name!r} must not be empty: Triton has no tensors without dimensions, use (1,)")
    return tuple(int(size) for size in result)
