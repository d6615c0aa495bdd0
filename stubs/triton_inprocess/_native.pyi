"""
The native part of triton_inprocess. Not for direct use: names here change without notice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
import concurrent.futures
import enum
from typing import Any, overload

import triton_inprocess._types
import triton_inprocess.errors
import triton_inprocess.model


class DataType(enum.Enum):
    """Triton's tensor data types (TRITONSERVER_DataType)."""

    def __str__(self) -> str:
        """As Triton spells it."""

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

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class MemoryType(enum.Enum):
    """Where memory lies (TRITONSERVER_MemoryType)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    CPU = 0

    CPU_PINNED = 1

    GPU = 2

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class ParameterType(enum.Enum):
    """Type of a parameter (TRITONSERVER_ParameterType)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    STRING = 0

    INT = 1

    BOOL = 2

    DOUBLE = 3

    BYTES = 4

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class InstanceGroupKind(enum.Enum):
    """What a model instance runs on (TRITONSERVER_InstanceGroupKind)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    AUTO = 0

    CPU = 1

    GPU = 2

    MODEL = 3

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class LogLevel(enum.Enum):
    """Severity of a log message (TRITONSERVER_LogLevel)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    INFO = 0

    WARN = 1

    ERROR = 2

    VERBOSE = 3

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class LogFormat(enum.Enum):
    """Form of a log line (TRITONSERVER_LogFormat)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    DEFAULT = 0

    ISO8601 = 1

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class ErrorCode(enum.Enum):
    """What went wrong (TRITONSERVER_Error_Code); each is an exception, too."""

    def __str__(self) -> str:
        """As Triton spells it."""

    UNKNOWN = 0

    INTERNAL = 1

    NOT_FOUND = 2

    INVALID_ARG = 3

    UNAVAILABLE = 4

    UNSUPPORTED = 5

    ALREADY_EXISTS = 6

    CANCELLED = 7

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class MetricFormat(enum.Enum):
    """Form of a metrics report (TRITONSERVER_MetricFormat)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    PROMETHEUS = 0

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class MetricKind(enum.Enum):
    """Kind of a metric (TRITONSERVER_MetricKind)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    COUNTER = 0

    GAUGE = 1

    HISTOGRAM = 2

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class InferenceTraceActivity(enum.Enum):
    """What a trace tells of (TRITONSERVER_InferenceTraceActivity)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    REQUEST_START = 0

    QUEUE_START = 1

    COMPUTE_START = 2

    COMPUTE_INPUT_END = 3

    COMPUTE_OUTPUT_START = 4

    COMPUTE_END = 5

    REQUEST_END = 6

    TENSOR_QUEUE_INPUT = 7

    TENSOR_BACKEND_INPUT = 8

    TENSOR_BACKEND_OUTPUT = 9

    CUSTOM_ACTIVITY = 10

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class ModelControlMode(enum.Enum):
    """Who decides which models are loaded (TRITONSERVER_ModelControlMode)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    NONE = 0

    POLL = 1

    EXPLICIT = 2

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

class RateLimitMode(enum.Enum):
    """Whether executions are rationed (TRITONSERVER_RateLimitMode)."""

    def __str__(self) -> str:
        """As Triton spells it."""

    OFF = 0

    EXEC_COUNT = 1

    def __int__(self) -> int:
        """The number in the C API."""

    def __index__(self) -> int:
        """The number in the C API."""

def load_runtime(path: str) -> tuple[str, tuple[int, int], list[str]]:
    """
    Open the libtritonserver at `path`. Returns its real path, the version of its C API and the names of the functions that it lacks.
    """

def loaded_runtime() -> tuple[str, tuple[int, int], list[str]] | None:
    """What load_runtime returned, or None while no runtime is loaded."""

def available(function: str) -> bool:
    """
    Whether the loaded library has the function of that name; False for one that this package does not know.
    """

def open_forwarder(path: str) -> None:
    """
    Put Triton's C names into the global scope by opening the forwarder library at `path`.
    """

def end_interpreter(stop_servers: Callable[[], bool]) -> None:
    """
    Prepare for the end of the interpreter: call `stop_servers`, which returns whether threads remain, without being interrupted by a signal, and stop what still runs.
    """

def in_callback() -> bool:
    """
    Whether this thread is inside a call of Triton's to a function given to `capi`, which Triton waits for.
    """

class LogPipe:
    """A pipe that Triton logs into; emptied by a thread that needs no GIL."""

    def __init__(self, capacity: int = 16777216) -> None:
        """
        A pipe that holds so many bytes of lines at most; those that come when it is full are dropped.
        """

    @property
    def path(self) -> str:
        """What Triton takes for a log file."""

    def wait(self) -> bool:
        """
        Sleep until there is something to take; False once the pipe is closed and empty.
        """

    def take(self) -> tuple[list[bytes], int]:
        """The lines that have come, and how many were dropped after them."""

    def close(self) -> None:
        """End the reading; nobody may write any more."""

class MemoryBuffer:
    """
    A block of memory that a tensor is a view of.

    `data_ptr` is its address, `size` its length in bytes; `owner` is kept alive for as long as anything uses the memory.
    """

    def __init__(self, data_ptr: int, memory_type: MemoryType, memory_type_id: int, size: int, owner: object | None) -> None: ...

    @staticmethod
    def from_dlpack(object: Any) -> MemoryBuffer:
        """
        The memory of an object that speaks DLPack, or of a DLPack capsule: see Tensor.from_dlpack.
        """

    @property
    def owner(self) -> Any:
        """The object that was given as owner of the memory, or None."""

    @property
    def data_ptr(self) -> int: ...

    @property
    def memory_type(self) -> MemoryType: ...

    @property
    def memory_type_id(self) -> int: ...

    @property
    def size(self) -> int: ...

class NativeMemoryAllocator:
    """
    Gives the memory for outputs by two C functions, which are called on Triton's threads, several at once, without Python's lock.
    """

    def __init__(self, allocate_function: int, free_function: int, user_data: int = 0, owner: Any = None) -> None:
        """
        An allocator of the functions at two addresses.

        Args:
            allocate_function: Address of `void* allocate(void* user_data, const char* output_name, uint64_t byte_size, int32_t* memory_type, int64_t* memory_type_id)`. The last two are where the memory is wanted (a MemoryType and the number of a device), and where it is when the function returns. Null: there is none, and the request fails with UnavailableError. It is not called for 0 bytes.
            free_function: Address of `void free(void* user_data, void* data, uint64_t byte_size, int32_t memory_type, int64_t memory_type_id)`, called once for all that the other one returned, on any thread, when neither Triton nor a tensor uses it any more.
            user_data: An address that the functions are called with.
            owner: An object that is kept for as long as one of the functions may be called, such as their library.

        Raises TypeError and ValueError for what is no address of a function.
        """

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

    def numpy(self, copy: bool | None = None) -> triton_inprocess._types.Array:
        """
        A numpy array over the same memory, without a copy unless `copy` is True.

        BYTES become an object array of `bytes`, which is a copy: ValueError if `copy` is False. BF16 needs the package ml_dtypes, or raises UnsupportedError, as GPU memory does. The array is writable unless the memory belongs to a caller.
        """

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> triton_inprocess._types.Array:
        """What numpy.asarray(tensor) calls."""

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        """The tensor as a DLPack capsule (array API standard)."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and number."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """
        What numba, CuPy and others read to use a GPU tensor's memory (version 3). Host memory has none.
        """

    def to_device(self, device: triton_inprocess._types.Device) -> Tensor:
        """
        The tensor in other memory: 'cpu', 'cpu_pinned', 'gpu' or 'gpu:1', a MemoryType, or a pair of a MemoryType or a DLDeviceType and a number.

        Returns this tensor where it is there already, and a copy that is complete where it is not. Needs no CUDA toolkit, but NVIDIA's driver unless both are 'cpu': raises UnsupportedError without it.
        """

    def to_host(self) -> Tensor:
        """
        A copy in host memory of a tensor in GPU memory; this tensor if it is in host memory, pinned or not.
        """

    def tolist(self) -> Any:
        """
        The elements as (nested) lists of Python's numbers; BYTES as `bytes`; the only one of a tensor without dimensions as it is.
        """

    def view(self, data_type: DataType) -> Tensor:
        """
        The same memory under another data type with elements of the same size, as the bits of BF16 are UINT16. Raises TypeError for another size.
        """

    def to_bytes_array(self) -> triton_inprocess._types.ObjectArray:
        """
        The elements of a BYTES tensor as an object array of `bytes`. Raises TypeError for another type, and InvalidArgumentError for memory that holds anything else than the elements, naming element and offset.
        """

    def to_string_array(self, encoding: str = 'utf-8', errors: str = 'strict', dtype: Any = None) -> triton_inprocess._types.Array:
        """
        The elements of a BYTES tensor as an object array of `str`, decoded as `bytes.decode` does; as an array of another dtype, such as numpy.dtypes.StringDType(), if one is given.

        Raises TypeError for another type of tensor and UnicodeDecodeError for what cannot be decoded.
        """

    @staticmethod
    def from_any(value: Any, data_type: Any = None, copy: bool | None = None) -> Tensor:
        """
        A tensor for `value`: a Tensor, a numpy array or scalar, a number, str or bytes, a (nested) list or other sequence of those, or an object with DLPack, the buffer protocol, `__cuda_array_interface__`, `__array_interface__` or `__array__`.

        `data_type`: a DataType, Triton's name for it or a numpy dtype. Values of another type are converted if all of them are in its range, to the nearest float (of two to the even one: also integers, of which FP32 holds 24 bits exactly); floats do not become integers, not even 1.0. For BF16, uint16 is taken for the bits. `copy`: True always copies; None only what cannot be read as it lies (strides, byte order, another type, lists, strings); False raises ValueError for that.

        Raises TypeError for what has no Triton type, for a masked array and for values of a kind that does not convert (floats to integers); ValueError for a value out of range.
        """

    @staticmethod
    def from_bytes_array(array: Any) -> Tensor:
        """
        A BYTES tensor of an array or (nested) list of bytes (or str, encoded as UTF-8). numpy's S arrays cannot hold trailing NULs: lists and object arrays keep them.
        """

    @staticmethod
    def from_string_array(array: Any) -> Tensor:
        """
        A BYTES tensor of an array or (nested) list of str (or bytes), encoded as UTF-8.
        """

    @staticmethod
    def from_dlpack(object: Any) -> Tensor:
        """
        A tensor over the memory of an object that speaks DLPack, or of a DLPack capsule, which is consumed. What does not lie in C order is copied.

        Raises TypeError for a type that Triton has not, ValueError for a capsule that was consumed before, UnsupportedError for memory of any device but the host and CUDA's.
        """

    def share(self, pool: SharedMemoryPool | None = None) -> SharedTensor:
        """
        The handle by which other processes open the tensor; it holds the memory.

        A tensor in host memory is put into the pool, by a copy unless it lies there already. A tensor in GPU memory takes no pool: it is shared by CUDA's IPC, where it lies, once the GPU's default stream has done what it was given. What the driver exports no handle of (memory from a stream-ordered pool, as `to_device` makes it, virtual memory, another process's) is copied once, on the same GPU; `open()` of the result is that copy.

        Raises TypeError when a tensor in host memory gets no pool, InvalidArgumentError when one in GPU memory gets one, UnavailableError when the pool or the GPU has no room or the pool is closed.
        """

    def __repr__(self) -> str: ...

