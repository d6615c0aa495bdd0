"""The arguments that a model's function is called with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._native import DataType, Tensor

if TYPE_CHECKING:
    from ._function_signature import FunctionSignature
    from ._native import Execution
    from .tensor_spec import TensorSpec

__all__ = ["FunctionArguments"]

_Convert = Callable[[Tensor], Any]


class FunctionArguments:
    """Makes the inputs of requests what the function's annotations ask for: numpy arrays if nothing else."""

    def __init__(self, inputs: tuple[TensorSpec, ...], signature: FunctionSignature) -> None:
        """Find out what is asked for; raises TypeError for a type that inputs cannot be given as."""
        converters = [(spec.name, _converter(spec, signature)) for spec in inputs]
        self._converters: list[tuple[str, _Convert | None]] = converters
        self.plain: bool = all(convert is None for _, convert in converters)
        self.tensors: bool = any(convert is _itself for _, convert in converters)

    def of(self, execution: Execution) -> dict[str, Any]:
        """The inputs of an execution's requests, joined, by name."""
        if self.plain:
            return execution.arrays()
        arguments = {}
        for (name, convert), tensor in zip(self._converters, execution.tensors(), strict=True):
            arguments[name] = _array(tensor) if convert is None else convert(tensor)
        return arguments


def _converter(spec: TensorSpec, signature: FunctionSignature) -> _Convert | None:
    """None for a numpy array, an object array for BYTES."""
    form = signature.bytes_as(spec.name)
    if form == "string":
        if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
            raise TypeError(f'input {spec.name!r} has bytes_as="string", which needs numpy 2, not {np.__version__}')
        return _strings
    if form == "raw":
        return _raw
    hint = signature.input_type(spec.name)
    if hint is Tensor or hint == "Tensor":
        return _itself
    if not isinstance(hint, type) or issubclass(hint, np.ndarray):
        return None
    importer = _importer(hint)
    if importer is None:
        return None
    if spec.data_type is DataType.BYTES:
        raise TypeError(f"input {spec.name!r} of type BYTES cannot be a {hint.__module__}.{hint.__qualname__}")
    return importer


def _importer(hint: type) -> _Convert | None:
    """How the library of that class takes what has `__dlpack__`; None for a class of no such library."""
    root = hint.__module__.partition(".")[0]
    library = sys.modules.get(root)  # loaded: we have its class
    if library is None or root in ("numpy", "builtins", __name__.partition(".")[0]):
        return None
    places = [library, getattr(library, "dlpack", None), getattr(library, "numpy", None)]
    for place in places:
        take = getattr(place, "from_dlpack", None)
        if take is not None:
            return lambda tensor: _take(take, tensor)
    return None


def _take(take: Callable[[Any], Any], tensor: Tensor) -> Any:
    try:
        return take(tensor)
    except BufferError:
        # A library of DLPack before 1.0 cannot be told that the memory is the caller's: it gets a copy of its own.
        return take(Tensor.from_any(tensor, copy=True))


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _array(tensor: Tensor) -> Any:
    return _read_only(tensor.numpy())


def _strings(tensor: Tensor) -> Any:
    return _read_only(tensor.to_string_array(dtype=np.dtypes.StringDType()))


def _raw(tensor: Tensor) -> Any:
    return np.asarray(_RawMemory(tensor))


class _RawMemory:
    """The bytes of a tensor, for numpy, whose array keeps this and so the tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "shape": (tensor.size,),
            "typestr": "|u1",
            "data": (tensor.data_ptr, True),  # read-only
        }


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array
