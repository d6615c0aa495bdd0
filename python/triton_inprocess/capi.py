"""Triton's C API, one to one.

Classes carry the name of the C struct, methods that of the C function without the class part; a lone getter, or a
getter with a setter, is a property. Output parameters are return values, an error is an exception. Free functions keep
their whole name, but `api_version`. The library is found and loaded when it is first needed (`runtime.load`); a
function that it lacks raises UnsupportedError, and `available` tells beforehand.

Memory is given by its address, as an int, and must stay valid for as long as Triton uses it. That is the one thing that
can be got wrong here; everything else raises.

Functions that are given to these objects are called on Triton's threads. What they raise becomes the C error of that
class where Triton takes one, and goes to `sys.unraisablehook` where it does not.
"""

from __future__ import annotations

from . import _native
from ._capi_server import TRITONSERVER_Server
from ._capi_server_options import TRITONSERVER_ServerOptions
from ._native import DataType as TRITONSERVER_DataType
from ._native import ErrorCode as TRITONSERVER_Error_Code
from ._native import InferenceTraceActivity as TRITONSERVER_InferenceTraceActivity
from ._native import InstanceGroupKind as TRITONSERVER_InstanceGroupKind
from ._native import LogFormat as TRITONSERVER_LogFormat
from ._native import LogLevel as TRITONSERVER_LogLevel
from ._native import MemoryType as TRITONSERVER_MemoryType
from ._native import MetricFormat as TRITONSERVER_MetricFormat
from ._native import MetricKind as TRITONSERVER_MetricKind
from ._native import ModelControlMode as TRITONSERVER_ModelControlMode
from ._native import ParameterType as TRITONSERVER_ParameterType
from ._native import RateLimitMode as TRITONSERVER_RateLimitMode
from ._native import (
    TRITONSERVER_BufferAttributes,
    TRITONSERVER_DataTypeByteSize,
    TRITONSERVER_DataTypeString,
    TRITONSERVER_InferenceRequest,
    TRITONSERVER_InferenceResponse,
    TRITONSERVER_InferenceTrace,
    TRITONSERVER_InferenceTraceActivityString,
    TRITONSERVER_InferenceTraceLevelString,
    TRITONSERVER_InstanceGroupKindString,
    TRITONSERVER_LogIsEnabled,
    TRITONSERVER_LogMessage,
    TRITONSERVER_MemoryTypeString,
    TRITONSERVER_Message,
    TRITONSERVER_Metric,
    TRITONSERVER_MetricArgs,
    TRITONSERVER_MetricFamily,
    TRITONSERVER_Metrics,
    TRITONSERVER_Parameter,
    TRITONSERVER_ParameterTypeString,
    TRITONSERVER_ResponseAllocator,
    TRITONSERVER_StringToDataType,
    api_version,
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
    code_of,
)
from .flags import InferenceTraceLevel as TRITONSERVER_InferenceTraceLevel
from .flags import ModelBatchFlag as TRITONSERVER_ModelBatchFlag
from .flags import ModelIndexFlag as TRITONSERVER_ModelIndexFlag
from .flags import ModelTxnPropertyFlag as TRITONSERVER_ModelTxnPropertyFlag
from .flags import RequestFlag as TRITONSERVER_RequestFlag
from .flags import RequestReleaseFlag as TRITONSERVER_RequestReleaseFlag
from .flags import ResponseCompleteFlag as TRITONSERVER_ResponseCompleteFlag

__all__ = [
    "AlreadyExistsError",
    "CancelledError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "TRITONSERVER_BufferAttributes",
    "TRITONSERVER_DataType",
    "TRITONSERVER_DataTypeByteSize",
    "TRITONSERVER_DataTypeString",
    "TRITONSERVER_ErrorCodeString",
    "TRITONSERVER_Error_Code",
    "TRITONSERVER_InferenceRequest",
    "TRITONSERVER_InferenceResponse",
    "TRITONSERVER_InferenceTrace",
    "TRITONSERVER_InferenceTraceActivity",
    "TRITONSERVER_InferenceTraceActivityString",
    "TRITONSERVER_InferenceTraceLevel",
    "TRITONSERVER_InferenceTraceLevelString",
    "TRITONSERVER_InstanceGroupKind",
    "TRITONSERVER_InstanceGroupKindString",
    "TRITONSERVER_LogFormat",
    "TRITONSERVER_LogIsEnabled",
    "TRITONSERVER_LogLevel",
    "TRITONSERVER_LogMessage",
    "TRITONSERVER_MemoryType",
    "TRITONSERVER_MemoryTypeString",
    "TRITONSERVER_Message",
    "TRITONSERVER_Metric",
    "TRITONSERVER_MetricArgs",
    "TRITONSERVER_MetricFamily",
    "TRITONSERVER_MetricFormat",
    "TRITONSERVER_MetricKind",
    "TRITONSERVER_Metrics",
    "TRITONSERVER_ModelBatchFlag",
    "TRITONSERVER_ModelControlMode",
    "TRITONSERVER_ModelIndexFlag",
    "TRITONSERVER_ModelTxnPropertyFlag",
    "TRITONSERVER_Parameter",
    "TRITONSERVER_ParameterType",
    "TRITONSERVER_ParameterTypeString",
    "TRITONSERVER_RateLimitMode",
    "TRITONSERVER_RequestFlag",
    "TRITONSERVER_RequestReleaseFlag",
    "TRITONSERVER_ResponseAllocator",
    "TRITONSERVER_ResponseCompleteFlag",
    "TRITONSERVER_Server",
    "TRITONSERVER_ServerOptions",
    "TRITONSERVER_StringToDataType",
    "TritonError",
    "UnavailableError",
    "UnknownError",
    "UnsupportedError",
    "api_version",
    "available",
]


def available(function: str) -> bool:
    """Whether the loaded library has the function of that C name; False for a name that this package does not know."""
    api_version()  # loads the library, if none is
    return _native.available(function)


def TRITONSERVER_ErrorCodeString(error: TritonError | TRITONSERVER_Error_Code) -> str:
    """How Triton spells the code of an error, an exception here (TRITONSERVER_ErrorCodeString)."""
    if not isinstance(error, (TritonError, TRITONSERVER_Error_Code)):
        raise TypeError(f"error must be a TritonError or a TRITONSERVER_Error_Code, not {type(error).__name__}")
    code = error if isinstance(error, TRITONSERVER_Error_Code) else TRITONSERVER_Error_Code(code_of(error))
    return _native.TRITONSERVER_ErrorCodeString(code)
