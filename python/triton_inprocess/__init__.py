"""NVIDIA Triton Inference Server inside a Python process."""

from __future__ import annotations

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
from .log_message import LogMessage
from .metric import Metric
from .metric_family import MetricFamily
from .metrics_report import MetricFamilyReport, MetricHistogram, MetricSample, MetricsReport, MetricSummary
from .model import Model
from .options import ModelLoadDeviceLimit, Options, RateLimiterResource
from .request import InferenceRequest
from .sequence import Sequence
from .server import Server
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
    "NotFoundError",
    "Options",
    "RateLimitMode",
    "RateLimiterResource",
    "ResponseIterator",
    "Sequence",
    "Server",
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
