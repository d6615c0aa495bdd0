"""Everything that may become a tensor but is not a plain contiguous numpy array: the slow and general way."""

from __future__ import annotations

from collections import UserString
from collections.abc import Collection, Iterator, Sequence
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

import numpy as np

from ._native import (
    DataType,
    Tensor,
    import_cuda_array,
    import_dlpack,
    round_to_bfloat16,
    tensor_of_array,
    tensor_of_elements,
)
from ._types import Array

__all__ = ["bfloat16_list", "from_any", "from_dlpack", "to_data_type", "to_output_tensor"]

_CAPSULE = type(np.zeros(1).__array_struct__)

_NUMPY_2 = int(np.__version__.split(".")[0]) >= 2

MOST_DIMENSIONS = 64 if _NUMPY_2 else 32

_TAKES_RAGGED_LISTS = tuple(map(int, np.__version__.split(".")[:2])) < (1, 24)

_TEXT_KINDS = "OSUT"  # object, bytes, str, StringDType

_FLOATS = (DataType.FP16, DataType.FP32, DataType.FP64, DataType.BF16)

_NUMPY_NAMES = {
    "bool": DataType.BOOL,
    "uint8": DataType.UINT8,
    "uint16": DataType.UINT16,
    "uint32": DataType.UINT32,
    "uint64": DataType.UINT64,
    "int8": DataType.INT8,
    "int16": DataType.INT16,
    "int32": DataType.INT32,
    "int64": DataType.INT64,
    "float16": DataType.FP16,
    "float32": DataType.FP32,
    "float64": DataType.FP64,
    "bfloat16": DataType.BF16,
}


def to_data_type(value: Any) -> DataType:
    """The DataType for a DataType, Triton's name ("FP32"), or anything that numpy takes for a dtype.

    `str`, `bytes` and `object` mean BYTES. Raises TypeError for what is none of these.
    """
    if isinstance(value, DataType):
        if value is DataType.INVALID:
            raise TypeError("data_type must be a type that a tensor can have, not DataType.INVALID")
        return value
    if isinstance(value, str) and value in DataType.__members__ and value != "INVALID":
        return DataType[value]
    try:
        dtype = np.dtype(value)
    except (TypeError, ValueError, SyntaxError):  # numpy raises each of them for some text
        dtype = None
    if dtype is not None and value is not None:
        if dtype.kind in _TEXT_KINDS:
            return DataType.BYTES
        name = _plain_name(dtype)
        if name in _NUMPY_NAMES:
            return _NUMPY_NAMES[name]
    names = [name for name in DataType.__members__ if name != "INVALID"]
    meant = value.upper() if isinstance(value, str) and value.upper() in names else None
    raise TypeError(
        f"data_type must be a DataType, one of the names {', '.join(names)}, or a numpy dtype for one of them, not "
        f"{value!r}" + (f": did you mean {meant!r}?" if meant is not None else "")
    )


