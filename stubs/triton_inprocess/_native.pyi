"""
The native part of triton_inprocess. Not for direct use: names here change without notice.
"""

import asyncio
from collections.abc import Sequence
import enum
from typing import Any

import triton_inprocess._types
import triton_inprocess.errors
import triton_inprocess.model


class DataType(enum.Enum):
    """Triton's tensor data types (TRITONSERVER_DataType)."""

    INVALID = 0

    BOOL = 1

    UINT8 = 2

    UINT16 = 3

    UINT32 = 4

    UINT64 = 5

    INT8 = 6

    INT16 = 7

    INT32 = 8

    INT64 = 9

    FP16 = 10

    FP32 = 11

    FP64 = 12

    BYTES = 13

    BF16 = 14

class MemoryType(enum.Enum):
    """Where memory lies (TRITONSERVER_MemoryType)."""

    CPU = 0

    CPU_PINNED = 1

    GPU = 2

class InstanceGroupKind(enum.Enum):
    """What a model instance runs on (TRITONSERVER_InstanceGroupKind)."""

    AUTO = 0

    CPU = 1

    GPU = 2

    MODEL = 3

class LogLevel(enum.Enum):
    """Severity of a log message (TRITONSERVER_LogLevel)."""

    INFO = 0

    WARN = 1

    ERROR = 2

    VERBOSE = 3

class LogFormat(enum.Enum):
    """Form of a log line (TRITONSERVER_LogFormat)."""

    DEFAULT = 0

    ISO8601 = 1

class MetricFormat(enum.Enum):
    """Form of a metrics report (TRITONSERVER_MetricFormat)."""

    PROMETHEUS = 0

class MetricKind(enum.Enum):
    """Kind of a metric (TRITONSERVER_MetricKind)."""

    COUNTER = 0

    GAUGE = 1

    HISTOGRAM = 2

class ModelControlMode(enum.Enum):
    """Who decides which models are loaded (TRITONSERVER_ModelControlMode)."""

    NONE = 0

    POLL = 1

    EXPLICIT = 2

class RateLimitMode(enum.Enum):
    """Whether executions are rationed (TRITONSERVER_RateLimitMode)."""

    OFF = 0

    EXEC_COUNT = 1

def load_runtime(path: str) -> tuple[str, tuple[int, int], list[str]]:
    """
    Open the libtritonserver at `path`. Returns its real path, the version of its C API and the names of the functions that it lacks.
    """

def loaded_runtime() -> tuple[str, tuple[int, int], list[str]] | None:
    """What load_runtime returned, or None while no runtime is loaded."""

def open_forwarder(path: str) -> None:
    """
    Put Triton's C names into the global scope by opening the forwarder library at `path`.
    """

def shut_down(threads_remain: bool) -> None:
    """
    Prepare for the end of the interpreter; every server has been stopped. `threads_remain`: whether other Python threads still run.
    """

class LogPipe:
    """A pipe that Triton logs into; emptied by a thread that needs no GIL."""

    def __init__(self) -> None: ...

    @property
    def path(self) -> str: ...

    def read_lines(self) -> list[bytes]:
        """
        Wait for lines and return all that have come; none at all once the pipe is closed and empty.
        """

    def close(self) -> None:
        """End the reading; nobody may write any more."""

class MemoryBuffer:
    """
    A block of memory that a tensor is a view of.

    `data_ptr` is its address, `size` its length in bytes; `owner` is kept alive for as long as anything uses the memory.
    """

    def __init__(self, data_ptr: int, memory_type: MemoryType, memory_type_id: int, size: int, owner: object | None) -> None: ...

    @property
    def data_ptr(self) -> int: ...

    @property
    def memory_type(self) -> MemoryType: ...

    @property
    def memory_type_id(self) -> int: ...

    @property
    def size(self) -> int: ...

