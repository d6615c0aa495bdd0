"""NVIDIA Triton Inference Server inside a Python process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors, runtime
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
    FunctionTraceback,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    TritonError,
    UnavailableError,
    UnknownError,
    UnsupportedError,
)
from .flags import ModelBatchFlag, ModelTxnPropertyFlag
from .model import Model
from .options import ModelLoadDeviceLimit, Options, RateLimiterResource
from .request import InferenceRequest
from .server import Server

if TYPE_CHECKING:
    from . import capi, pb_utils
    from ._load_module import load_module
    from .batch_context import BatchContext
    from .batching import Batching
    from .byte_counts import ByteCounts
    from .ensemble_step import EnsembleStep
    from .function_request import FunctionRequest
    from .instance_context import InstanceContext
    from .log_message import LogMessage
    from .memory_allocator import MemoryAllocator
    from .metric import Metric
    from .metric_family import MetricFamily
    from .metrics_report import MetricFamilyReport, MetricHistogram, MetricSample, MetricsReport, MetricSummary
    from .queue_policy import QueuePolicy
    from .rate_limiter import RateLimiter
    from .request_context import RequestContext
    from .sequence import Sequence
    from .sequence_batching import SequenceBatching
    from .serving import Serving
    from .spec import Spec
    from .tensor_spec import TensorSpec
    from .trace import Trace, TraceActivity, TraceNode, TraceTensor
    from .tracing import Tracing
    from .warm_up import WarmUp

__version__ = "0.1.0"

__all__ = [
    "AlreadyExistsError",
    "AsyncResponseIterator",
    "BatchContext",
    "Batching",
    "ByteCounts",
    "CancelledError",
    "DLDeviceType",
    "DataType",
    "EnsembleStep",
    "FunctionRequest",
    "FunctionTraceback",
    "InferenceRequest",
    "InferenceResponse",
    "InferenceTraceActivity",
    "InstanceContext",
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
    "QueuePolicy",
    "RateLimitMode",
    "RateLimiter",
    "RateLimiterResource",
    "RequestContext",
    "ResponseIterator",
    "Sequence",
    "SequenceBatching",
    "Server",
    "Serving",
    "SharedMemoryPool",
    "SharedTensor",
    "Spec",
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
    "WarmUp",
    "capi",
    "errors",
    "load_module",
    "pb_utils",
    "runtime",
]

# Imported when they are first used: most programs never do.
_LATER = {
    "BatchContext": "batch_context",
    "Batching": "batching",
    "ByteCounts": "byte_counts",
    "EnsembleStep": "ensemble_step",
    "FunctionRequest": "function_request",
    "InstanceContext": "instance_context",
    "LogMessage": "log_message",
    "MemoryAllocator": "memory_allocator",
    "Metric": "metric",
    "MetricFamily": "metric_family",
    "MetricFamilyReport": "metrics_report",
    "MetricHistogram": "metrics_report",
    "MetricSample": "metrics_report",
    "MetricSummary": "metrics_report",
    "MetricsReport": "metrics_report",
    "QueuePolicy": "queue_policy",
    "RateLimiter": "rate_limiter",
    "RequestContext": "request_context",
    "Sequence": "sequence",
    "SequenceBatching": "sequence_batching",
    "Serving": "serving",
    "Spec": "spec",
    "TensorSpec": "tensor_spec",
    "Trace": "trace",
    "TraceActivity": "trace",
    "TraceNode": "trace",
    "TraceTensor": "trace",
    "Tracing": "tracing",
    "WarmUp": "warm_up",
    "capi": "capi",
    "load_module": "_load_module",
    "pb_utils": "pb_utils",
}
_MODULES = ("capi", "pb_utils")


def __getattr__(name: str) -> object:
    """A public name that is imported when it is used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f".{_LATER[name]}", __name__)
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All names, those that are not imported yet too."""
    return sorted({*globals(), *__all__})