def from_any(value: Any, data_type: DataType | None = None, copy: bool | None = None) -> Tensor:
    """What Tensor.from_any makes of anything but a plain numpy array."""
    _refuse_mask(value)
    if isinstance(value, Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        return _from_array(value.view(np.ndarray), data_type, copy)
    if isinstance(value, (str, bytes, bool, int, float, complex, list, tuple, np.generic)):
        return _from_values(value, data_type, copy)
    for is_of_kind, import_kind in _PROTOCOLS:
        if is_of_kind(value):
            tensor = import_kind(value, copy)
            return tensor if data_type in (None, tensor.data_type) else Tensor.from_any(tensor, data_type, copy)
    if _has_memory(value):
        # numpy 1 cannot be told not to copy, nor can it tell.
        array = np.asarray(value, copy=False) if copy is False and _NUMPY_2 else np.asarray(value)
        return _from_array(array, data_type, copy)
    if isinstance(value, Sequence) and not isinstance(value, UserString):  # range, deque, …
        _refuse_without_copy(value, copy)
        return _from_values(list(value), data_type, copy)
    of_bytes = " of str or bytes" if data_type is DataType.BYTES else ""
    elements = isinstance(value, (Collection, Iterator)) and not isinstance(value, Sequence)
    hint = ": make a list of it first" if elements else ""
    raise TypeError(f"cannot make a tensor{of_bytes} from {type(value).__name__}{hint}")


def _is_dlpack(value: object) -> bool:
    return hasattr(value, "__dlpack__") or isinstance(value, _CAPSULE)


def _is_cuda_array(value: object) -> bool:
    return hasattr(value, "__cuda_array_interface__")


def _has_memory(value: object) -> bool:
    """Whether numpy makes an array of it without looking for elements."""
    if any(hasattr(value, name) for name in ("__array__", "__array_interface__", "__array_struct__")):
        return True
    try:
        memoryview(value).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


_PROTOCOLS = ((_is_dlpack, import_dlpack), (_is_cuda_array, import_cuda_array))


def to_output_tensor(value: Any, data_type: DataType) -> Tensor:
    """What a function returned for an output; numbers and lists, which have no type of their own, take `data_type`."""
    if isinstance(value, CoroutineType):
        value.close()  # nobody will await it, which Python would warn of
        raise TypeError("a coroutine: a function that is to be awaited is declared with async def")
    if isinstance(value, (GeneratorType, AsyncGeneratorType)):
        raise TypeError("a generator: a function that yields its responses is declared with decoupled=True")
    untyped = data_type is not DataType.BYTES and isinstance(value, (bool, int, float, list, tuple))
    return from_any(value, data_type) if untyped else Tensor.from_any(value)


def from_dlpack(value: Any) -> Tensor:
    """What Tensor.from_dlpack makes of an object: an array is read as it is, for numpy exports no read-only ones."""
    return Tensor.from_any(value) if isinstance(value, (np.ndarray, Tensor)) else import_dlpack(value, None)


def bfloat16_list(tensor: Tensor) -> Any:
    """The numbers of a BF16 tensor as (nested) lists."""
    bits = tensor.view(DataType.UINT16).numpy()
    # With a plain 16, numpy 1 makes 64 bits of a single number.
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).tolist()


def _refuse_mask(value: object) -> None:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array cannot be a tensor, its mask would be lost: use array.filled() or array.data")


def _converted(array: Array, data_type: DataType) -> Tensor:
    """The values as another type; TypeError or ValueError if that loses more than precision."""
    target = np.dtype(np.float32 if data_type is DataType.BF16 else _dtype_of(data_type))
    integers = array.dtype.kind in "iu" and target.kind in "iu"  # whether they fit is looked at below
    if not (array.size == 0 or integers or np.can_cast(array.dtype, target, "same_kind")):
        raise TypeError(f"{array.dtype.name} values cannot become {data_type.name}")
    with np.errstate(all="ignore"):
        if data_type is DataType.BF16:
            tensor = round_to_bfloat16(np.ascontiguousarray(array, _widest(array.dtype)).reshape(array.shape))
            finite = tensor.view(DataType.UINT16).numpy() & 0x7F80 != 0x7F80
        else:
            tensor = tensor_of_array(array.astype(target, order="C"), None, None)
            finite = tensor.numpy() == array if target.kind in "iu" else np.isfinite(tensor.numpy())
    if not np.all(finite | ~np.isfinite(array)):
        raise ValueError(f"a value is out of the range of {data_type.name}")
    return tensor


