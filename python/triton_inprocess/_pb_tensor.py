"""Tensors of Triton Python models."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._native import DataType, MemoryType
from ._native import Tensor as NativeTensor
from ._types import Array

__all__ = ["Tensor"]


class Tensor:
    """A named tensor: an input of a request, or an output of a response.

    Inputs are the caller's own memory where that is possible, and read-only then.
    """

    __slots__ = ("_array", "_name", "_native")

    def __init__(self, name: str, numpy_array: Array) -> None:
        """A tensor over an array; one that is not contiguous, or of text, is copied.

        Raises TypeError for a name that is no str, for what is no array, and for a dtype that Triton does not have.
        """
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        if not isinstance(numpy_array, np.ndarray):
            raise TypeError(
                f"numpy_array of tensor {name!r} must be a numpy array, not {type(numpy_array).__name__}: "
                "Tensor.from_dlpack takes others"
            )
        try:
            native = NativeTensor.from_any(numpy_array)
        except (TypeError, ValueError) as error:
            raise type(error)(f"numpy_array of tensor {name!r}: {error}") from None
        self._name: str = name
        self._array: Array | None = numpy_array if native.data_type is not DataType.BYTES else None
        self._native: NativeTensor = native

    @classmethod
    def _of(cls, name: str, native: NativeTensor, copy: bool = False) -> Tensor:
        tensor = cls.__new__(cls)
        tensor._name = name
        tensor._array = native.numpy(copy=True) if copy else None
        tensor._native = native if tensor._array is None else NativeTensor.from_any(tensor._array, native.data_type)
        return tensor

    @staticmethod
    def from_dlpack(tensor_name: str, dlpack: Any) -> Tensor:
        """A tensor over the memory of another library's array: an object with `__dlpack__`, or its capsule.

        Raises TypeError for what is neither, ValueError where the memory cannot be shared.
        """
        if not isinstance(tensor_name, str):
            raise TypeError(f"tensor_name must be a str, not {type(tensor_name).__name__}")
        if isinstance(dlpack, Tensor):
            return Tensor._of(tensor_name, dlpack._native)
        return Tensor._of(tensor_name, NativeTensor.from_dlpack(dlpack))

    def name(self) -> str:
        """The name."""
        return self._name

    def as_numpy(self) -> Array:
        """The values as a numpy array, of BYTES as one of objects that are bytes; in host memory without a copy.

        Raises ValueError for a tensor in GPU memory: `to_dlpack` hands that on.
        """
        if not self.is_cpu():
            raise ValueError(f"tensor {self._name!r} is in GPU memory: use to_dlpack, or is_cpu before")
        if self._array is None:
            self._array = self._native.numpy()
        return self._array

    def triton_dtype(self) -> DataType:
        """The type."""
        return self._native.data_type

    def shape(self) -> list[int]:
        """The shape."""
        return list(self._native.shape)

    def is_cpu(self) -> bool:
        """Whether the memory is the host's."""
        return self._native.memory_type is not MemoryType.GPU

    def to_dlpack(self) -> Any:
        """A DLPack capsule, for consumers that take no object with `__dlpack__`.

        It is over the memory itself where the consumer may write to it, which a capsule cannot forbid; of read-only
        memory, which inputs are, it is over a copy. Consumers that take the Tensor itself get it without one.
        """
        return self.__dlpack__()

    def __dlpack__(
        self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, **arguments: Any
    ) -> Any:
        """For `from_dlpack` of another library; as in `to_dlpack` for one that knows no read-only memory."""
        try:
            return self._native.__dlpack__(stream=stream, max_version=max_version, **arguments)
        except BufferError:
            if arguments or (max_version is not None and max_version >= (1, 0)):
                raise
            return self._native.__dlpack__(stream=stream, copy=True)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the memory is, as DLPack says it."""
        return self._native.__dlpack_device__()

    def __repr__(self) -> str:
        """Name, type and shape."""
        return f"Tensor({self._name!r}, {self._native.data_type.name}, {self.shape()})"
