"""What a model's configuration says of its inputs and outputs."""

from __future__ import annotations

import json
from typing import Any

from ._native import DataType

__all__ = ["of_config"]

Entry = tuple[str, DataType, list[int], bool, bool]


def of_config(config: str) -> tuple[int, tuple[Entry, ...], tuple[Entry, ...], bool]:
    """The largest batch (0: none), the inputs, the outputs and whether there may be labels, of a configuration as JSON.

    An entry is (name, data type, shape, whether it is optional, whether its shape is not for us to check).
    """
    values: dict[str, Any] = json.loads(config)
    largest_batch = int(values.get("max_batch_size", 0))
    inputs, outputs = (
        tuple(_entry(each, largest_batch > 0) for each in values.get(kind, ())) for kind in ("input", "output")
    )
    # An ensemble has the labels of its steps.
    labelled = "ensemble_scheduling" in values or any(each.get("label_filename") for each in values.get("output", ()))
    return largest_batch, inputs, outputs, labelled


def _entry(values: dict[str, Any], batched: bool) -> Entry:
    # What TensorRT reads of shape tensors and of its own formats is not what the dimensions say.
    any_shape = bool(values.get("is_shape_tensor") or values.get("is_non_linear_format_io"))
    shape = [int(size) for size in values.get("dims", ())]
    return (
        values["name"],
        _data_type(values["data_type"]),
        [-1, *shape] if batched else shape,
        bool(values.get("optional", False)),
        any_shape,
    )


def _data_type(name: str) -> DataType:
    name = name.removeprefix("TYPE_")
    return DataType.BYTES if name == "STRING" else DataType[name]
