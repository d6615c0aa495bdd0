"""Data types and BYTES as Triton Python models deal with them, and what they look up in configurations."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._convert import to_data_type
from ._native import DataType
from ._pb_request import InferenceRequest
from ._pb_response import InferenceResponse
from ._pb_tensor import Tensor
from ._types import Array, ObjectArray

__all__ = [
    "deserialize_bytes_tensor",
    "get_input_config_by_name",
    "get_input_tensor_by_name",
    "get_output_config_by_name",
    "get_output_tensor_by_name",
    "numpy_to_triton_type",
    "serialize_byte_tensor",
    "triton_string_to_numpy",
    "triton_to_numpy_type",
    "using_decoupled_model_transaction_policy",
]

_NUMPY_TYPES: dict[DataType, Any] = {
    DataType.BOOL: np.bool_,
    DataType.UINT8: np.uint8,
    DataType.UINT16: np.uint16,
    DataType.UINT32: np.uint32,
    DataType.UINT64: np.uint64,
    DataType.INT8: np.int8,
    DataType.INT16: np.int16,
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    DataType.FP16: np.float16,
    DataType.FP32: np.float32,
    DataType.FP64: np.float64,
    DataType.BYTES: np.object_,
}
_BY_NUMBER = {int(each): each for each in DataType.__members__.values()}


def triton_to_numpy_type(data_type: DataType | int) -> Any:
    """The numpy type for a DataType or its number in the C API; BYTES are objects.

    Raises ValueError for BF16, which numpy lacks (use DLPack), and for what is no data type.
    """
    found = data_type if isinstance(data_type, DataType) else _BY_NUMBER.get(data_type)
    if found not in _NUMPY_TYPES:
        raise ValueError(f"data_type must be one that numpy has, not {data_type!r}")
    return _NUMPY_TYPES[found]


def numpy_to_triton_type(data_type: Any) -> int:
    """The number of the data type in the C API for a numpy type; raises TypeError for one that Triton lacks."""
    return int(to_data_type(data_type))


def triton_string_to_numpy(triton_type_string: str) -> Any:
    """The numpy type for a type as a configuration has it ("TYPE_FP32"); TYPE_STRING is objects.

    Raises ValueError for what is none, and for TYPE_BF16, which numpy lacks.
    """
    if not isinstance(triton_type_string, str):
        raise TypeError(f"triton_type_string must be a str, not {type(triton_type_string).__name__}")
    name = triton_type_string.removeprefix("TYPE_")
    found = DataType.__members__.get("BYTES" if name == "STRING" else name)
    if found not in _NUMPY_TYPES:
        raise ValueError(f"triton_type_string must be a type that numpy has, such as TYPE_FP32, not {name!r}")
    return _NUMPY_TYPES[found]


def serialize_byte_tensor(input_tensor: Array) -> bytes:
    """An array of bytes or str in the form of Triton's BYTES tensors: the length of each element before it.

    Raises TypeError for any other array.
    """
    array = np.asarray(input_tensor)
    if array.dtype.kind not in "OSU":
        raise TypeError(f"input_tensor must hold bytes or str, not {array.dtype.name}")
    pieces = []
    for each in array.ravel().tolist():
        content = each if isinstance(each, bytes) else str(each).encode()
        pieces += [struct.pack("<I", len(content)), content]
    return b"".join(pieces)


def deserialize_bytes_tensor(encoded_tensor: bytes) -> ObjectArray:
    """The elements of a BYTES tensor, as a flat array of bytes; raises ValueError for what is cut off."""
    view = memoryview(encoded_tensor).cast("B")
    elements, position = [], 0
    while position < len(view):
        end = position + 4
        size = struct.unpack_from("<I", view, position)[0] if end <= len(view) else len(view)
        if end + size > len(view):
            raise ValueError(f"encoded_tensor ends within the element that begins at byte {position}")
        elements.append(bytes(view[end : end + size]))
        position = end + size
    result: ObjectArray = np.empty(len(elements), np.object_)
    result[:] = elements
    return result


def get_input_tensor_by_name(inference_request: InferenceRequest, name: str) -> Tensor | None:
    """The request's input of that name, or None."""
    return next((each for each in inference_request.inputs() if each.name() == name), None)


def get_output_tensor_by_name(inference_response: InferenceResponse, name: str) -> Tensor | None:
    """The response's output of that name, or None."""
    return next((each for each in inference_response.output_tensors() if each.name() == name), None)


def get_input_config_by_name(model_config: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """What a configuration, as a dict, says of the input of that name, or None."""
    return _entry(model_config, "input", name)


def get_output_config_by_name(model_config: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """What a configuration, as a dict, says of the output of that name, or None."""
    return _entry(model_config, "output", name)


def using_decoupled_model_transaction_policy(model_config: Mapping[str, Any]) -> bool:
    """Whether a configuration, as a dict, is that of a decoupled model."""
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def _entry(model_config: Mapping[str, Any], kind: str, name: str) -> dict[str, Any] | None:
    return next((each for each in model_config.get(kind, ()) if each["name"] == name), None)
