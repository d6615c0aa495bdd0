"""An inference request of KServe's protocol: JSON, and binary data behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._convert import MOST_DIMENSIONS
from .._native import DataType, Tensor
from ..errors import InvalidArgumentError
from ._body import Bytes
from ._shared_memory import SharedMemory

__all__ = ["NUMPY_TYPES", "InferenceCall", "OutputForm", "data_type_named", "raw_call"]

NUMPY_TYPES: dict[DataType, type[np.generic]] = {
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
    DataType.BF16: np.uint16,  # its bits
}

BINARY_ONLY = (DataType.FP16, DataType.BF16)

_SEQUENCE_START, _SEQUENCE_END = 1, 2
_RESERVED = "triton_"
_EMPTY_FINAL = "triton_enable_empty_final_response"  # of streams, which HTTP has not


@dataclass(frozen=True)
class OutputForm:
    """How an output is to be answered.

    Attributes:
        binary: Whether behind the JSON instead of in it.
        classes: If not 0, the number of largest values to return instead of all.
        region: Name, offset and size of the shared memory to write it to.
    """

    binary: bool = False
    classes: int = 0
    region: tuple[str, int, int] | None = None


@dataclass
class InferenceCall:
    """What a client asks a model.

    Attributes:
        inputs: The tensors by name.
        fields: The other fields of an InferenceRequest.
        outputs: How each output that was named is to be answered.
        binary: Whether outputs that were not named go behind the JSON.
    """

    inputs: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, OutputForm] = field(default_factory=dict)
    binary: bool = False

    @classmethod
    def parse(cls, header: Mapping[str, Any], binary: Bytes, memory: SharedMemory | None) -> InferenceCall:
        """The call that JSON and the bytes behind it describe; raises InvalidArgumentError naming what is wrong."""
        call = cls()
        call._parse_parameters(_object(header.get("parameters"), "'parameters' of the request"))
        identity = header.get("id")
        if identity is not None:
            call.fields["request_id"] = _text(identity, "'id' of the request")
        used = call._parse_inputs(_list(header, "inputs"), binary, memory)
        if used != len(binary):
            raise InvalidArgumentError(
                f"the inputs have {used} bytes of binary data, and {len(binary)} follow the JSON"
            )
        call._parse_outputs(header.get("outputs"), memory)
        return call

    def form_of(self, output: str) -> OutputForm:
        """How an output is to be answered."""
        return self.outputs.get(output) or OutputForm(self.binary)

    def _parse_inputs(self, entries: list[Any], binary: Bytes, memory: SharedMemory | None) -> int:
        offset = 0
        for position, entry in enumerate(entries):
            values = _object(entry, f"input {position}", required=True)
            name = _text(values.get("name"), f"'name' of input {position}")
            if name in self.inputs:
                raise InvalidArgumentError(f"input {name!r} is given twice")
            data_type = data_type_named(values.get("datatype"), name)
            shape = _shape(values.get("shape"), name)
            parameters = _object(values.get("parameters"), f"'parameters' of input {name!r}")
            size = parameters.get("binary_data_size")
            region = _region(parameters, f"input {name!r}")
            if ("data" in values) + (size is not None) + (region is not None) != 1:
                raise InvalidArgumentError(
                    f"input {name!r} must have its data in one of 'data', 'binary_data_size' and 'shared_memory_region'"
                )
            if size is not None:
                size = _count(size, f"'binary_data_size' of input {name!r}")
                if size > len(binary) - offset:
                    raise InvalidArgumentError(
                        f"input {name!r} has {size} bytes of binary data, and {len(binary) - offset} are left"
                    )
                self.inputs[name] = _of_bytes(binary[offset : offset + size], data_type, shape, name)
                offset += size
            elif region is not None:
                if memory is None:
                    raise InvalidArgumentError(f"input {name!r}: shared memory is not enabled on this server")
                self.inputs[name] = _of_bytes(memory.view(*region), data_type, shape, name)
            else:
                self.inputs[name] = _of_json(values["data"], data_type, shape, name)
        return offset

    def _parse_outputs(self, entries: Any, memory: SharedMemory | None) -> None:
        if entries is None:
            return
        if not isinstance(entries, list):
            raise InvalidArgumentError("'outputs' of the request must be an array")
        for position, entry in enumerate(entries):
            values = _object(entry, f"output {position}", required=True)
            name = _text(values.get("name"), f"'name' of output {position}")
            if name in self.outputs:
                raise InvalidArgumentError(f"output {name!r} is asked for twice")
            parameters = _object(values.get("parameters"), f"'parameters' of output {name!r}")
            binary = _flag(parameters.get("binary_data", self.binary), f"'binary_data' of output {name!r}")
            classes = _count(parameters.get("classification", 0), f"'classification' of output {name!r}")
            region = _region(parameters, f"output {name!r}")
            if region is not None:
                if memory is None:
                    raise InvalidArgumentError(f"output {name!r}: shared memory is not enabled on this server")
                if classes:
                    raise InvalidArgumentError(f"output {name!r}: classes are not written to shared memory")
                memory.view(*region)
            self.outputs[name] = OutputForm(binary, classes, region)
        if self.outputs:
            self.fields["requested_outputs"] = list(self.outputs)

    def _parse_parameters(self, parameters: Mapping[str, Any]) -> None:
        flags = 0
        others: dict[str, Any] = {}
        for key, value in parameters.items():
            what = f"parameter {key!r} of the request"
            if key == "sequence_id":
                self.fields["correlation_id"] = _sequence_id(value)
            elif key == "sequence_start":
                flags |= _SEQUENCE_START if _flag(value, what) else 0
            elif key == "sequence_end":
                flags |= _SEQUENCE_END if _flag(value, what) else 0
            elif key in ("priority", "timeout"):
                self.fields[key] = _count(value, what)
            elif key == "binary_data_output":
                self.binary = _flag(value, what)
            elif key == _EMPTY_FINAL:
                _flag(value, what)
            elif key.startswith(_RESERVED):
                raise InvalidArgumentError(f"{what}: names that start with {_RESERVED!r} are reserved")
            elif isinstance(value, (str, bool, int, float)):
                others[key] = value
            else:
                raise InvalidArgumentError(f"{what} must be a string, a number or a boolean")
        if flags:
            self.fields["flags"] = flags
        if others:
            self.fields["parameters"] = others


def raw_call(metadata: Mapping[str, Any], batches: bool, body: Bytes) -> InferenceCall:
    """The call of a request without JSON: the body is the model's only input, and outputs are binary."""
    inputs = metadata.get("inputs", [])
    if len(inputs) != 1:
        raise InvalidArgumentError(f"a raw binary request is for models with one input, and this one has {len(inputs)}")
    (entry,) = inputs
    name, shape = entry["name"], [int(size) for size in entry["shape"]]
    data_type = data_type_named(entry["datatype"], name)
    if batches:
        shape[0] = 1
    free = [position for position, size in enumerate(shape) if size < 0]
    if data_type is DataType.BYTES:
        if len(free) > 1 or math.prod(size for size in shape if size > 0) != 1:
            raise InvalidArgumentError(f"a raw binary request has one element, which input {name!r} does not take")
        shape = [abs(size) for size in shape]
        tensor = Tensor.from_bytes_array(np.array([body.tobytes()], dtype=object).reshape(shape))
        return InferenceCall({name: tensor}, binary=True)
    item = np.dtype(NUMPY_TYPES[data_type]).itemsize
    count, rest = divmod(len(body), item)
    fixed = math.prod(size for size in shape if size >= 0)
    if len(free) > 1 or rest or (free and (fixed == 0 or count % fixed)):
        raise InvalidArgumentError(
            f"the shape of input {name!r}, {shape}, cannot be told from the {len(body)} bytes of a raw binary request"
        )
    for position in free:
        shape[position] = count // fixed
    return InferenceCall({name: _of_bytes(body, data_type, shape, name)}, binary=True)


