"""The fake libtritonserver, from Python: built once, commanded by ctypes, and copied without some of its functions."""

from __future__ import annotations

import ctypes
import enum
import os
from pathlib import Path

from helpers_build import build_library

from .lacking import make_lacking

__all__ = ["Code", "Drop", "FakeTriton", "Order", "build", "make_lacking"]


class Code(enum.IntEnum):
    """TRITONSERVER_Error_Code."""

    UNKNOWN = 0
    INTERNAL = 1
    NOT_FOUND = 2
    INVALID_ARG = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    ALREADY_EXISTS = 6
    CANCELLED = 7


class Order(enum.IntEnum):
    """In which order a request's callbacks come."""

    RESPONSE_FIRST = 0
    RELEASE_FIRST = 1
    TOGETHER = 2


class Drop(enum.IntFlag):
    """Which callbacks are not called."""

    NOTHING = 0
    FINAL_RESPONSE = 1
    RELEASE = 2


class FakeTriton:
    """The control functions of the fake at `path`, for this process; control.h says what each does.

    The library is the same one that triton_inprocess loads from that path, before or afterwards.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._library = ctypes.CDLL(os.fspath(path))
        signatures: dict[str, tuple[type | None, list[type]]] = {
            "fail": (
                ctypes.c_bool,
                [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int32, ctypes.c_char_p],
            ),
            "fail_enqueueing": (None, [ctypes.c_uint64]),
            "delay": (None, [ctypes.c_uint32]),
            "linger": (None, [ctypes.c_uint32]),
            "order": (None, [ctypes.c_int32]),
            "respond_on_own_threads": (None, [ctypes.c_bool]),
            "drop": (None, [ctypes.c_uint32]),
            "deliver_dropped": (ctypes.c_uint64, []),
            "reschedule": (None, [ctypes.c_bool]),
            "release_child_traces_last": (None, [ctypes.c_bool]),
            "set_api_version": (None, [ctypes.c_uint32, ctypes.c_uint32]),
            "live": (ctypes.c_uint64, [ctypes.c_char_p]),
            "calls": (ctypes.c_int64, [ctypes.c_char_p]),
            "reset": (None, []),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._library, f"fake_triton_{name}")
            function.restype = result
            function.argtypes = arguments

    def fail(
        self, function: str, *, first: int = 1, count: int = 1, code: Code = Code.INTERNAL, message: str = "as told"
    ) -> bool:
        """Make calls of a C function fail; False for one that does not exist or returns no error."""
        return bool(self._library.fake_triton_fail(function.encode(), first, count, code, message.encode()))

    def fail_enqueueing(self, count: int = 1) -> None:
        self._library.fake_triton_fail_enqueueing(count)

    def delay(self, milliseconds: int) -> None:
        self._library.fake_triton_delay(milliseconds)

    def linger(self, milliseconds: int) -> None:
        self._library.fake_triton_linger(milliseconds)

    def order(self, order: Order) -> None:
        self._library.fake_triton_order(order)

    def respond_on_own_threads(self, enable: bool = True) -> None:
        self._library.fake_triton_respond_on_own_threads(enable)

    def drop(self, what: Drop) -> None:
        self._library.fake_triton_drop(what)

    def deliver_dropped(self) -> int:
        return int(self._library.fake_triton_deliver_dropped())

    def reschedule(self, enable: bool = True) -> None:
        self._library.fake_triton_reschedule(enable)

    def release_child_traces_last(self, enable: bool = True) -> None:
        self._library.fake_triton_release_child_traces_last(enable)

    def set_api_version(self, major: int, minor: int) -> None:
        self._library.fake_triton_set_api_version(major, minor)

    def live(self, kind: str) -> int:
        return int(self._library.fake_triton_live(kind.encode()))

    def calls(self, function: str) -> int:
        return int(self._library.fake_triton_calls(function.encode()))

    def reset(self) -> None:
        self._library.fake_triton_reset()


def build() -> Path:
    """Build what is missing or out of date; returns the library."""
    return build_library(Path(__file__).parent, "fake") / "libtritonserver.so"
