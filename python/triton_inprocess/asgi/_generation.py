"""The generate extension: plain JSON instead of tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._native import DataType, Tensor
from ..errors import InvalidArgumentError
from ._inference_answer import json_elements
from ._inference_call import data_type_named

if TYPE_CHECKING:
    from .._native import InferenceResponse

__all__ = ["GenerateCall", "generated"]


@dataclass
class GenerateCall:
    """What a client asks a model: values by name, each an input if the model has one of that name, else a parameter."""

    inputs: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, values: Mapping[str, Any], metadata: Mapping[str, Any]) -> GenerateCall:
        """The call that JSON describes; raises InvalidArgumentError naming what is wrong."""
        call = cls()
        known = {entry["name"]: entry for entry in metadata.get("inputs", ())}
        parameters: dict[str, Any] = {}
        nested = values.get("parameters")
        if nested is not None and "parameters" not in known and not isinstance(nested, dict):
            raise InvalidArgumentError("'parameters' of the request must be an object")
        for name, value in [*values.items(), *(nested.items() if isinstance(nested, dict) else ())]:
            if name in known:
                if name in call.inputs:
                    raise InvalidArgumentError(f"input {name!r} is given twice")
                call.inputs[name] = _tensor(value, known[name])
            elif name == "id" and isinstance(value, str):
                call.fields["request_id"] = value
            elif value is nested:
                continue
            elif isinstance(value, (str, bool, int, float)):
                parameters[name] = value
            else:
                raise InvalidArgumentError(f"parameter {name!r} must be a string, a number or a boolean")
        if parameters:
            call.fields["parameters"] = parameters
        return call


def generated(response: InferenceResponse) -> dict[str, Any]:
    """A response for JSON: an output of one element is that, any other a flat array."""
    result: dict[str, Any] = {"model_name": response.model.name, "model_version": str(response.model_version)}
    if response.request_id:
        result["id"] = response.request_id
    result.update(response.parameters)
    for name, tensor in response.outputs.items():
        elements = json_elements(tensor.to_host(), name)
        result[name] = elements[0] if len(elements) == 1 else elements
    return result


def _tensor(value: Any, entry: Mapping[str, Any]) -> Tensor:
    name = entry["name"]
    data_type = data_type_named(entry["datatype"], name)
    leaves = value if isinstance(value, list) else [value]
    kinds = str if data_type is DataType.BYTES else bool if data_type is DataType.BOOL else (int, float)
    wrong = next((each for each in leaves if not isinstance(each, kinds)), None)
    if wrong is not None or (data_type is not DataType.BOOL and any(isinstance(each, bool) for each in leaves)):
        raise InvalidArgumentError(
            f"input {name!r} takes {data_type.name}: one value or a flat array of them, none of which is null"
        )
    if None in leaves:
        raise InvalidArgumentError(f"input {name!r} takes {data_type.name}, not null")
    shape = _shape([int(size) for size in entry["shape"]], len(leaves))
    try:
        if data_type is DataType.BYTES:
            return Tensor.from_string_array(np.array([*leaves, None], dtype=object)[:-1].reshape(shape))
        tensor = Tensor.from_any(leaves, data_type) if leaves else Tensor.from_any(np.empty(0), data_type)
        return Tensor(data_type, shape, tensor.memory_buffer)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"input {name!r}: {error}") from None


def _shape(declared: list[int], count: int) -> list[int]:
    """The model's shape where the elements fill it, else one row of them."""
    fixed = [1 if size < 0 else size for size in declared]
    if math.prod(fixed) == count:
        return fixed
    return [1] * (len(declared) - 1) + [count]