def tensor_of_array(array: triton_inprocess._types.Array, data_type: DataType | None, copy: bool | None) -> Tensor:
    """
    A tensor of a numpy.ndarray of a native type, under another data type of its size if one is given.
    """

def tensor_of_elements(elements: list[Any], shape: Sequence[int]) -> Tensor:
    """A BYTES tensor of the given bytes and str."""

def import_dlpack(value: Any, copy: bool | None) -> Tensor:
    """A tensor over the memory of a producer or a capsule."""

def round_to_bfloat16(array: triton_inprocess._types.Array) -> Tensor:
    """
    A BF16 tensor of a C-contiguous array of float32, float64, int64 or uint64.
    """

class AllocatedTensor(Tensor):
    """A Tensor in memory that a MemoryAllocator gave."""

class DLDeviceType(enum.IntEnum):
    """DLPack's kinds of devices (DLDeviceType), by their numbers there."""

    CPU = 1

    CUDA = 2

    CUDA_HOST = 3

    OPENCL = 4

    VULKAN = 7

    METAL = 8

    VPI = 9

    ROCM = 10

    ROCM_HOST = 11

    EXT_DEV = 12

    CUDA_MANAGED = 13

    ONE_API = 14

    WEBGPU = 15

    HEXAGON = 16

    MAIA = 17

def cuda_device_count() -> int:
    """
    How many GPUs this process sees. Raises UnsupportedError, with the reason, where there is none.
    """

def import_cuda_array(array: Any, copy: bool | None) -> Tensor:
    """
    A tensor over the GPU memory of an object that has a __cuda_array_interface__. Its stream is waited for.
    """

class SharedMemoryPool:
    """
    Shared memory that several processes put tensors in, and read each other's without a copy.

    One process makes a pool of a fixed size; others open it by its name, or just open a SharedTensor of it. It is readable and writable by processes of the same user only (mode 0600). A tensor's memory is in use for as long as any process has a Tensor over it, an array made of one, or the SharedTensor that `Tensor.share` returned. What a process held that died, by kill -9 too, is free again as soon as another needs it, and none is locked out.

    The name goes when the last process that has the pool open closes it or ends. If the last one is killed (or ends by os._exit), the name is removed by the next one that opens it or makes any pool.

    A forked child holds what its parent held, on its own account, until it ends. If there is no place for one more process (256) or no file descriptor left, the child's pool raises UnavailableError.

    Triton servers and tritonclient can register the memory of a tensor as system shared memory, by the `key`, `offset` and `byte_size` of its SharedTensor; they do not hold it, so keep the SharedTensor meanwhile.
    """

    def __init__(self, name: str | None = None, byte_size: int | None = None, create: bool = True) -> None:
        """
        Make a pool for `byte_size` bytes of tensors, or open the one called `name`.

        Args:
            name: The file in /dev/shm; None makes one up.
            byte_size: Memory for tensors, rounded up to pages of 4096 bytes and allocated at once; each tensor takes its size, rounded up to 64, and 64 more. When a pool is opened: at least what it must have.
            create: Whether to make the pool or to open it.

        Raises:
            AlreadyExistsError: There is shared memory of that name.
            NotFoundError: There is none to open, or all who used it are dead.
            InvalidArgumentError: An argument is missing or wrong, or what is to be opened is no (whole) pool.
            UnavailableError: /dev/shm has not so much memory left, or 256 processes have the pool open.
        """

    @property
    def name(self) -> str:
        """What other processes open it by."""

    @property
    def key(self) -> str:
        """The name as tritonclient and shm_open(3) take it."""

    @property
    def byte_size(self) -> int:
        """Bytes for tensors, in use or not."""

    @property
    def free_byte_size(self) -> int:
        """
        How many of them nobody uses, maybe in several pieces. Raises UnavailableError when the pool is closed.
        """

    def empty(self, data_type: Any, shape: Sequence[int]) -> Tensor:
        """
        A tensor in the pool whose elements are whatever was there; writable, and shared without a copy.

        Args:
            data_type: A DataType, Triton's name of one, or a numpy dtype; not BYTES.
            shape: Size of each dimension.

        Raises:
            InvalidArgumentError: It is BYTES, or the shape is impossible.
            UnavailableError: No free piece is large enough, or the pool is closed.
        """

    def unlink(self) -> None:
        """
        Remove the name now: no process can open the pool or its tensors any more that has not yet. Those who have it open go on. Raises UnavailableError when the pool is closed.
        """

    def close(self) -> None:
        """
        Stop using the pool. Tensors in it stay valid, and their memory in use; the name goes once nobody uses the pool. Without effect if it is closed.
        """

    def __enter__(self) -> SharedMemoryPool:
        """The pool itself."""

    def __exit__(self, *exception: object) -> None:
        """Close it."""

    def __repr__(self) -> str: ...