class Tensor:
    """
    A typed, shaped view of memory: what goes into a model and comes out of one.

    `numpy.asarray(tensor)` and `numpy.from_dlpack(tensor)` are views of the same memory, which stays alive with them, whatever becomes of the request, the response and the server.
    """

    def __init__(self, data_type: DataType, shape: Sequence[int], memory_buffer: MemoryBuffer) -> None:
        """
        A tensor over `memory_buffer`. Raises InvalidArgumentError when the shape needs another number of bytes.
        """

    @property
    def data_type(self) -> DataType:
        """Type of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""

    @property
    def memory_buffer(self) -> MemoryBuffer:
        """The memory behind the tensor."""

    @property
    def data_ptr(self) -> int:
        """Address of the first byte."""

    @property
    def memory_type(self) -> MemoryType:
        """Where the memory lies."""

    @property
    def memory_type_id(self) -> int:
        """Which device of that kind."""

    @property
    def size(self) -> int:
        """Length in bytes."""

    def numpy(self) -> triton_inprocess._types.Array:
        """
        A numpy array over the same memory, without a copy.

        BYTES become an object array of `bytes`, which is a copy. BF16 needs the package ml_dtypes, or raises UnsupportedError. The array is writable unless the memory belongs to a caller.
        """

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> triton_inprocess._types.Array:
        """What numpy.asarray(tensor) calls."""

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """The tensor as a DLPack capsule (array API standard)."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and number."""

    def to_bytes_array(self) -> triton_inprocess._types.ObjectArray:
        """
        The elements of a BYTES tensor as an object array of `bytes`. Raises TypeError for another type.
        """

    def to_string_array(self) -> triton_inprocess._types.ObjectArray:
        """
        The elements of a BYTES tensor as an object array of `str`, decoded as UTF-8. Raises TypeError for another type and UnicodeDecodeError for what is no UTF-8.
        """

    @staticmethod
    def from_bytes_array(array: Any) -> Tensor:
        """
        A BYTES tensor of an array or (nested) list of bytes. numpy's S arrays cannot hold trailing NULs: lists and object arrays keep them.
        """

    @staticmethod
    def from_string_array(array: Any) -> Tensor:
        """A BYTES tensor of an array or (nested) list of str, encoded as UTF-8."""

    @staticmethod
    def from_dlpack(object: Any) -> Tensor:
        """
        A tensor over the memory of an object that speaks DLPack, in host memory. What is not contiguous is copied.
        """

    def __repr__(self) -> str: ...

def tensor_over_array(array: triton_inprocess._types.Array, data_type: DataType | None = None) -> Tensor:
    """
    A tensor over the memory of a contiguous array of a native type, under another data type if one is given.
    """

def tensor_from_elements(elements: list[bytes], shape: Sequence[int]) -> Tensor:
    """A BYTES tensor of the given elements."""

class ServerOptions:
    """The C API's server options (TRITONSERVER_ServerOptions)."""

    def __init__(self) -> None: ...

    def set_server_id(self, server_id: str) -> None: ...

    def set_model_repository_path(self, path: str) -> None: ...

    def set_model_control_mode(self, mode: ModelControlMode) -> None: ...

    def set_startup_model(self, model_name: str) -> None: ...

    def set_strict_model_config(self, strict: bool) -> None: ...

    def set_model_config_name(self, name: str) -> None: ...

    def set_rate_limiter_mode(self, mode: RateLimitMode) -> None: ...

    def add_rate_limiter_resource(self, name: str, count: int, device: int) -> None: ...

    def set_pinned_memory_pool_byte_size(self, byte_size: int) -> None: ...

    def set_cuda_memory_pool_byte_size(self, device: int, byte_size: int) -> None: ...

    def set_cuda_virtual_address_size(self, device: int, byte_size: int) -> None: ...

    def set_cache_config(self, name: str, config_json: str) -> None: ...

    def set_cache_directory(self, path: str) -> None: ...

    def set_min_supported_compute_capability(self, capability: float) -> None: ...

    def set_exit_on_error(self, exit: bool) -> None: ...

    def set_strict_readiness(self, strict: bool) -> None: ...

    def set_exit_timeout(self, seconds: int) -> None: ...

    def set_buffer_manager_thread_count(self, count: int) -> None: ...

    def set_model_load_thread_count(self, count: int) -> None: ...

    def set_model_load_retry_count(self, count: int) -> None: ...

    def set_model_namespacing(self, enable: bool) -> None: ...

    def set_enable_peer_access(self, enable: bool) -> None: ...

    def set_log_file(self, path: str) -> None: ...

    def set_log_info(self, enable: bool) -> None: ...

    def set_log_warn(self, enable: bool) -> None: ...

    def set_log_error(self, enable: bool) -> None: ...

    def set_log_format(self, log_format: LogFormat) -> None: ...

    def set_log_verbose(self, level: int) -> None: ...

    def set_metrics(self, enable: bool) -> None: ...

    def set_gpu_metrics(self, enable: bool) -> None: ...

    def set_cpu_metrics(self, enable: bool) -> None: ...

    def set_metrics_interval(self, milliseconds: int) -> None: ...

    def set_backend_directory(self, path: str) -> None: ...

    def set_repo_agent_directory(self, path: str) -> None: ...

    def set_model_load_device_limit(self, kind: InstanceGroupKind, device: int, fraction: float) -> None: ...

    def set_backend_config(self, backend: str, setting: str, value: str) -> None: ...

    def set_host_policy(self, policy: str, setting: str, value: str) -> None: ...

    def set_metrics_config(self, name: str, setting: str, value: str) -> None: ...

