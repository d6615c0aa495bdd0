"""Everything that may become a tensor but is not a plain contiguous numpy array: the slow and general way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._native import DataType, Tensor, tensor_from_elements, tensor_over_array
from ._types import Array, ObjectArray

__all__ = [
    "from_bytes_array",
    "from_dlpack",
    "from_string_array",
    "to_bytes_array",
    "to_data_type",
    "to_output_tensor",
    "to_string_array",
    "to_tensor",
]

_TEXT_KINDS = "OSUT"  # object, bytes, str, StringDType

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

    `str`, `bytes` and `object` mean BYTES. Raises TypeError for what is neither.
    """
    if isinstance(value, DataType):
        if value is DataType.INVALID:
            raise TypeError("data_type must be a type that a tensor can have, not DataType.INVALID")
        return value
    if isinstance(value, str) and value in DataType.__members__ and value != "INVALID":
        return DataType[value]
    try:
        dtype = np.dtype(value)
    except TypeError:
        dtype = None
    if dtype is not None and value is not None:
        if dtype.kind in _TEXT_KINDS:
            return DataType.BYTES
        name = _plain_name(dtype)
        if name in _NUMPY_NAMES:
            return _NUMPY_NAMES[name]
    names = ", ".join(name for name in DataType.__members__ if name != "INVALID")
    raise TypeError(
        f"data_type must be a DataType, one of the names {names}, or a numpy dtype for one of them, not {value!r}"
    )


def to_tensor(value: Any) -> Tensor:
    """A tensor for `value`: a Tensor, an array, a number, a str, bytes, a (nested) list of those, or a DLPack object.

    Nothing is copied that Triton can read as it lies. Raises TypeError for what has no Triton type.
    """
    if isinstance(value, Tensor):
        return value
    _refuse_mask(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return _from_array(np.asarray(value).view(np.ndarray))
    if isinstance(value, (str, bytes, list, tuple)):
        return _from_array(_from_list(value))
    if hasattr(value, "__dlpack__"):
        return from_dlpack(value)
    if value is None or isinstance(value, (dict, set)):
        raise TypeError(f"cannot make a tensor from {type(value).__name__}")
    return _from_array(np.asarray(value))


def to_output_tensor(value: Any, data_type: DataType) -> Tensor:
    """As to_tensor; numbers and lists, which have no type of their own, become `data_type`."""
    if data_type is not DataType.BYTES and isinstance(value, (bool, int, float, list, tuple)):
        return _from_array(_cast(np.asarray(value), data_type))
    return to_tensor(value)


def _refuse_mask(value: object) -> None:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("a masked array cannot be a tensor, its mask would be lost: use array.filled() or array.data")


def _cast(array: Array, data_type: DataType) -> Array:
    """A list or a number, which has no type of its own, as `data_type`; TypeError or ValueError if it does not fit."""
    dtype = _numpy_dtype(data_type)
    integers = array.dtype.kind in "iu" and dtype.kind in "iu"  # whether they fit is looked at below
    castable = array.size == 0 or integers or np.can_cast(array.dtype, dtype, "same_kind")
    if array.dtype.kind in _TEXT_KINDS or not castable:
        raise TypeError(f"{array.dtype.name} values cannot become {data_type.name}")
    with np.errstate(all="ignore"):
        result = array.astype(dtype)
    fits = result == array if dtype.kind in "iu" else np.isfinite(result) | ~np.isfinite(array)
    if not np.all(fits):
        raise ValueError(f"a value is out of the range of {data_type.name}")
    return result


def from_dlpack(value: Any) -> Tensor:
    """A tensor over the memory of an object that speaks DLPack, in host memory."""
    _refuse_mask(value)
    return _from_array(np.from_dlpack(value))


def from_bytes_array(value: Any) -> Tensor:
    """A BYTES tensor of an array or list of bytes (or str, which are encoded as UTF-8)."""
    return _from_elements(_object_array(value))


def from_string_array(value: Any) -> Tensor:
    """A BYTES tensor of an array or list of str, encoded as UTF-8."""
    return _from_elements(_object_array(value))


def to_bytes_array(tensor: Tensor) -> ObjectArray:
    """The elements of a BYTES tensor as an object array of bytes."""
    _require_bytes(tensor)
    return tensor.numpy()


def to_string_array(tensor: Tensor) -> ObjectArray:
    """The elements of a BYTES tensor as an object array of str, decoded as UTF-8."""
    _require_bytes(tensor)
    array = tensor.numpy()
    return _filled(array.shape, [element.decode() for element in array.ravel().tolist()])


def _require_bytes(tensor: Tensor) -> None:
    if tensor.data_type is not DataType.BYTES:
        raise TypeError(f"the tensor must be BYTES, not {tensor.data_type.name}")


def _numpy_dtype(data_type: DataType) -> np.dtype[Any]:
    if data_type is DataType.BF16:
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(next(name for name, each in _NUMPY_NAMES.items() if each is data_type))


def _plain_name(dtype: np.dtype[Any]) -> str:
    """The name by kind and size: np.longlong and its kin have names of their own."""
    known = dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize in (2, 4, 8))
    return str((np.dtype(f"{dtype.kind}{dtype.itemsize}") if known else dtype).name)


def _plain(array: Array) -> Array:
    """The array itself if it is contiguous and of native byte order, else a copy that is (0-d stays 0-d)."""
    return array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


def _from_array(array: Array) -> Tensor:
    if array.dtype.kind in _TEXT_KINDS:
        return _from_elements(array)
    if array.dtype.name == "bfloat16":
        return tensor_over_array(_plain(array).view(np.uint16), DataType.BF16)
    if _plain_name(array.dtype) not in _NUMPY_NAMES:
        hint = "; send the bits as UINT8: array.view(numpy.uint8)" if array.dtype.name.startswith("float8") else ""
        raise TypeError(f"numpy dtype {array.dtype.name} has no Triton data type{hint}")
    return tensor_over_array(_plain(array))


def _from_list(value: Any) -> Array:
    # Texts through an object array: numpy's own S and U types drop trailing NULs, and make every element as long as the
    # longest.
    return _object_array(value) if isinstance(_first_leaf(value), (str, bytes)) else np.asarray(value)


def _first_leaf(value: Any) -> Any:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


def _object_array(value: Any) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (str, bytes)):
        return _filled((), [value])
    return np.array(value, dtype=object)


def _filled(shape: tuple[int, ...], elements: list[Any]) -> ObjectArray:
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array.reshape(shape)


def _from_elements(array: Array) -> Tensor:
    return tensor_from_elements(
        [_encoded(element, index) for index, element in enumerate(array.ravel().tolist())], list(array.shape)
    )


def _encoded(element: Any, index: int) -> bytes:
    if isinstance(element, bytes):
        return element
    if isinstance(element, str):
        return element.encode()
    raise TypeError(f"element {index} of a BYTES tensor must be str or bytes, not {type(element).__name__}")