class SharedTensor:
    """
    Where a tensor lies that several processes share: a few hundred bytes to send to another process, which opens it without a copy.

    `Tensor.share` returns one that holds the tensor's memory. What pickle makes of it holds nothing.

    In host memory, keep the first one until the receiver has opened its own, or the memory may be free by then and opening raises NotFoundError. It never opens as another tensor.

    In GPU memory, keep the first one, and its process, for as long as any other process has the tensor: the driver frees the memory under those that have it open. Both processes must see the GPU under the same number (CUDA_VISIBLE_DEVICES).

    One made from its arguments describes host memory that somebody else takes care of, such as what tritonclient's create_shared_memory_region makes.
    """

    def __init__(self, key: str, offset: int, byte_size: int, data_type: Any, shape: Sequence[int]) -> None:
        """
        Describe a tensor in the POSIX shared memory `key`, which need not exist yet.

        Args:
            key: The name of the shared memory, with or without the slash in front of it.
            offset: Of the first byte.
            byte_size: Length in bytes; BYTES have Triton's encoding.
            data_type: A DataType, Triton's name of one, or a numpy dtype.
            shape: Size of each dimension.

        Raises:
            InvalidArgumentError: The key is none, or the shape needs another number of bytes.
        """

    def open(self, writable: bool = False) -> Tensor:
        """
        A tensor over the memory itself: host memory is kept by it, that of a GPU is kept by whoever shared it.

        Args:
            writable: Whether arrays over it may be written to. Everybody who has opened the tensor sees what is written; taking turns is up to the users.

        Raises:
            NotFoundError: The memory is no more, or the tensor in it: everybody let go of it.
            InvalidArgumentError: Offset and size are not within the memory, the GPU knows of no such memory (any more), or it may only be read, as it was shared from an array of somebody else's.
            InternalError: The pool is damaged.
            UnavailableError: 256 processes have the pool open, or this one may not open it. CUDA was used by the process that this one was forked from.
            UnsupportedError: GPU memory, and there is no GPU.
        """

    @property
    def memory_type(self) -> MemoryType:
        """MemoryType.GPU, or MemoryType.CPU for any kind of host memory."""

    @property
    def memory_type_id(self) -> int:
        """The number of the GPU; 0 for host memory."""

    @property
    def key(self) -> str:
        """
        The name of the shared memory, with a slash in front of it. Raises UnsupportedError for GPU memory, which has an `ipc_handle`.
        """

    @property
    def ipc_handle(self) -> bytes:
        """
        The 64 bytes of CUDA's handle (CUipcMemHandle) of the allocation that the tensor lies in, all 0 when the tensor has no bytes. Raises UnsupportedError for host memory, which has a `key`.
        """

    @property
    def offset(self) -> int:
        """
        Of the first byte, from the start of the shared memory or of the GPU's allocation.
        """

    @property
    def byte_size(self) -> int:
        """Length in bytes."""

    @property
    def data_type(self) -> DataType:
        """Type of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""

    def __getstate__(self) -> tuple[tuple[str, int, int, int, int] | tuple[bytes, int, int, int, bool, int, int], int, tuple[int, ...]]: ...

    def __setstate__(self, state: tuple[tuple[str, int, int, int, int] | tuple[bytes, int, int, int, bool, int, int], int, tuple[int, ...]]) -> None: ...

    def __repr__(self) -> str: ...

def api_version() -> tuple[int, int]:
    """
    The version of the loaded library's C API: (major, minor) (TRITONSERVER_ApiVersion).
    """

def TRITONSERVER_DataTypeString(datatype: DataType) -> str:
    """How Triton spells a data type (TRITONSERVER_DataTypeString)."""

def TRITONSERVER_StringToDataType(dtype: str) -> DataType:
    """
    The data type that Triton spells so; INVALID for any other text (TRITONSERVER_StringToDataType).
    """

def TRITONSERVER_DataTypeByteSize(datatype: DataType) -> int:
    """The bytes of an element; 0 for BYTES (TRITONSERVER_DataTypeByteSize)."""

def TRITONSERVER_MemoryTypeString(memtype: MemoryType) -> str:
    """How Triton spells a memory type (TRITONSERVER_MemoryTypeString)."""

def TRITONSERVER_ParameterTypeString(paramtype: ParameterType) -> str:
    """How Triton spells a parameter type (TRITONSERVER_ParameterTypeString)."""

def TRITONSERVER_InstanceGroupKindString(kind: InstanceGroupKind) -> str:
    """
    How Triton spells a kind of instance group (TRITONSERVER_InstanceGroupKindString).
    """

def TRITONSERVER_InferenceTraceLevelString(level: int) -> str:
    """
    How Triton spells a single trace level (TRITONSERVER_InferenceTraceLevelString).
    """

def TRITONSERVER_InferenceTraceActivityString(activity: InferenceTraceActivity) -> str:
    """
    How Triton spells a trace activity (TRITONSERVER_InferenceTraceActivityString).
    """

def TRITONSERVER_ErrorCodeString(code: ErrorCode) -> str:
    """How Triton spells an error code (TRITONSERVER_ErrorCodeString)."""

def TRITONSERVER_LogIsEnabled(level: LogLevel) -> bool:
    """Whether messages of a level are logged (TRITONSERVER_LogIsEnabled)."""

def TRITONSERVER_LogMessage(level: LogLevel, filename: str, line: int, msg: str) -> None:
    """
    Write to Triton's log, as if from that line of that file (TRITONSERVER_LogMessage).
    """

class TRITONSERVER_Parameter:
    """
    A named value for the load of a model, a repository's names or a metric's labels (TRITONSERVER_Parameter).
    """

    def __init__(self, name: str, value: str | int | bool | float | bytes | bytearray | memoryview) -> None:
        """
        A parameter of the value's own type: a bool, also numpy's, is a BOOL, an int an INT, a float a DOUBLE, a str a STRING; bytes and what else shows its memory are BYTES, with every NUL (TRITONSERVER_ParameterNew, TRITONSERVER_ParameterBytesNew).

        Raises TypeError for any other value, OverflowError for an int beyond 64 bits, ValueError for a NUL in a str, and UnsupportedError for a float where the library has none (before C API 1.28).
        """

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> ParameterType: ...

class TRITONSERVER_Message:
    """A JSON text of Triton's (TRITONSERVER_Message)."""

    def __init__(self, serialized_json: str) -> None:
        """
        A message with the given text, which is kept as it is (TRITONSERVER_MessageNewFromSerializedJson).
        """

    def serialize_to_json(self) -> str:
        """The JSON text (TRITONSERVER_MessageSerializeToJson)."""

class TRITONSERVER_BufferAttributes:
    """
    Where a piece of memory lies and how large it is (TRITONSERVER_BufferAttributes).
    """

    def __init__(self) -> None:
        """
        Attributes of 0 bytes of CPU memory (TRITONSERVER_BufferAttributesNew).
        """

    @property
    def memory_type(self) -> MemoryType:
        """
        Where the memory lies (TRITONSERVER_BufferAttributesMemoryType, …SetMemoryType).
        """

    @memory_type.setter
    def memory_type(self, arg: MemoryType, /) -> None: ...

    @property
    def memory_type_id(self) -> int:
        """
        On which device (TRITONSERVER_BufferAttributesMemoryTypeId, …SetMemoryTypeId).
        """

    @memory_type_id.setter
    def memory_type_id(self, arg: int, /) -> None: ...

    @property
    def byte_size(self) -> int:
        """Its bytes (TRITONSERVER_BufferAttributesByteSize, …SetByteSize)."""

    @byte_size.setter
    def byte_size(self, arg: int, /) -> None: ...

    @property
    def cuda_ipc_handle(self) -> int:
        """
        The address of the 64 bytes of a cudaIpcMemHandle_t, which are copied when it is set; 0 when there is none (TRITONSERVER_BufferAttributesCudaIpcHandle, …SetCudaIpcHandle).
        """

    @cuda_ipc_handle.setter
    def cuda_ipc_handle(self, arg: int, /) -> None: ...