class Server:
    """A running Triton server (TRITONSERVER_Server); JSON answers are texts."""

    def __init__(self, options: ServerOptions) -> None: ...

    @property
    def address(self) -> int: ...

    @property
    def running(self) -> bool: ...

    @property
    def use_count(self) -> int: ...

    def stop_accepting(self) -> None: ...

    def stop(self) -> None: ...

    def is_live(self) -> bool: ...

    def is_ready(self) -> bool: ...

    def model_is_ready(self, name: str, version: int) -> bool: ...

    def model_batch_properties(self, name: str, version: int) -> int: ...

    def model_transaction_properties(self, name: str, version: int) -> int: ...

    def metadata(self) -> str: ...

    def model_metadata(self, name: str, version: int) -> str: ...

    def model_statistics(self, name: str, version: int) -> str: ...

    def model_config(self, name: str, version: int, config_version: int) -> str: ...

    def model_index(self, flags: int) -> str: ...

    def metrics(self) -> str: ...

    def set_exit_timeout(self, seconds: int) -> None: ...

    def poll_model_repository(self) -> None: ...

    def register_model_repository(self, path: str, name_mapping: Sequence[tuple[str, str]]) -> None: ...

    def unregister_model_repository(self, path: str) -> None: ...

    def load_model(self, name: str) -> None: ...

    def unload_model(self, name: str) -> None: ...

    def unload_model_and_dependents(self, name: str) -> None: ...

class InferenceRequest:
    """
    A request that is filled, sent, and sent again when it is completed (TRITONSERVER_InferenceRequest). While it is in flight, everything that would change it raises UnavailableError.
    """

    def __init__(self, server: Server, model_name: str, model_version: int) -> None: ...

    def set_field(self, name: object, value: object) -> None: ...

    def add_input(self, name: str, value: object) -> None: ...

    def remove_input(self, name: str) -> None: ...

    def submit(self, model: triton_inprocess.model.Model) -> ResponseIterator: ...

    @property
    def in_flight(self) -> bool: ...

    def cancel(self) -> None: ...

class InferenceResponse:
    """
    One response of a model. It holds nothing of Triton: it may outlive request and server.
    """

    @property
    def model(self) -> triton_inprocess.model.Model:
        """The Model that the request was sent through."""

    @property
    def model_version(self) -> int:
        """The version that answered."""

    @property
    def request_id(self) -> str:
        """The request's id, or the empty string."""

    @property
    def parameters(self) -> dict[str, str | int | bool | float]:
        """What the model sent along."""

    @property
    def outputs(self) -> dict[str, Tensor]:
        """
        The output tensors by name; none in an error and in the empty final response of a decoupled model.
        """

    @property
    def error(self) -> triton_inprocess.errors.TritonError | None:
        """Why the request failed, or None."""

    @property
    def final(self) -> bool:
        """Whether no response follows this one."""

class EventLoopHub:
    """Wakes one event loop through one file descriptor."""

    def __init__(self) -> None: ...

    def fileno(self) -> int: ...

    def drain(self) -> None: ...

class ResponseIterator:
    """
    The responses to one request, in their order. Waiting releases the GIL and can be interrupted by Ctrl-C.
    """

    def __iter__(self) -> ResponseIterator: ...

    def __next__(self) -> InferenceResponse:
        """
        The next response. Raises its error as a TritonError, unless raise_on_error=False was given.
        """

    def cancel(self) -> None:
        """
        Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a final response. Raises UnsupportedError before C API 1.25.
        """

class AsyncResponseIterator:
    """The responses to one request, in their order, for `async for`."""

    def __aiter__(self) -> AsyncResponseIterator: ...

    def __anext__(self) -> asyncio.Future[InferenceResponse]:
        """
        A future for the next response. It raises the response's error as a TritonError, unless raise_on_error=False was given.
        """

    def cancel(self) -> None:
        """
        Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a final response. Raises UnsupportedError before C API 1.25.
        """

def infer(server: Server, model: triton_inprocess.model.Model, name: str, version: int, raise_on_error: bool, fields: dict[str, Any]) -> ResponseIterator:
    """Send a request with the given fields; the iterator waits in a thread."""

def async_infer(server: Server, model: triton_inprocess.model.Model, name: str, version: int, raise_on_error: bool, fields: dict[str, Any]) -> AsyncResponseIterator:
    """
    Send a request with the given fields; the iterator waits in an event loop.
    """

def infer_twice(server: Server, model: triton_inprocess.model.Model, name: str, version: int, raise_on_error: bool, fields: dict[str, Any]) -> tuple[ResponseIterator, ResponseIterator]:
    """
    As infer, but with two iterators over the same responses; the second raises no errors.
    """

def async_infer_twice(server: Server, model: triton_inprocess.model.Model, name: str, version: int, raise_on_error: bool, fields: dict[str, Any]) -> tuple[AsyncResponseIterator, AsyncResponseIterator]:
    """
    As async_infer, but with two iterators over the same responses; the second raises no errors.
    """

class PythonFunction:
    """A Python function that serves as the model in the folder `directory`."""

    def __init__(self, function: object, directory: str, model_name: str, inputs: Sequence[tuple[str, DataType, Sequence[int]]], outputs: Sequence[tuple[str, DataType, Sequence[int]]], batched: bool) -> None: ...

    def close(self) -> None: ...

def executing_model() -> str | None:
    """
    The name of the model whose function calls this, on the thread that executes it; else None.
    """
