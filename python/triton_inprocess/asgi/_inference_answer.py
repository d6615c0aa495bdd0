"""An inference response as KServe's protocol has it: JSON, and binary data behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._native import DataType, Tensor
from ..errors import InvalidArgumentError
from ..flags import ModelBatchFlag
from ._inference_call import BINARY_ONLY, NUMPY_TYPES, InferenceCall

if TYPE_CHECKING:
    from .._native import InferenceResponse
    from ..model import Model
    from ._shared_memory import SharedMemory

__all__ = ["Classification", "InferenceAnswer", "json_elements", "raw_bytes"]


class Classification:
    """The classification extension: the largest values of an output instead of all."""

    def __init__(self, batches: bool = False) -> None:
        """`batches`: whether each row has its classes."""
        self._batches = batches

    @classmethod
    def of(cls, model: Model) -> Classification:
        """That of a model."""
        return cls(bool(model.batch_properties() & ModelBatchFlag.FIRST_DIM))

    def largest(self, tensor: Tensor, most: int, name: str, labels: Sequence[str]) -> Tensor:
        """The values, their indices and the labels that there are, as Triton writes them: "value:index:label"."""
        if tensor.data_type not in NUMPY_TYPES or tensor.data_type in BINARY_ONLY or tensor.data_type is DataType.BOOL:
            raise InvalidArgumentError(f"output {name!r} of {tensor.data_type.name} has no classes")
        values = tensor.numpy()
        rows = values.reshape(values.shape[0] if self._batches else 1, -1) if values.size else values.reshape(1, -1)
        # From the end of the reversed: of equal ones the first comes first, and unsigned numbers have no negative ones.
        best = rows.shape[1] - 1 - np.argsort(rows[:, ::-1], axis=1, kind="stable")[:, ::-1]
        text = [
            [_class_text(row[index], index, labels) for index in order[:most]]
            for row, order in zip(rows, best, strict=True)
        ]
        return Tensor.from_string_array(np.array(text if self._batches else text[0], dtype=object))


def _class_text(value: Any, index: int, labels: Sequence[str]) -> str:
    text = f"{value:f}:{index}" if isinstance(value, np.floating) else f"{value}:{index}"
    return f"{text}:{labels[index]}" if index < len(labels) and labels[index] else text


class InferenceAnswer:
    """The body of an answer: `header` is its JSON, `parts` is all of it."""

    def __init__(
        self, response: InferenceResponse, call: InferenceCall, memory: SharedMemory | None, classes: Classification
    ) -> None:
        """Of a response without an error."""
        outputs: list[dict[str, Any]] = []
        binary: list[memoryview] = []
        labels = response.labels
        for name, given in response.outputs.items():
            form = call.form_of(name)
            tensor = given.to_host()
            if form.classes:
                tensor = classes.largest(tensor, form.classes, name, labels.get(name, ()))
            entry: dict[str, Any] = {
                "name": name,
                "datatype": tensor.data_type.name,
                "shape": list(tensor.shape),
            }
            if form.region is not None:
                assert memory is not None
                data = raw_bytes(tensor)
                memory.write(form.region, data, name)
                region, offset, _ = form.region
                entry["parameters"] = {"shared_memory_region": region, "shared_memory_byte_size": len(data)}
                if offset:
                    entry["parameters"]["shared_memory_offset"] = offset
            elif form.binary:
                data = raw_bytes(tensor)
                entry["parameters"] = {"binary_data_size": len(data)}
                binary.append(data)
            else:
                entry["data"] = json_elements(tensor, name)
            outputs.append(entry)
        value: dict[str, Any] = {"model_name": response.model.name, "model_version": str(response.model_version)}
        if response.request_id:
            value["id"] = response.request_id
        if response.parameters:
            value["parameters"] = response.parameters
        value["outputs"] = outputs
        self.header: bytes = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        self.binary: bool = bool(binary)
        self.parts: list[bytes | memoryview] = [self.header, *binary]


def raw_bytes(tensor: Tensor) -> memoryview:
    """A tensor's bytes, as they lie."""
    if tensor.size == 0:
        return memoryview(b"")
    return Tensor(DataType.UINT8, (tensor.size,), tensor.memory_buffer).numpy().data


def json_elements(tensor: Tensor, name: str) -> list[Any]:
    """A tensor's elements for JSON, in one array."""
    if tensor.data_type in BINARY_ONLY:
        raise InvalidArgumentError(
            f"sending {tensor.data_type.name} data via JSON is not supported. Please use the binary data format for "
            f"output {name!r}"
        )
    if tensor.data_type is not DataType.BYTES:
        elements: list[Any] = tensor.numpy().ravel().tolist()
        return elements
    try:
        return [each.decode() for each in tensor.to_bytes_array().ravel()]
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"output {name!r} has bytes that are not UTF-8: ask for it as binary data") from None