class TRITONSERVER_Metrics:
    """
    What a server measures (TRITONSERVER_Metrics); TRITONSERVER_Server.metrics makes them.
    """

    def formatted(self, format: MetricFormat) -> str:
        """The values of this moment as text (TRITONSERVER_MetricsFormatted)."""

class TRITONSERVER_MetricFamily:
    """
    Your own metrics of one name (TRITONSERVER_MetricFamily). It may be dropped before its metrics: they keep it.
    """

    def __init__(self, kind: MetricKind, name: str, description: str) -> None:
        """
        A family of the given kind (TRITONSERVER_MetricFamilyNew).

        Families of one name, kind and description are one. Raises InvalidArgumentError for a name that Prometheus does not allow, that begins with nv_, which is for Triton's own, or that has another kind or description already.
        """

    @property
    def kind(self) -> MetricKind:
        """
        The kind of its metrics (TRITONSERVER_GetMetricFamilyKind, from C API 1.34).
        """

class TRITONSERVER_MetricArgs:
    """
    What a histogram needs besides its labels (TRITONSERVER_MetricArgs, from C API 1.34).
    """

    def __init__(self) -> None:
        """
        Empty arguments (TRITONSERVER_MetricArgsNew). Raises UnsupportedError before C API 1.34.
        """

    def set_histogram(self, buckets: Sequence[float]) -> None:
        """
        The upper bounds of a histogram's buckets, ascending; one without a bound is added to them (TRITONSERVER_MetricArgsSetHistogram).

        Raises InvalidArgumentError when they do not ascend.
        """

class TRITONSERVER_Metric:
    """A metric of your own (TRITONSERVER_Metric)."""

    def __init__(self, family: TRITONSERVER_MetricFamily, labels: Sequence[TRITONSERVER_Parameter], args: TRITONSERVER_MetricArgs | None = None) -> None:
        """
        A metric of the family with the given STRING labels (TRITONSERVER_MetricNew, TRITONSERVER_MetricNewWithArgs). A histogram needs `args`.

        Raises InvalidArgumentError for a label that is no STRING and for a histogram without buckets, and UnsupportedError for `args` before C API 1.34.
        """

    @property
    def kind(self) -> MetricKind:
        """The kind of the metric (TRITONSERVER_GetMetricKind)."""

    @property
    def value(self) -> float:
        """
        The value of a counter or gauge (TRITONSERVER_MetricValue). Raises UnsupportedError for a histogram.
        """

    def increment(self, value: float) -> None:
        """
        Add to a counter (not less than 0) or gauge (TRITONSERVER_MetricIncrement).
        """

    def set(self, value: float) -> None:
        """
        Set a gauge (TRITONSERVER_MetricSet). Raises UnsupportedError for another kind.
        """

    def set_value(self, value: float) -> None:
        """The same as `set`, under its older name (TRITONSERVER_MetricSet)."""

    def observe(self, value: float) -> None:
        """
        Count a value in its bucket of a histogram (TRITONSERVER_MetricObserve, from C API 1.34).
        """

class TRITONSERVER_InferenceTrace:
    """
    A trace of one request (TRITONSERVER_InferenceTrace). It is for one TRITONSERVER_Server.infer_async; the models that answer may spawn more traces from it, which tell the same functions. Its properties can be read even when it is released. What its functions raise goes to sys.unraisablehook.
    """

    @overload
    def __init__(self, level: int, parent_id: int, activity_function: triton_inprocess._types.TraceActivityFunction, release_function: triton_inprocess._types.TraceReleaseFunction, trace_userp: Any) -> None:
        """
        A trace without tensors (TRITONSERVER_InferenceTraceNew).

        Args:
            level: What is told: TRITONSERVER_InferenceTraceLevel, combined with |.
            parent_id: The id of the trace that this one belongs to, or 0.
            activity_function: Is called with (trace, activity, timestamp_ns, user_object).
            release_function: Is called with (trace, user_object) when Triton has done with a trace.
            trace_userp: The user_object; it lives until the last trace is released.
        """

    @overload
    def __init__(self, level: int, parent_id: int, activity_function: triton_inprocess._types.TraceActivityFunction, tensor_activity_function: triton_inprocess._types.TensorActivityFunction, release_function: triton_inprocess._types.TraceReleaseFunction, trace_userp: Any) -> None:
        """
        A trace that is told of tensors, too (TRITONSERVER_InferenceTraceTensorNew): `tensor_activity_function` is called with (trace, activity, name, data_type, address, byte_size, shape, memory_type, memory_type_id, user_object), and the memory is valid only meanwhile.
        """

    @property
    def id(self) -> int:
        """A number of its own (TRITONSERVER_InferenceTraceId)."""

    @property
    def parent_id(self) -> int:
        """
        The id of the trace that it was spawned from (TRITONSERVER_InferenceTraceParentId).
        """

    @property
    def model_name(self) -> str:
        """The model that is traced (TRITONSERVER_InferenceTraceModelName)."""

    @property
    def model_version(self) -> int:
        """The version of that model (TRITONSERVER_InferenceTraceModelVersion)."""

    @property
    def request_id(self) -> str:
        """
        The id of the request (TRITONSERVER_InferenceTraceRequestId, from C API 1.19).
        """

    @property
    def context(self) -> str:
        """
        What is handed on to whatever the request leads to (TRITONSERVER_InferenceTraceContext, …SetContext, from C API 1.29).
        """

    @context.setter
    def context(self, arg: str, /) -> None: ...

    def report_activity(self, timestamp: int, activity_name: str) -> None:
        """
        Tell the activity function of an activity of your own, CUSTOM_ACTIVITY (TRITONSERVER_InferenceTraceReportActivity, from C API 1.33).
        """

    def spawn_child_trace(self) -> TRITONSERVER_InferenceTrace:
        """
        A trace of the same functions with this one as its parent (TRITONSERVER_InferenceTraceSpawnChildTrace, from C API 1.24).
        """

class TRITONSERVER_ResponseAllocator:
    """
    Decides where Triton puts outputs (TRITONSERVER_ResponseAllocator). Its functions are called on Triton's threads; what they raise fails the request with that error. It may be dropped while its outputs live.
    """

    def __init__(self, alloc_function: triton_inprocess._types.AllocFunction, release_function: triton_inprocess._types.ReleaseFunction, start_function: triton_inprocess._types.StartFunction | None = None) -> None:
        """
        An allocator of three functions (TRITONSERVER_ResponseAllocatorNew).

        Args:
            alloc_function: Is called for each output with (allocator, tensor_name, byte_size, memory_type, memory_type_id, user_object), where the memory type is the one that Triton prefers. Returns (address, buffer_user_object, memory_type, memory_type_id) of memory that stays until it is released.
            release_function: Is called with (allocator, address, buffer_user_object, byte_size, memory_type, memory_type_id) when Triton and the response have done with an output; its exceptions go to sys.unraisablehook.
            start_function: Is called with (allocator, user_object) before the outputs of each response.
        """

    def set_query_function(self, query_function: triton_inprocess._types.QueryFunction) -> None:
        """
        Has Triton ask beforehand where an output will lie, with (allocator, user_object, tensor_name, byte_size or None, memory_type, memory_type_id); returns (memory_type, memory_type_id) (TRITONSERVER_ResponseAllocatorSetQueryFunction).

        Raises UnavailableError while a request in flight uses the allocator.
        """

    def set_buffer_attributes_function(self, buffer_attributes_function: triton_inprocess._types.BufferAttributesFunction) -> None:
        """
        Has Triton ask what an output's memory is, with (allocator, tensor_name, buffer_attributes, user_object, buffer_user_object); returns the TRITONSERVER_BufferAttributes to use (TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction).

        Raises UnavailableError while a request in flight uses the allocator.
        """

