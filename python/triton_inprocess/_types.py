"""Names for types that signatures use more than once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

if TYPE_CHECKING:
    from ._native import (
        DataType,
        DLDeviceType,
        InferenceTraceActivity,
        MemoryType,
        TRITONSERVER_BufferAttributes,
        TRITONSERVER_InferenceRequest,
        TRITONSERVER_InferenceResponse,
        TRITONSERVER_InferenceTrace,
        TRITONSERVER_ResponseAllocator,
    )

__all__ = [
    "AllocFunction",
    "Array",
    "BufferAttributesFunction",
    "Device",
    "ObjectArray",
    "QueryFunction",
    "ReleaseFunction",
    "RequestReleaseFunction",
    "ResponseFunction",
    "StartFunction",
    "TensorActivityFunction",
    "TraceActivityFunction",
    "TraceReleaseFunction",
]

Array = np.ndarray[Any, np.dtype[Any]]
ObjectArray = np.ndarray[Any, np.dtype[np.object_]]

# Where a tensor is to lie; see Tensor.to_device.
Device = Union[str, "MemoryType", tuple["MemoryType", int], tuple["DLDeviceType", int]]

# The functions that capi's objects call; each says there with what and when.
AllocFunction = Callable[
    ["TRITONSERVER_ResponseAllocator", str, int, "MemoryType", int, Any], tuple[int, Any, "MemoryType", int]
]
ReleaseFunction = Callable[["TRITONSERVER_ResponseAllocator", int, Any, int, "MemoryType", int], Any]
StartFunction = Callable[["TRITONSERVER_ResponseAllocator", Any], Any]
QueryFunction = Callable[
    ["TRITONSERVER_ResponseAllocator", Any, str, int | None, "MemoryType", int], tuple["MemoryType", int]
]
BufferAttributesFunction = Callable[
    ["TRITONSERVER_ResponseAllocator", str, "TRITONSERVER_BufferAttributes", Any, Any], "TRITONSERVER_BufferAttributes"
]
RequestReleaseFunction = Callable[["TRITONSERVER_InferenceRequest", int, Any], Any]
ResponseFunction = Callable[[Optional["TRITONSERVER_InferenceResponse"], int, Any], Any]
TraceActivityFunction = Callable[["TRITONSERVER_InferenceTrace", "InferenceTraceActivity", int, Any], Any]
TensorActivityFunction = Callable[
    [
        "TRITONSERVER_InferenceTrace",
        "InferenceTraceActivity",
        str,
        "DataType",
        int,
        int,
        tuple[int, ...],
        "MemoryType",
        int,
        Any,
    ],
    Any,
]
TraceReleaseFunction = Callable[["TRITONSERVER_InferenceTrace", Any], Any]
