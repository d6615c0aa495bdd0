"""The fake libcuda, from Python: built once, commanded by ctypes, and used as another library of the process would."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

from helpers_build import build_library

__all__ = ["LEGACY", "OUT_OF_MEMORY", "PER_THREAD", "FakeCuda", "build"]

OUT_OF_MEMORY = 2
LEGACY = 1
PER_THREAD = 2


class FakeCuda:
    """The control functions of the fake at `path`, for this process; control.h says what each does."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._library = ctypes.CDLL(os.fspath(path))
        signatures: dict[str, tuple[type | None, list[type]]] = {
            "set_devices": (None, [ctypes.c_int32]),
            "set_memory_pools": (None, [ctypes.c_bool]),
            "fail": (ctypes.c_bool, [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int32]),
            "delay": (None, [ctypes.c_uint32]),
            "calls": (ctypes.c_int64, [ctypes.c_char_p]),
            "log": (ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]),
            "breaches": (ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]),
            "live": (ctypes.c_uint64, [ctypes.c_char_p]),
            "context_depth": (ctypes.c_uint64, []),
            "read": (ctypes.c_bool, [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
            "write": (ctypes.c_bool, [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]),
            "fill": (
                ctypes.c_int32,
                [ctypes.c_int32, ctypes.c_size_t, ctypes.c_uint8, ctypes.c_size_t, ctypes.c_size_t],
            ),
            "reset": (None, []),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._library, f"fake_cuda_{name}")
            function.restype = result
            function.argtypes = arguments

    def set_devices(self, count: int) -> None:
        self._library.fake_cuda_set_devices(count)

    def set_memory_pools(self, have: bool) -> None:
        self._library.fake_cuda_set_memory_pools(have)

    def fail(self, function: str, *, first: int = 1, count: int = 1, result: int = 999) -> None:
        assert self._library.fake_cuda_fail(function.encode(), first, count, result), function

    def delay(self, milliseconds: int) -> None:
        self._library.fake_cuda_delay(milliseconds)

    def calls(self, function: str) -> int:
        count = int(self._library.fake_cuda_calls(function.encode()))
        assert count >= 0, function
        return count

    def _lines(self, name: str) -> list[str]:
        function = getattr(self._library, f"fake_cuda_{name}")
        buffer = ctypes.create_string_buffer(int(function(None, 0)) + 1)
        function(buffer, len(buffer))
        return buffer.value.decode().splitlines()

    def log(self) -> list[str]:
        return self._lines("log")

    def breaches(self) -> list[str]:
        return self._lines("breaches")

    def live(self, kind: str) -> int:
        return int(self._library.fake_cuda_live(kind.encode()))

    def context_depth(self) -> int:
        return int(self._library.fake_cuda_context_depth())

    def read(self, address: int, size: int) -> bytes:
        """The memory of a GPU as it is now."""
        buffer = ctypes.create_string_buffer(size)
        assert self._library.fake_cuda_read(address, buffer, size)
        return buffer.raw

    def write(self, address: int, content: bytes) -> None:
        assert self._library.fake_cuda_write(address, content, len(content))

    def fill(self, address: int, value: int, size: int, stream: int, device: int = 0) -> None:
        """Somebody's kernel, which writes when its turn in the stream comes."""
        assert self._library.fake_cuda_fill(device, address, value, size, stream) == 0

    def reset(self) -> None:
        self._library.fake_cuda_reset()

    # As another library uses the driver, by its own calls.

    def _call(self, function: str, *arguments: object) -> None:
        result = getattr(self._library, function)(*arguments)
        assert result == 0, (function, result)

    def pop_context(self) -> None:
        self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    @contextlib.contextmanager
    def context(self, device: int = 0) -> Iterator[None]:
        context = ctypes.c_void_p()
        self._call("cuInit", ctypes.c_uint(0))
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
        self._call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.pop_context()

    def allocate(self, content: bytes, device: int = 0) -> int:
        """The address of memory of a GPU that holds `content`."""
        address = ctypes.c_size_t()
        with self.context(device):
            self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(content)))
        self.write(address.value, content)
        return address.value

    def free(self, address: int) -> None:
        self._call("cuMemFree_v2", ctypes.c_size_t(address))

    def allocate_pinned(self, content: bytes) -> int:
        address = ctypes.c_void_p()
        with self.context():
            self._call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(len(content)), ctypes.c_uint(0))
        assert address.value is not None
        ctypes.memmove(address.value, content, len(content))
        return address.value

    def stream(self, device: int = 0) -> int:
        """A new stream, which the default stream does not wait for."""
        stream = ctypes.c_void_p()
        with self.context(device):
            self._call("cuStreamCreate", ctypes.byref(stream), ctypes.c_uint(1))
        assert stream.value is not None
        return stream.value

    def wait_for_stream(self, stream: int, device: int = 0) -> None:
        with self.context(device):
            self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def wait_for_all(self, device: int = 0) -> None:
        with self.context(device):
            self._call("cuCtxSynchronize")


def build() -> Path:
    """Build what is missing or out of date; returns the library."""
    return build_library(Path(__file__).parent, "fake_cuda") / "libcuda.so.1"