class TRITONSERVER_InferenceResponse:
    """
    A response (TRITONSERVER_InferenceResponse). It may outlive its request and its server; the memory of its outputs stays for as long as it does.
    """

    @property
    def model(self) -> tuple[str, int]:
        """
        Name and version of the model that answered (TRITONSERVER_InferenceResponseModel).
        """

    @property
    def id(self) -> str:
        """
        The request's id, or the empty string (TRITONSERVER_InferenceResponseId).
        """

    @property
    def parameter_count(self) -> int:
        """
        How many parameters the model sent along (TRITONSERVER_InferenceResponseParameterCount).
        """

    def parameter(self, index: int) -> tuple[str, ParameterType, str | int | bool | float]:
        """
        A parameter: (name, type, value) (TRITONSERVER_InferenceResponseParameter).

        Raises InvalidArgumentError for an index beyond the count.
        """

    @property
    def output_count(self) -> int:
        """
        How many outputs there are (TRITONSERVER_InferenceResponseOutputCount).
        """

    def output(self, index: int) -> tuple[str, DataType, tuple[int, ...], int, int, MemoryType, int] | tuple[str, DataType, tuple[int, ...], int, int, MemoryType, int, Any]:
        """
        An output: (name, data_type, shape, address, byte_size, memory_type, memory_type_id), and from an allocator of yours also the buffer_user_object (TRITONSERVER_InferenceResponseOutput).

        Raises InvalidArgumentError for an index beyond the count.
        """

    def output_classification_label(self, index: int, class_index: int) -> str:
        """
        The label of a class of an output, or the empty string when it has none (TRITONSERVER_InferenceResponseOutputClassificationLabel). Labels are read when the response comes, for an output of which one of the first 16 classes has one.

        Raises InvalidArgumentError for an output beyond the count.
        """

    def throw_if_response_error(self) -> None:
        """
        Raise the error that the request failed with, if it did (TRITONSERVER_InferenceResponseError).
        """

class ServerOptions:
    """The C API's server options (TRITONSERVER_ServerOptions)."""

    def __init__(self) -> None:
        """
        The library's defaults, but no retries of failing loads and peer access on, which it leaves to chance (TRITONSERVER_ServerOptionsNew).
        """

    def set_server_id(self, server_id: str) -> None:
        """
        The server's name in its metadata (TRITONSERVER_ServerOptionsSetServerId).
        """

    def set_model_repository_path(self, path: str) -> None:
        """
        Add a model repository; once for each (TRITONSERVER_ServerOptionsSetModelRepositoryPath).
        """

    def set_model_control_mode(self, mode: ModelControlMode) -> None:
        """
        Who decides which models are loaded (TRITONSERVER_ServerOptionsSetModelControlMode).
        """

    def set_startup_model(self, model_name: str) -> None:
        """
        Load a model at the start, in explicit mode; once for each, or * alone for all (TRITONSERVER_ServerOptionsSetStartupModel).
        """

    def set_strict_model_config(self, strict: bool) -> None:
        """
        Whether every model must have a complete configuration (TRITONSERVER_ServerOptionsSetStrictModelConfig).
        """

    def set_model_config_name(self, name: str) -> None:
        """
        The name of the configuration to take, among those that a model has (TRITONSERVER_ServerOptionsSetModelConfigName, from C API 1.31).
        """

    def set_rate_limiter_mode(self, mode: RateLimitMode) -> None:
        """
        Whether executions are rationed by resources (TRITONSERVER_ServerOptionsSetRateLimiterMode).
        """

    def add_rate_limiter_resource(self, name: str, count: int, device: int) -> None:
        """
        How many of a resource there are; device -1 is for resources of no device (TRITONSERVER_ServerOptionsAddRateLimiterResource).
        """

    def set_pinned_memory_pool_byte_size(self, byte_size: int) -> None:
        """
        Bytes of pinned memory for the whole process (TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize).
        """

    def set_cuda_memory_pool_byte_size(self, device: int, byte_size: int) -> None:
        """
        Bytes of memory on a GPU for the whole process (TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize).
        """

    def set_cuda_virtual_address_size(self, device: int, byte_size: int) -> None:
        """
        Bytes of address space on a GPU for growing buffers (TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize, from C API 1.27).
        """

    def set_response_cache_byte_size(self, byte_size: int) -> None:
        """
        Bytes of the local response cache, 0 for none; `set_cache_config` has taken its place (TRITONSERVER_ServerOptionsSetResponseCacheByteSize).
        """

    def set_cache_config(self, name: str, config_json: str) -> None:
        """
        Turn on a response cache, with its settings as a JSON object (TRITONSERVER_ServerOptionsSetCacheConfig, from C API 1.20).
        """

    def set_cache_directory(self, path: str) -> None:
        """
        Where the caches are (TRITONSERVER_ServerOptionsSetCacheDirectory, from C API 1.20).
        """

    def set_min_supported_compute_capability(self, capability: float) -> None:
        """
        GPUs below this are not used (TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability).
        """

    def set_exit_on_error(self, exit: bool) -> None:
        """
        Whether a model that does not load ends the start (TRITONSERVER_ServerOptionsSetExitOnError).
        """

    def set_strict_readiness(self, strict: bool) -> None:
        """
        Whether the server is ready only with its models (TRITONSERVER_ServerOptionsSetStrictReadiness).
        """

    def set_exit_timeout(self, seconds: int) -> None:
        """
        How many seconds a stop may take (TRITONSERVER_ServerOptionsSetExitTimeout).
        """

    def set_buffer_manager_thread_count(self, count: int) -> None:
        """
        Threads that copy inputs and outputs, at most 1024; only for the first server (TRITONSERVER_ServerOptionsSetBufferManagerThreadCount).
        """

    def set_model_load_thread_count(self, count: int) -> None:
        """
        Threads that load models, at most 1024 (TRITONSERVER_ServerOptionsSetModelLoadThreadCount).
        """

    def set_model_load_retry_count(self, count: int) -> None:
        """
        How often a load that failed is tried again (TRITONSERVER_ServerOptionsSetModelLoadRetryCount, from C API 1.28).
        """

    def set_model_namespacing(self, enable: bool) -> None:
        """
        Whether models of one name in several repositories are told apart (TRITONSERVER_ServerOptionsSetModelNamespacing, from C API 1.18).
        """

    def set_enable_peer_access(self, enable: bool) -> None:
        """
        Whether GPUs may reach each other's memory (TRITONSERVER_ServerOptionsSetEnablePeerAccess, from C API 1.31).
        """

    def set_log_file(self, path: str) -> None:
        """
        Where the process logs to, at once; empty for the standard error (TRITONSERVER_ServerOptionsSetLogFile).
        """

    def set_log_info(self, enable: bool) -> None:
        """
        Whether information is logged, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogInfo).
        """

    def set_log_warn(self, enable: bool) -> None:
        """
        Whether warnings are logged, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogWarn).
        """

    def set_log_error(self, enable: bool) -> None:
        """
        Whether errors are logged, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogError).
        """

    def set_log_format(self, log_format: LogFormat) -> None:
        """
        The form of log lines, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogFormat).
        """

    def set_log_verbose(self, level: int) -> None:
        """
        How much detail is logged, 0 for none, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogVerbose).
        """

    def set_metrics(self, enable: bool) -> None:
        """Whether anything is measured (TRITONSERVER_ServerOptionsSetMetrics)."""

    def set_gpu_metrics(self, enable: bool) -> None:
        """Whether GPUs are measured (TRITONSERVER_ServerOptionsSetGpuMetrics)."""

    def set_cpu_metrics(self, enable: bool) -> None:
        """Whether the CPU is measured (TRITONSERVER_ServerOptionsSetCpuMetrics)."""

    def set_metrics_interval(self, milliseconds: int) -> None:
        """
        Milliseconds between two measurements of CPU and GPUs (TRITONSERVER_ServerOptionsSetMetricsInterval).
        """

    def set_backend_directory(self, path: str) -> None:
        """
        Where the backends are (TRITONSERVER_ServerOptionsSetBackendDirectory).
        """

    def set_repo_agent_directory(self, path: str) -> None:
        """
        Where the repository agents are (TRITONSERVER_ServerOptionsSetRepoAgentDirectory).
        """

    def set_model_load_device_limit(self, kind: InstanceGroupKind, device: int, fraction: float) -> None:
        """
        The fraction of a device's memory that loads may fill (TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit).
        """

    def set_backend_config(self, backend: str, setting: str, value: str) -> None:
        """
        A setting of a backend; of all with the empty name (TRITONSERVER_ServerOptionsSetBackendConfig).
        """

    def set_host_policy(self, policy: str, setting: str, value: str) -> None:
        """
        A setting of a host policy, such as numa-node or cpu-cores (TRITONSERVER_ServerOptionsSetHostPolicy).
        """

    def set_metrics_config(self, name: str, setting: str, value: str) -> None:
        """
        A setting of the metrics; of all with the empty name (TRITONSERVER_ServerOptionsSetMetricsConfig, from C API 1.22).
        """