def _widest(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that holds the values exactly and can be rounded to BF16."""
    if dtype.kind == "f":
        return np.dtype(np.float64 if dtype.itemsize > 4 else np.float32)
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)


def _dtype_of(data_type: DataType) -> str:
    return next(name for name, each in _NUMPY_NAMES.items() if each is data_type)


def _plain_name(dtype: np.dtype[Any]) -> str:
    """The name by kind and size: np.longlong and its kin have names of their own."""
    known = dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (2, 4, 8))
    return str((np.dtype(f"{dtype.kind}{dtype.itemsize}") if known else dtype).name)


def _from_array(array: Array, data_type: DataType | None, copy: bool | None) -> Tensor:
    if array.dtype.kind in _TEXT_KINDS:
        if data_type not in (None, DataType.BYTES):
            raise TypeError(f"{array.dtype.name} values cannot become {data_type.name}")
        if copy is False:
            raise ValueError("strings cannot become a tensor without a copy, and copy is False")
        return _of_text(array.ravel().tolist(), array.shape, data_type)
    found = _NUMPY_NAMES.get(_plain_name(array.dtype))
    if found is None:
        hint = "; send the bits as UINT8: array.view(numpy.uint8)" if array.dtype.name.startswith("float8") else ""
        raise TypeError(f"numpy dtype {array.dtype.name} has no Triton data type{hint}")
    if data_type in (None, found):
        return tensor_of_array(array.view(np.uint16) if found is DataType.BF16 else array, found, copy)
    if data_type is DataType.BF16 and found is DataType.UINT16:
        return tensor_of_array(array, data_type, copy)
    if data_type is DataType.BYTES:
        raise TypeError(f"{array.dtype.name} values cannot become BYTES, which are str or bytes")
    if copy is False:
        raise ValueError(f"{array.dtype.name} values cannot become {data_type.name} without a copy, and copy is False")
    return _converted(array.astype(np.float32) if found is DataType.BF16 else array, data_type)


def _from_values(value: Any, data_type: DataType | None, copy: bool | None) -> Tensor:
    """What has no memory that could be read: numbers, strings and lists of them."""
    _refuse_without_copy(value, copy)
    leaf = _first_leaf(value)
    if isinstance(leaf, (str, bytes)) and data_type not in (None, DataType.BYTES):
        raise TypeError(f"{type(leaf).__name__} values cannot become {data_type.name}")
    if data_type is DataType.BYTES or isinstance(leaf, (str, bytes)):
        if isinstance(value, (str, bytes)):
            return tensor_of_elements([value], ())
        if isinstance(value, list) and value and isinstance(value[0], (str, bytes)):
            return tensor_of_elements(value, (len(value),))
        # Through an object array: numpy's own S and U types drop trailing NULs, and make every element as long as the
        # longest.
        return _from_array(_array_of(value, object), data_type, None)
    array = _array_of(value)
    if array.dtype.kind in "SU":  # numpy has made text of the numbers before it: which element it is will be said
        array = _array_of(value, object)
    elif data_type not in _FLOATS and _has_rounded_integers(array, value):
        array = _unsigned(value)
    return _from_array(array, data_type, None)


def _refuse_without_copy(value: object, copy: bool | None) -> None:
    if copy is False:
        raise ValueError(f"a {type(value).__name__} cannot become a tensor without a copy, and copy is False")


def _array_of(value: Any, dtype: Any = None) -> Array:
    try:
        if dtype is None and _TAKES_RAGGED_LISTS:
            _refuse_ragged(value)
        return np.array(value, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"cannot make a tensor from a {type(value).__name__}: {error}") from error


def _refuse_ragged(value: Any) -> None:
    """What numpy does itself from 1.24 on; before, it warns and makes an array of lists."""
    if any(isinstance(each, (list, tuple, np.ndarray)) for each in np.array(value, dtype=object).flat):
        raise ValueError("the lists in it have different lengths: their shape is inhomogeneous")


def _has_rounded_integers(array: Array, value: Any) -> bool:
    """Whether numpy has made floats of integers: those below and above 2**63 have no common type for it."""
    if array.dtype != np.float64 or not np.any(array >= 2.0**63):
        return False
    return all(isinstance(each, (int, np.integer)) for each in np.array(value, dtype=object).flat)


def _unsigned(value: Any) -> Array:
    integers = np.array(value, dtype=object)
    if min(integers.flat) < 0:
        raise ValueError("some integers are negative and some are of 64 bits: no type of Triton holds both")
    return integers.astype(np.uint64)


def _of_text(elements: list[Any], shape: tuple[int, ...], data_type: DataType | None) -> Tensor:
    """A BYTES tensor; what was not said to be one may be numbers that numpy has no type for."""
    try:
        return tensor_of_elements(elements, shape)
    except TypeError:
        if data_type is DataType.BYTES or any(isinstance(each, (str, bytes)) for each in elements):
            raise
        odd = elements[0]
    if isinstance(odd, (bool, int, float, np.generic)):
        hint = "integers have 64 bits at most, and object arrays become numbers by array.astype(...)"
    else:
        hint = "they are numbers, str and bytes"
    raise TypeError(f"element 0 is of type {type(odd).__name__}, which Triton has no data type for: {hint}")


def _first_leaf(value: Any) -> Any:
    outermost = value
    for _ in range(MOST_DIMENSIONS + 1):
        if not (isinstance(value, (list, tuple)) and value):
            return value
        value = value[0]
    raise ValueError(
        f"cannot make a tensor from a {type(outermost).__name__} that is nested more than {MOST_DIMENSIONS} deep, or "
        "within itself"
    )