def data_type_named(name: Any, tensor: str) -> DataType:
    """The type that JSON names."""
    if not isinstance(name, str) or name not in DataType.__members__ or name == "INVALID":
        raise InvalidArgumentError(f"'datatype' of input {tensor!r} must be one of Triton's types, not {name!r:.100}")
    return DataType[name]


def _of_bytes(part: Bytes, data_type: DataType, shape: list[int], name: str) -> Any:
    if data_type is DataType.BYTES:
        return _of_encoded(part, shape, name)
    dtype = np.dtype(NUMPY_TYPES[data_type])
    needed = math.prod(shape) * dtype.itemsize
    if len(part) != needed:
        raise InvalidArgumentError(
            f"input {name!r} of {data_type.name} and shape {shape} needs {needed} bytes, not {len(part)}"
        )
    if part.ctypes.data % dtype.itemsize:
        part = part.copy()  # backends may rely on it
    array = part.view(dtype).reshape(shape)
    return Tensor.from_any(array, data_type) if data_type is DataType.BF16 else array


def _of_encoded(part: Bytes, shape: list[int], name: str) -> Tensor:
    """BYTES, whose lengths are checked here: backends trust them."""
    count = math.prod(shape)
    if count > len(part) // 4:
        raise InvalidArgumentError(
            f"input {name!r} of BYTES and shape {shape} needs 4 bytes or more for each element, not {len(part)} in all"
        )
    if count == 0 and len(part):
        raise InvalidArgumentError(f"input {name!r} of BYTES and shape {shape} has no elements, but {len(part)} bytes")
    elements = list(_elements(bytes(part.data), name))
    if len(elements) != count:
        raise InvalidArgumentError(f"input {name!r} of shape {shape} has {len(elements)} elements in its bytes")
    return Tensor.from_bytes_array(np.array([*elements, None], dtype=object)[:-1].reshape(shape))