class Server:
    """What TRITONSERVER_Server of capi is in C++."""

    def __init__(self, options: ServerOptions) -> None: ...

    @property
    def address(self) -> int:
        """The address of the C object."""

    @property
    def running(self) -> bool:
        """
        Whether it is neither stopped nor of the process that this one was forked from.
        """

    @property
    def use_count(self) -> int:
        """Calls, requests and responses that need the C object."""

    def stop_accepting(self, load_timeout: float) -> bool:
        """
        Take no model any more, wait for loads in progress, at most so many seconds, and take no request any more. Whether no load goes on.
        """

    def stop_within(self, load_timeout: float) -> None:
        """
        Wait until every request is answered and every model is gone (TRITONSERVER_ServerStop), at most for the exit timeout; then the C object is deleted as soon as that is safe. Stopping again does nothing.

        Raises InternalError when the exit timeout has passed, and UnavailableError when a load still goes on after `load_timeout` seconds: the C object is left behind then.
        """

    def give_up(self) -> None:
        """Leave the C object behind without a stop: it accepts no call any more."""

    def set_exit_timeout(self, timeout: int) -> None:
        """
        Seconds that `stop` may take (TRITONSERVER_ServerSetExitTimeout, from C API 1.30).
        """

    def register_model_repository(self, repository_path: str, name_mapping: Sequence[TRITONSERVER_Parameter]) -> None:
        """
        Add a repository in explicit mode; STRING parameters give folders other names (TRITONSERVER_ServerRegisterModelRepository).
        """

    def unregister_model_repository(self, repository_path: str) -> None:
        """Remove a repository (TRITONSERVER_ServerUnregisterModelRepository)."""

    def poll_model_repository(self) -> None:
        """
        Look for changes in the repositories, in mode POLL (TRITONSERVER_ServerPollModelRepository).
        """

    def is_live(self) -> bool:
        """Whether the server lives (TRITONSERVER_ServerIsLive)."""

    def is_ready(self) -> bool:
        """
        Whether the server and, with strict readiness, its models can be used (TRITONSERVER_ServerIsReady).
        """

    def model_is_ready(self, model_name: str, model_version: int) -> bool:
        """Whether a model can be used (TRITONSERVER_ServerModelIsReady)."""

    def model_batch_properties(self, model_name: str, model_version: int) -> tuple[int, int]:
        """
        Bits of TRITONSERVER_ModelBatchFlag, and an address, 0 for now (TRITONSERVER_ServerModelBatchProperties).
        """

    def model_transaction_properties(self, model_name: str, model_version: int) -> tuple[int, int]:
        """
        Bits of TRITONSERVER_ModelTxnPropertyFlag, and an address, 0 for now (TRITONSERVER_ServerModelTransactionProperties).
        """

    def metadata(self) -> TRITONSERVER_Message:
        """Name, version and extensions (TRITONSERVER_ServerMetadata)."""

    def model_metadata(self, model_name: str, model_version: int) -> TRITONSERVER_Message:
        """
        Versions, inputs and outputs of a model (TRITONSERVER_ServerModelMetadata).
        """

    def model_statistics(self, model_name: str, model_version: int) -> TRITONSERVER_Message:
        """
        Statistics of a model; of all with the empty name (TRITONSERVER_ServerModelStatistics).
        """

    def model_config(self, model_name: str, model_version: int, config_version: int) -> TRITONSERVER_Message:
        """
        The configuration of a model; `config_version` is 1 (TRITONSERVER_ServerModelConfig).
        """

    def model_index(self, flags: int) -> TRITONSERVER_Message:
        """
        The models of the repositories; `flags` are bits of TRITONSERVER_ModelIndexFlag (TRITONSERVER_ServerModelIndex).
        """

    def load_model(self, model_name: str) -> None:
        """
        Load a model, or load it again, in explicit mode (TRITONSERVER_ServerLoadModel).
        """

    def load_model_with_parameters(self, model_name: str, parameters: Sequence[TRITONSERVER_Parameter]) -> None:
        """
        Load a model with the configuration of parameter `config` (JSON) and, if given, files of parameters `file:<version>/<name>` (TRITONSERVER_ServerLoadModelWithParameters).
        """

    def unload_model(self, model_name: str) -> None:
        """
        Unload a model, in explicit mode; it goes when its last request is answered (TRITONSERVER_ServerUnloadModel).
        """

    def unload_model_and_dependents(self, model_name: str) -> None:
        """
        The same with the models that only it needs (TRITONSERVER_ServerUnloadModelAndDependents).
        """

    def metrics(self) -> TRITONSERVER_Metrics:
        """
        What the server measures (TRITONSERVER_ServerMetrics); nothing when metrics are off.
        """

    def infer_async(self, request: TRITONSERVER_InferenceRequest, trace: TRITONSERVER_InferenceTrace | None = None) -> None:
        """
        Send a request (TRITONSERVER_ServerInferAsync). It and the trace are Triton's until they are released.

        When this raises, the request is as before and can be sent again, no callback comes, and the trace is gone. Raises UnavailableError for a request in flight and for a trace that was sent before.
        """

class FrontEnd:
    """
    A server for a foreign front end, which finds Triton's C functions in the global scope: what it may do, and what is in flight.
    """

    def __init__(self, server: Server, *, allow_model_control: bool, allow_model_upload: bool, allow_log_settings: bool, max_in_flight: int) -> None: ...

    @property
    def address(self) -> int:
        """What the front end takes for the address of the C server."""

    @property
    def in_flight(self) -> int:
        """
        Requests that are not answered and released, and calls that have not returned.
        """

    def close(self) -> None:
        """Take no request any more; what is in flight is answered."""

    def forget(self) -> None:
        """The front end is gone, and does not call any more."""

