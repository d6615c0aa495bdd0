"""A model that answers what Triton tells it of a sequence."""

from __future__ import annotations

import ctypes
from typing import Any

import triton_inprocess as ti

__all__ = ["SEQUENCE", "control_values"]

SEQUENCE = """
    name: "sequence"
    backend: "identity"
    max_batch_size: 4
    input [ {{ name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }} ]
    output [
      {{ name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }},
      {{ name: "OUTPUT_START" data_type: TYPE_INT32 dims: [ 1 ] }},
      {{ name: "OUTPUT_END" data_type: TYPE_INT32 dims: [ 1 ] }},
      {{ name: "OUTPUT_ID" data_type: TYPE_{id_type} dims: [ 1 ] }}
    ]
    instance_group [ {{ kind: KIND_CPU count: 1 }} ]
    sequence_batching {{
      control_input [
        {{ name: "INPUT_START" control [ {{ kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }} ] }},
        {{ name: "INPUT_END" control [ {{ kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] }} ] }},
        {{ name: "INPUT_ID" control [ {{ kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_{id_type} }} ] }}
      ]
    }}
"""


def control_values(response: ti.InferenceResponse) -> tuple[int, int, Any]:
    """Start, end and correlation id, as Triton told them to the model."""
    start, end = (response.outputs[f"OUTPUT_{name}"].numpy().item() for name in ("START", "END"))
    tensor = response.outputs["OUTPUT_ID"]
    if tensor.data_type is not ti.DataType.BYTES:
        return start, end, tensor.numpy().item()
    # Triton itself makes this one, with padding behind its only element.
    content = ctypes.string_at(tensor.data_ptr, tensor.size)
    return start, end, content[4 : 4 + int.from_bytes(content[:4], "little")]
