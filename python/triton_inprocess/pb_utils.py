"""What a Triton Python model imports: `import triton_python_backend_utils as pb_utils`.

In the code of models that run in this process (`Server(python_models="in-process")`, or `backend: "inprocess"` in
`config.pbtxt`) that name stands for this module; elsewhere it is not taken. The names, parameters and defaults are
those that such models use already.
"""

from __future__ import annotations

from typing import Final

from ._native import DataType as _DataType
from ._native import MemoryType
from ._pb_error import TritonError, TritonModelException
from ._pb_logger import Logger
from ._pb_metric import Metric, MetricFamily
from ._pb_model_config import ModelConfig
from ._pb_models import get_model_dir, is_model_ready, load_model, unload_model
from ._pb_request import InferenceRequest, InferenceTrace, PreferredMemory
from ._pb_response import InferenceResponse
from ._pb_response_sender import InferenceResponseSender
from ._pb_tensor import Tensor
from ._pb_types import (
    deserialize_bytes_tensor,
    get_input_config_by_name,
    get_input_tensor_by_name,
    get_output_config_by_name,
    get_output_tensor_by_name,
    numpy_to_triton_type,
    serialize_byte_tensor,
    triton_string_to_numpy,
    triton_to_numpy_type,
    using_decoupled_model_transaction_policy,
)

__all__ = [
    "TRITONSERVER_MEMORY_CPU",
    "TRITONSERVER_MEMORY_CPU_PINNED",
    "TRITONSERVER_MEMORY_GPU",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START",
    "TRITONSERVER_REQUEST_RELEASE_ALL",
    "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE",
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL",
    "TRITON_STRING_TO_NUMPY",
    "InferenceRequest",
    "InferenceResponse",
    "InferenceResponseSender",
    "InferenceTrace",
    "Logger",
    "MemoryType",
    "Metric",
    "MetricFamily",
    "ModelConfig",
    "PreferredMemory",
    "Tensor",
    "TritonError",
    "TritonModelException",
    "deserialize_bytes_tensor",
    "get_input_config_by_name",
    "get_input_tensor_by_name",
    "get_model_dir",
    "get_output_config_by_name",
    "get_output_tensor_by_name",
    "is_model_ready",
    "is_stub",
    "load_model",
    "numpy_to_triton_type",
    "serialize_byte_tensor",
    "triton_string_to_numpy",
    "triton_to_numpy_type",
    "unload_model",
    "using_decoupled_model_transaction_policy",
]

TRITONSERVER_RESPONSE_COMPLETE_FINAL: Final = 1
TRITONSERVER_REQUEST_RELEASE_ALL: Final = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE: Final = 2
TRITONSERVER_REQUEST_FLAG_SEQUENCE_START: Final = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END: Final = 2
TRITONSERVER_MEMORY_CPU: Final = MemoryType.CPU
TRITONSERVER_MEMORY_CPU_PINNED: Final = MemoryType.CPU_PINNED
TRITONSERVER_MEMORY_GPU: Final = MemoryType.GPU

TRITON_STRING_TO_NUMPY: Final = {
    f"TYPE_{name if name != 'BYTES' else 'STRING'}": triton_string_to_numpy(f"TYPE_{name}")
    for name in _DataType.__members__
    if name not in ("INVALID", "BF16")
}


def is_stub() -> bool:
    """Whether the model runs in a stub process: here it never does."""
    return False