class TRITONSERVER_InferenceRequest:
    """
    A request (TRITONSERVER_InferenceRequest): it is filled, sent by TRITONSERVER_Server.infer_async, and sent again when it is completed, which is when the last response and the release have come. While it is in flight, everything that would change it raises UnavailableError, and dropping it is harmless. The memory that its inputs are given by address must stay until then.
    """

    def __init__(self, server: Server, model_name: str, model_version: int) -> None:
        """
        A request for a model; version -1 is the one that the model's policy says (TRITONSERVER_InferenceRequestNew).

        Raises NotFoundError for a model that the server does not serve.
        """

    @property
    def id(self) -> str:
        """
        A name that comes back with the responses (TRITONSERVER_InferenceRequestId, …SetId).
        """

    @id.setter
    def id(self, id: str, /) -> None: ...

    @property
    def flags(self) -> int:
        """
        Bits of TRITONSERVER_RequestFlag (TRITONSERVER_InferenceRequestFlags, …SetFlags).
        """

    @flags.setter
    def flags(self, flags: int, /) -> None: ...

    @property
    def correlation_id(self) -> int:
        """
        The sequence that the request belongs to (TRITONSERVER_InferenceRequestCorrelationId, …SetCorrelationId). Raises when it is a text.
        """

    @correlation_id.setter
    def correlation_id(self, correlation_id: int, /) -> None: ...

    @property
    def correlation_id_string(self) -> str:
        """
        The sequence by a text (TRITONSERVER_InferenceRequestCorrelationIdString, …SetCorrelationIdString). Raises when it is a number.
        """

    @correlation_id_string.setter
    def correlation_id_string(self, correlation_id: str, /) -> None: ...

    @property
    def priority(self) -> int:
        """
        The priority, 0 for the model's default (TRITONSERVER_InferenceRequestPriority, …SetPriority).
        """

    @priority.setter
    def priority(self, priority: int, /) -> None: ...

    @property
    def priority_uint64(self) -> int:
        """
        The priority with 64 bits (TRITONSERVER_InferenceRequestPriorityUInt64, …SetPriorityUInt64, from C API 1.23).
        """

    @priority_uint64.setter
    def priority_uint64(self, priority: int, /) -> None: ...

    @property
    def timeout_microseconds(self) -> int:
        """
        How long the request may wait in a queue, 0 for the model's default (TRITONSERVER_InferenceRequestTimeoutMicroseconds, …SetTimeoutMicroseconds).
        """

    @timeout_microseconds.setter
    def timeout_microseconds(self, timeout: int, /) -> None: ...

    def add_input(self, name: str, data_type: DataType, shape: Sequence[int]) -> None:
        """Add an input without data (TRITONSERVER_InferenceRequestAddInput)."""

    def add_raw_input(self, name: str) -> None:
        """
        Add the only input, whose type and shape the model knows (TRITONSERVER_InferenceRequestAddRawInput).
        """

    def remove_input(self, name: str) -> None:
        """Remove an input (TRITONSERVER_InferenceRequestRemoveInput)."""

    def remove_all_inputs(self) -> None:
        """Remove the inputs (TRITONSERVER_InferenceRequestRemoveAllInputs)."""

    def append_input_data(self, name: str, address: int, byte_size: int, memory_type: MemoryType, memory_type_id: int) -> None:
        """
        Add memory to an input (TRITONSERVER_InferenceRequestAppendInputData). Triton reads it until the request is released: it must stay and be that large.
        """

    def append_input_data_with_host_policy(self, name: str, address: int, byte_size: int, memory_type: MemoryType, memory_type_id: int, host_policy: str) -> None:
        """
        The same for instances with that host policy only (TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy).
        """

    def append_input_data_with_buffer_attributes(self, name: str, address: int, buffer_attributes: TRITONSERVER_BufferAttributes) -> None:
        """
        The same with the memory's attributes (TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes).
        """

    def remove_all_input_data(self, name: str) -> None:
        """
        Remove an input's memory (TRITONSERVER_InferenceRequestRemoveAllInputData).
        """

    def add_requested_output(self, name: str) -> None:
        """
        Ask for this output; without any, all come (TRITONSERVER_InferenceRequestAddRequestedOutput).
        """

    def remove_requested_output(self, name: str) -> None:
        """
        Do not ask for this output (TRITONSERVER_InferenceRequestRemoveRequestedOutput).
        """

    def remove_all_requested_outputs(self) -> None:
        """
        Ask for no output in particular (TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs).
        """

    def set_string_parameter(self, key: str, value: str) -> None:
        """
        Give the model a text (TRITONSERVER_InferenceRequestSetStringParameter, from C API 1.21).
        """

    def set_int_parameter(self, key: str, value: int) -> None:
        """
        Give the model an integer of 64 bits (TRITONSERVER_InferenceRequestSetIntParameter, from C API 1.21). Raises TypeError for a bool and OverflowError beyond 64 bits.
        """

    def set_bool_parameter(self, key: str, value: bool) -> None:
        """
        Give the model a bool (TRITONSERVER_InferenceRequestSetBoolParameter, from C API 1.21).
        """

    def set_double_parameter(self, key: str, value: float) -> None:
        """
        Give the model a float (TRITONSERVER_InferenceRequestSetDoubleParameter, from C API 1.28).
        """

    def cancel(self) -> None:
        """
        Ask Triton to give up on the request, which then ends with a CancelledError or, when it is too late, as usual; nothing happens when it is not in flight (TRITONSERVER_InferenceRequestCancel).

        Raises UnsupportedError before C API 1.25.
        """

    def is_cancelled(self) -> bool:
        """
        Whether it was cancelled since it was sent last (TRITONSERVER_InferenceRequestIsCancelled, from C API 1.25).
        """

    def set_release_callback(self, request_release_function: triton_inprocess._types.RequestReleaseFunction, request_release_userp: Any) -> None:
        """
        Have a function called with (request, flags, user_object) when Triton has done with the request; `flags` are bits of TRITONSERVER_RequestReleaseFlag (TRITONSERVER_InferenceRequestSetReleaseCallback). It runs on one of Triton's threads, and what it raises goes to sys.unraisablehook.
        """

    def set_response_callback(self, allocator: TRITONSERVER_ResponseAllocator | None, allocator_userp: Any, response_function: triton_inprocess._types.ResponseFunction, response_userp: Any) -> None:
        """
        Have a function called with (response or None, flags, user_object) for each response; `flags` are bits of TRITONSERVER_ResponseCompleteFlag (TRITONSERVER_InferenceRequestSetResponseCallback). The outputs lie where `allocator` says, with None in pooled host memory. It runs on one of Triton's threads, and what it raises goes to sys.unraisablehook.
        """

    def get_next_response(self, future: concurrent.futures.Future[Any] | asyncio.Future[Any]) -> None:
        """
        Complete a future with the next response: (response or None, flags). Responses and futures meet in their order; a future that is cancelled gets none.

        Raises InvalidArgumentError when the request has a response callback.
        """

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
    def labels(self) -> dict[str, tuple[str, ...]]:
        """
        By output, the labels of its classes in their order: those of the model's `label_filename` (TRITONSERVER_InferenceResponseOutputClassificationLabel). Outputs without labels are left out; a class without one has the empty string.
        """

    @property
    def classification_label(self) -> str | None:
        """
        The label of the class with the highest value, of the first output that has labels; None if none has.

        Raises UnsupportedError when that output is not one row of numbers: `labels` has the labels then.
        """

    @property
    def error(self) -> triton_inprocess.errors.TritonError | None:
        """Why the request failed, or None."""

    @property
    def final(self) -> bool:
        """Whether no response follows this one."""

    def __repr__(self) -> str: ...

