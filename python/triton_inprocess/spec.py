"""Types and shapes of tensors as annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from . import _convert
from ._native import DataType

__all__ = ["Spec"]

_FORMS = ("object", "string", "raw")


class Spec:
    """Type and shape of an input or output, in the annotation of a function.

    ::

        def classify(
            image: Annotated[np.ndarray, Spec("FP32", ["batch", 28, 28])],
        ) -> Annotated[np.ndarray, Spec("INT64", ["batch", 1], name="label")]: ...

    Attributes:
        data_type: A DataType, Triton's name of one, or a numpy dtype (str and bytes mean BYTES).
        shape: Size of each dimension; -1 for any size. Without the batch dimension, or with "batch" in its place, which
            must be the first: then the model needs a `max_batch_size`.
        name: Name of an output; an input has that of its parameter.
        bytes_as: How a BYTES input comes: "object" (an object array of bytes), "string" (numpy's StringDType; needs
            numpy 2) or "raw" (the elements as Triton has them, each after its length in four bytes, as uint8).
    """

    __slots__ = ("batched", "bytes_as", "data_type", "name", "shape")

    def __init__(
        self,
        data_type: Any,
        shape: Sequence[int | str],
        name: str | None = None,
        bytes_as: Literal["object", "string", "raw"] = "object",
    ) -> None:
        """Check and keep the declaration; raises TypeError or ValueError naming what is wrong."""
        if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
            raise TypeError(f"shape of a Spec must be a sequence of ints, not {type(shape).__name__}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name of a Spec must be a str or None, not {type(name).__name__}")
        if bytes_as not in _FORMS:
            raise ValueError(f"bytes_as of a Spec must be one of {', '.join(map(repr, _FORMS))}, not {bytes_as!r}")
        self.data_type: DataType = _convert.to_data_type(data_type)
        self.batched: bool = bool(shape) and shape[0] == "batch"
        sizes = tuple(shape[1:] if self.batched else shape)
        for size in sizes:
            if not isinstance(size, int) or isinstance(size, bool):
                raise TypeError(f'shape of a Spec must hold ints, and "batch" as the first at most, not {size!r}')
        if self.batched and not sizes:
            raise ValueError('shape of a Spec must have another dimension beside "batch": use ["batch", 1]')
        self.shape: tuple[int, ...] = tuple(size for size in sizes if isinstance(size, int))
        self.name: str | None = name
        self.bytes_as: Literal["object", "string", "raw"] = bytes_as
        if bytes_as != "object" and self.data_type is not DataType.BYTES:
            raise ValueError(f"bytes_as of a Spec is for BYTES, not for {self.data_type.name}")

    def __repr__(self) -> str:
        """As it may be written."""
        shape = [*(["batch"] if self.batched else []), *self.shape]
        name = f", name={self.name!r}" if self.name is not None else ""
        form = f", bytes_as={self.bytes_as!r}" if self.bytes_as != "object" else ""
        return f"Spec({self.data_type.name!r}, {shape!r}{name}{form})"