def _elements(data: bytes, name: str) -> Iterator[bytes]:
    position, end = 0, len(data)
    while position < end:
        start = position + 4
        position = start + int.from_bytes(data[position:start], "little")
        if position > end or start > end:
            raise InvalidArgumentError(f"the BYTES of input {name!r} are cut short at byte {start - 4}")
        yield data[start:position]


def _of_json(data: Any, data_type: DataType, shape: list[int], name: str) -> Tensor:
    if data_type in BINARY_ONLY:
        raise InvalidArgumentError(
            f"sending {data_type.name} data via JSON is not supported. Please use the binary data format for input "
            f"{name!r}"
        )
    if not isinstance(data, list):
        raise InvalidArgumentError(f"'data' of input {name!r} must be an array")
    count = math.prod(shape)
    try:
        flat = data if not data or not isinstance(data[0], list) else list(_flattened(data, 1))
        if len(flat) != count:
            raise InvalidArgumentError(
                f"input {name!r} of shape {shape} needs {count} elements, and its 'data' has {len(flat)}"
            )
        return _tensor_of(flat, data_type, shape)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"'data' of input {name!r} of {data_type.name}: {error}") from None


def _tensor_of(flat: list[Any], data_type: DataType, shape: list[int]) -> Tensor:
    if data_type is DataType.BYTES:
        if not all(isinstance(each, str) for each in flat):
            raise InvalidArgumentError("an element of BYTES in JSON must be a string")
        return Tensor.from_string_array(np.array([*flat, None], dtype=object)[:-1].reshape(shape))
    if data_type is DataType.BOOL:
        if not all(isinstance(each, bool) for each in flat):
            raise InvalidArgumentError("an element of BOOL in JSON must be true or false")
    elif any(isinstance(each, bool) for each in flat):
        raise InvalidArgumentError(f"an element of {data_type.name} in JSON must be a number")
    if not flat:
        return Tensor.from_any(np.empty(shape, NUMPY_TYPES[data_type]))
    if data_type not in (DataType.BOOL, DataType.FP32, DataType.FP64):
        return Tensor.from_any(_integers(flat, data_type).reshape(shape))
    tensor = Tensor.from_any(flat, data_type)
    return tensor if shape == [len(flat)] else Tensor.from_any(tensor.numpy().reshape(shape))


def _integers(flat: list[Any], data_type: DataType) -> Any:
    # Not by Tensor.from_any, for which numpy first finds one type for all: 0 and 2**64 - 1 have none but float.
    if not all(isinstance(each, int) for each in flat):
        raise InvalidArgumentError(f"an element of {data_type.name} in JSON must be an integer")
    limits = np.iinfo(NUMPY_TYPES[data_type])  # type: ignore[type-var]
    if min(flat) < limits.min or max(flat) > limits.max:
        raise InvalidArgumentError(f"a value is out of the range of {data_type.name}")
    return np.array(flat, NUMPY_TYPES[data_type])


def _flattened(data: list[Any], depth: int) -> Iterator[Any]:
    if depth > MOST_DIMENSIONS:
        raise InvalidArgumentError(f"it is nested more than {MOST_DIMENSIONS} deep")
    for each in data:
        if isinstance(each, list):
            yield from _flattened(each, depth + 1)
        else:
            yield each


def _region(parameters: Mapping[str, Any], what: str) -> tuple[str, int, int] | None:
    name = parameters.get("shared_memory_region")
    if name is None:
        return None
    return (
        _text(name, f"'shared_memory_region' of {what}"),
        _count(parameters.get("shared_memory_offset", 0), f"'shared_memory_offset' of {what}"),
        _count(parameters.get("shared_memory_byte_size"), f"'shared_memory_byte_size' of {what}"),
    )


def _list(header: Mapping[str, Any], key: str) -> list[Any]:
    value = header.get(key)
    if not isinstance(value, list):
        raise InvalidArgumentError(f"the request must have an array {key!r}")
    return value


def _object(value: Any, what: str, required: bool = False) -> Mapping[str, Any]:
    if value is None and not required:
        return {}
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{what} must be an object")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgumentError(f"{what} must be a string")
    if "\0" in value:
        raise InvalidArgumentError(f"{what} must not contain a NUL character")
    return value


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidArgumentError(f"{what} must be true or false")
    return value


def _count(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise InvalidArgumentError(f"{what} must be an integer of 0 or more")
    return value


def _shape(value: Any, name: str) -> list[int]:
    if not isinstance(value, list) or len(value) > MOST_DIMENSIONS:
        raise InvalidArgumentError(f"'shape' of input {name!r} must be an array of at most {MOST_DIMENSIONS} integers")
    return [_count(size, f"each of 'shape' of input {name!r}") for size in value]


def _sequence_id(value: Any) -> int | str:
    if isinstance(value, str):
        return _text(value, "parameter 'sequence_id' of the request")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
        raise InvalidArgumentError("parameter 'sequence_id' of the request must be a string or an integer of 0 or more")
    return value