class EventLoopHub:
    """Wakes one event loop through one file descriptor."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def fileno(self) -> int: ...

    def drain(self) -> None: ...

class ResponseWait:
    """What a coroutine awaits: a response."""

    def expire(self) -> None:
        """Called at the deadline."""

class ResponseIterator:
    """
    The responses to one request, in their order. Waiting releases the GIL and can be interrupted by Ctrl-C.
    """

    def __iter__(self) -> ResponseIterator: ...

    def __next__(self) -> InferenceResponse:
        """
        The next response. Raises its error as a TritonError, unless raise_on_error=False was given.
        """

    def result(self) -> InferenceResponse:
        """
        Wait for the response of a model that sends one.

        Raises its error as a TritonError, unless raise_on_error=False was given; UnsupportedError when the model sends several or none, or after the iteration has begun; TimeoutError at the deadline.
        """

    def __repr__(self) -> str: ...

    def cancel(self) -> None:
        """
        Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a final response. Raises UnsupportedError before C API 1.25.
        """

    def close(self) -> None:
        """
        End the iteration: the request is cancelled, as it is when the iterator is dropped before its end. Before C API 1.25 it goes on, and nobody hears of it.
        """

    def __enter__(self) -> ResponseIterator: ...

    def __exit__(self, *exception: object) -> None:
        """Close it."""

class ResponseWindow:
    """Requests in flight at once, for models that send one response."""

    def __init__(self, ordered: bool) -> None: ...

    def add(self, iterator: ResponseIterator) -> None:
        """Add a request."""

    def __len__(self) -> int: ...

    def poll(self) -> InferenceResponse | None:
        """The next response if it has come."""

    def take(self) -> InferenceResponse:
        """Wait for it."""

class AsyncResponseIterator:
    """
    The responses to one request, in their order, for `async for`; awaited, the response of a model that sends one.
    """

    def __aiter__(self) -> AsyncResponseIterator: ...

    def __anext__(self) -> Awaitable[InferenceResponse]:
        """
        An awaitable for the next response. It raises the response's error as a TritonError, unless raise_on_error=False was given, and TimeoutError at the deadline.
        """

    def __await__(self) -> Generator[Any, None, InferenceResponse]:
        """
        Wait for the response of a model that sends one. Raises UnsupportedError when it sends several or none, or after the iteration has begun; else as `__anext__`.
        """

    def __repr__(self) -> str: ...

    def cancel(self) -> None:
        """
        Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a final response. Raises UnsupportedError before C API 1.25.
        """

    def close(self) -> None:
        """
        End the iteration: the request is cancelled, as it is when the iterator is dropped before its end, or the task that waits for it is cancelled. Before C API 1.25 it goes on, and nobody hears of it.
        """

def poll(iterator: AsyncResponseIterator) -> InferenceResponse | None:
    """What awaiting the iterator would return at once, if it would."""

class ModelHandle:
    """Where the requests of a Model go."""

    def __init__(self, server: Server, name: str, version: int) -> None: ...

class TraceRecord:
    """What Triton has told of a traced request."""

    def __init__(self, tensors: bool) -> None:
        """A record for one request, with or without its tensors."""

    @property
    def done(self) -> bool:
        """Whether it is complete."""

    @property
    def context(self) -> object:
        """What it was made with by a TraceQueue, or None."""

    def wait(self, seconds: float | None) -> bool:
        """Sleep until it is complete; False when the time is over before."""

    def snapshot(self) -> tuple[int, bool, list[tuple[int, int, str, int, str | None, list[tuple[InferenceTraceActivity, int]], list[tuple[InferenceTraceActivity, str, DataType, tuple[int, ...], int, MemoryType, int, Tensor | None]], triton_inprocess.errors.TritonError | None]]]:
        """What was told so far: (id, complete, traces)."""

    def spawn_child(self) -> TraceRecord:
        """A record of the same traces, for a request that this one leads to."""

class TraceQueue:
    """Traces that are complete; filled by threads that need no GIL."""

    def __init__(self, capacity: int) -> None:
        """
        A queue of so many traces at most; those that come when it is full are dropped.
        """

    def wait(self) -> bool:
        """
        Sleep until there is something to take; False once the queue is closed and empty, and nothing will come.
        """

    def take(self) -> tuple[list[TraceRecord], int]:
        """The traces that have come, and how many were dropped after them."""

    def record(self, tensors: bool, context: object) -> TraceRecord:
        """
        A record for one request, which comes here when it is complete; `context` comes back with it.
        """

    def close(self) -> None:
        """
        No trace begins any more; those that did are waited for, at most a second.
        """

def trace_requests(server: Server, queue: TraceQueue, tensors: bool, rate: int) -> None:
    """
    Trace every `rate`th request of the server that has no trace of its own. Called before the first request.
    """

def infer(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, inputs: Any, fields: dict[str, Any]) -> ResponseIterator:
    """
    Send a request; the iterator waits in a thread. `inputs` None: they are among the fields.
    """

def async_infer(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, inputs: Any, fields: dict[str, Any]) -> AsyncResponseIterator:
    """As infer; the iterator waits in an event loop."""

def infer_twice(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, inputs: Any, fields: dict[str, Any]) -> tuple[ResponseIterator, ResponseIterator]:
    """
    As infer, but with two iterators over the same responses; the second raises no errors.
    """

def async_infer_twice(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, inputs: Any, fields: dict[str, Any]) -> tuple[AsyncResponseIterator, AsyncResponseIterator]:
    """
    As async_infer, but with two iterators over the same responses; the second raises no errors.
    """

class ModelRequest:
    """A request to a Triton Python model. What is dropped unanswered fails."""

    @property
    def inputs(self) -> list[tuple[str, Tensor]]: ...

    @property
    def requested_outputs(self) -> list[str]: ...

    @property
    def trace_context(self) -> str: ...

    @property
    def rows(self) -> int:
        """How much of the batch it is; 1 without a batch dimension."""

    @property
    def request_id(self) -> str: ...

    @property
    def correlation_id(self) -> int | str: ...

    @property
    def flags(self) -> int: ...

    @property
    def timeout(self) -> int:
        """In microseconds."""

    @property
    def parameters(self) -> dict[str, str | int | bool | float]: ...

    @property
    def cancelled(self) -> bool:
        """Whether Triton was asked to cancel it."""

    @property
    def open(self) -> bool:
        """Whether there can be more responses."""

    def send(self, outputs: list[tuple[str, Tensor]], parameters: dict[str, str | int | bool | float], final: bool, release: bool) -> None:
        """
        Send a response, the last one if `final`; `release` gives the request back before.
        """

    def fail(self, exception: BaseException, parameters: dict[str, str | int | bool | float], final: bool, release: bool) -> None:
        """Likewise, a response that is an error."""

    def close(self) -> None:
        """No more responses."""

    def release(self, succeeded: bool) -> None:
        """Give the request back; responses may follow."""

    def reschedule(self) -> None:
        """Give the request back to be executed again."""

class Execution:
    """
    Requests that a model's function is called for. What is dropped unanswered fails.
    """

    @property
    def count(self) -> int:
        """How many requests these are; none once they are answered."""

    @property
    def rows(self) -> list[int]:
        """How many rows of the batch each has, once the inputs were read."""

    @property
    def cancelled(self) -> bool:
        """Whether Triton was asked to cancel all of them."""

    def request_cancelled(self, index: int) -> bool:
        """
        Whether Triton was asked to cancel one of them; False once it is answered.
        """

    def mark_thread(self) -> None:
        """
        From now on the calling thread is one that executes the model: see executing_model.
        """

    def arrays(self) -> dict[str, Any]:
        """The inputs of all requests, joined, as read-only numpy arrays."""

    def tensors(self) -> list[Tensor]:
        """The inputs of all requests, joined, in the order of their declaration."""

    def information(self, index: int) -> tuple[str, int | str, int, int, dict[str, str | int | bool | float], int | None]:
        """
        Id, correlation id, flags, timeout in microseconds, parameters and the trace's id of a request.
        """

    def answer(self, result: object) -> None:
        """
        Answer the requests with what the function has returned, each with its rows.
        """

    def send(self, result: object) -> None:
        """Send a response that others will follow: for decoupled models."""

    def end(self) -> None:
        """No more responses: for decoupled models."""

    def fail(self, exception: BaseException) -> None:
        """
        Answer the requests with an error; nothing happens when they are answered.
        """

    def discard(self) -> None:
        """Let the requests go, which nobody waits for."""

    def split(self) -> list[Execution]:
        """Each request alone; this one has none any more."""

    def take_requests(self) -> list[ModelRequest]:
        """
        The requests for a Triton Python model, but those that cannot be read, which fail; this one has none any more.
        """

    def report_taken(self, rows: int) -> None:
        """
        For Triton's statistics: requests that were taken were executed together.
        """

    def log_failure(self, exception: BaseException) -> None:
        """Write an exception of the model's code to Triton's log."""

    def begin(self) -> None:
        """For Triton's statistics: the computation begins now."""

class PythonFunction:
    """
    A Python function that serves as the model in the version folder `directory`.
    """

    def __init__(self, function: object, directory: str, model_name: str, inputs: Sequence[tuple[str, DataType, Sequence[int]]], outputs: Sequence[tuple[str, DataType, Sequence[int]]], batched: bool, runner: bool, adopt: str = 'auto', copy_inputs: bool = False) -> None: ...

    @property
    def loaded(self) -> bool:
        """Whether Triton has the model still, or again."""

    @property
    def byte_counts(self) -> tuple[int, int, int, int]:
        """
        Bytes of inputs that were shared and copied, and of outputs that were adopted and copied.
        """

    def restore(self) -> None:
        """Take the folder's place again, in which another was tried."""

    def close(self) -> None: ...

def executing_model() -> str | None:
    """
    The name of the model whose function calls this, on the thread that executes it; else None.
    """
