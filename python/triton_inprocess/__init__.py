"""NVIDIA Triton Inference Server inside a Python process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import capi, errors, runtime
from ._native import (
    AsyncResponseIterator,
    DataType,
    DLDeviceType,
    InferenceResponse,
    InferenceTraceActivity,
    InstanceGroupKind,
    LogFormat,
    LogLevel,
    MemoryBuffer,
    MemoryType,
    MetricFormat,
    MetricKind,
    ModelControlMode,
    NativeMemoryAllocator,
    RateLimitMode,
    ResponseIterator,
    SharedMemoryPool,
    SharedTensor,
    Tensor,
)
from .errors import (
    AlreadyExistsError,
    CancelledError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    TritonError,
    UnavailableError,
    UnknownError,
    UnsupportedError,
)
from .flags import ModelBatchFlag, ModelTxnPropertyFlag
from .function_model import Batching, TensorSpec
from .model import Model
from .options import ModelLoadDeviceLimit, Options, RateLimiterResource
from .request import InferenceRequest
from .server import Server

if TYPE_CHECKING:
    from .log_message import LogMessage
    from .memory_allocator import MemoryAllocator
    from .metric import Metric
    from .metric_family import MetricFamily
    from .metrics_report import MetricFamilyReport, MetricHistogram, MetricSample, MetricsReport, MetricSummary
    from .sequence import Sequence
    from .serving import Serving
    from .trace import Trace, TraceActivity, TraceNode, TraceTensor
    from .tracing import Tracing

__version__ = "0.1.0"

__all__ = [
    "AlreadyExistsError",
    "AsyncResponseIterator",
    "Batching",
    "CancelledError",
    "DLDeviceType",
    "DataType",
    "InferenceRequest",
    "InferenceResponse",
    "InferenceTraceActivity",
    "InstanceGroupKind",
    "InternalError",
    "InvalidArgumentError",
    "LogFormat",
    "LogLevel",
    "LogMessage",
    "MemoryAllocator",
    "MemoryBuffer",
    "MemoryType",
    "Metric",
    "MetricFamily",
    "MetricFamilyReport",
    "MetricFormat",
    "MetricHistogram",
    "MetricKind",
    "MetricSample",
    "MetricSummary",
    "MetricsReport",
    "Model",
    "ModelBatchFlag",
    "ModelControlMode",
    "ModelLoadDeviceLimit",
    "ModelTxnPropertyFlag",
    "NativeMemoryAllocator",
    "NotFoundError",
    "Options",
    "RateLimitMode",
    "RateLimiterResource",
    "ResponseIterator",
    "Sequence",
    "Server",
    "Serving",
    "SharedMemoryPool",
    "SharedTensor",
    "Tensor",
    "TensorSpec",
    "Trace",
    "TraceActivity",
    "TraceNode",
    "TraceTensor",
    "Tracing",
    "TritonError",
    "UnavailableError",
    "UnknownError",
    "UnsupportedError",
    "capi",
    "errors",
    "runtime",
]

# Imported when they are first used: most programs never do.
_LATER = {
    "LogMessage": "log_message",
    "MemoryAllocator": "memory_allocator",
    "Metric": "metric",
    "MetricFamily": "metric_family",
    "MetricFamilyReport": "metrics_report",
    "MetricHistogram": "metrics_report",
    "MetricSample": "metrics_report",
    "MetricSummary": "metrics_report",
    "MetricsReport": "metrics_report",
    "Sequence": "sequence",
    "Serving": "serving",
    "Trace": "trace",
    "TraceActivity": "trace",
    "TraceNode": "trace",
    "TraceTensor": "trace",
    "Tracing": "tracing",
}


def __getattr__(name: str) -> object:
    """A public name that is imported when it is used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All names, those that are not imported yet too."""
    return sorted({*globals(), *__all__})
