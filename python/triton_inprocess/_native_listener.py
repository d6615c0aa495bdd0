"""One address that NVIDIA's own front end is served at: HTTP, gRPC or metrics, by the package tritonfrontend."""

from __future__ import annotations

import functools
import importlib
import logging
import os
import socket
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _native, errors, runtime
from ._own_sockets import OwnSockets
from ._quiescence import wait_for_triton_threads
from .errors import TritonError, UnavailableError, UnsupportedError

if TYPE_CHECKING:
    from .server import Server

__all__ = ["NativeListener", "front_end_class"]

_CLASSES = {"http": "KServeHttp", "grpc": "KServeGrpc", "metrics": "Metrics"}
_STANDS_IN_FOR = "tritonserver"  # which tritonfrontend imports, for the names of its errors
_EXTENSION = "tritonfrontend._c.tritonfrontend_bindings"
_STEP = 0.001
_CANCEL_SECONDS = 1.0  # that requests may take to end once their clients were cut off
_CUT_SECONDS = 1.0  # that the front end may take to see it
_TRIES = 8  # to find a port that nobody else takes meanwhile
_log = logging.getLogger("triton_inprocess.http")
_left_behind: list[object] = []
_importing = threading.Lock()


def front_end_class(kind: str, asked: str) -> Any:
    """The class of tritonfrontend for "http", "grpc" or "metrics"; `asked` is the argument that it is for."""
    wanted = sys.implementation.name == "cpython" and sys.version_info[:2] == (3, 12)
    there = (
        f"{asked} needs the package tritonfrontend, which there is for CPython 3.12 only, and this is "
        f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}: http='127.0.0.1:8000' serves the same "
        "protocol (KServe v2) by HTTP with every Python, with tritonclient.http as the client"
    )
    try:
        with _importing:
            package = _imported()
    except ModuleNotFoundError as error:
        if not wanted:
            raise UnsupportedError(there) from None
        raise ModuleNotFoundError(
            f"{asked} needs the package {error.name}: python -m pip install pydantic, and then "
            "python -m pip install --no-deps tritonfrontend",
            name=error.name,
        ) from None
    found = getattr(package, _CLASSES[kind], None)
    if found is None:  # the package swallows whatever kept its extension from being imported
        raise UnsupportedError(there if not wanted else f"{asked}: {package.__file__} has no {_CLASSES[kind]}")
    return found


@functools.cache
def _imported() -> Any:
    if _EXTENSION in sys.modules:  # its symbols are those of the stub that it brings along
        raise UnsupportedError(
            "tritonfrontend was imported before an endpoint of it was opened, and has not found Triton: leave the "
            "import to Server.serve"
        )
    for name in [each for each in sys.modules if each.partition(".")[0] == "tritonfrontend"]:
        del sys.modules[name]  # an import that has failed, and leaves an empty package
    # Its symbols are looked up in the global scope first, where the forwarder library must be by then.
    runtime.open_forwarder()
    real = sys.modules.get(_STANDS_IN_FOR)
    stand_in = types.ModuleType(_STANDS_IN_FOR)
    for name in errors.__all__:
        setattr(stand_in, name, getattr(errors, name))
    sys.modules[_STANDS_IN_FOR] = stand_in
    try:
        return importlib.import_module("tritonfrontend")
    finally:
        if real is not None:
            sys.modules[_STANDS_IN_FOR] = real
        else:
            del sys.modules[_STANDS_IN_FOR]


class NativeListener:
    """Listens from its creation on, and until it is closed.

    The front end's own stop aborts the process, or hangs, while a request is in flight or a stream is open. So it comes
    last: no connection and no request is taken any more, what is in flight is waited for, the connections are cut.
    """

    def __init__(
        self,
        kind: str,
        front_end: Any,
        server: Server,
        bind: Callable[[], socket.socket],
        *,
        max_in_flight: int,
        allow_model_control: bool,
        allow_model_upload: bool,
        allow_log_settings: bool,
        certificate: str | None = None,
        private_key: str | None = None,
    ) -> None:
        """Serve at the address that `bind` binds a socket to. Raises UnavailableError when that is taken."""
        self.has_metrics = kind == "metrics"
        self.scheme = kind if kind == "grpc" else "http"
        self._process = os.getpid()
        self._gate = _native.FrontEnd(
            server.capi,
            allow_model_control=allow_model_control,
            allow_model_upload=allow_model_upload,
            allow_log_settings=allow_log_settings,
            max_in_flight=max_in_flight,
        )
        options: dict[str, Any] = {}
        if kind == "grpc" and certificate is not None:
            options = {"use_ssl": True, "server_cert": certificate, "server_key": private_key}
        self._closing = threading.Lock()
        self._front_end: Any = None
        try:
            self.address: tuple[str, int] = self._start(kind, front_end, bind, options)
        except BaseException:
            self._gate.forget()
            raise
        self._sockets = OwnSockets(self.address)

    def _start(
        self, kind: str, front_end: Any, bind: Callable[[], socket.socket], options: dict[str, Any]
    ) -> tuple[str, int]:
        for left in range(_TRIES - 1, -1, -1):
            with bind() as bound:  # which says that the address can be had, and which port 0 is
                host, port = bound.getsockname()[:2]
            given = f"[{host}]" if ":" in host else host
            made = front_end(_Handle(self._gate.address), front_end.Options(address=given, port=port, **options))
            try:
                made.start()
            except TritonError as error:
                if left == 0:
                    raise UnavailableError(
                        f"the {self.scheme} endpoint did not start at {given}:{port}: {error}"
                    ) from None
                continue
            self._front_end = made
            return host, port
        raise AssertionError

    @property
    def url(self) -> str:
        """Where it is served."""
        host, port = self.address
        return f"{self.scheme}://[{host}]:{port}" if ":" in host else f"{self.scheme}://{host}:{port}"

    @property
    def running(self) -> bool:
        """Whether it is served."""
        return self._front_end is not None

    def close(self, deadline: float) -> None:
        """Take no more requests, answer those that are there, until a time of time.monotonic() at the latest."""
        if self._process != os.getpid():  # a forked child has the sockets, but not the threads
            return
        with self._closing:
            front_end, self._front_end = self._front_end, None
            if front_end is not None:
                self._close(front_end, deadline)

    def _close(self, front_end: Any, deadline: float) -> None:
        self._gate.close()
        self._sockets.stop_listening()
        _wait_until(self._answered, deadline)
        self._sockets.cut()
        _wait_until(lambda: not self._gate.in_flight, time.monotonic() + _CANCEL_SECONDS)
        gone = _wait_until(lambda: not self._sockets.connected(), time.monotonic() + _CUT_SECONDS)
        if self._gate.in_flight or not gone:
            # It goes on without clients: stopping it would end the process.
            _left_behind.append((front_end, self._gate))
            _log.warning("%s could not be closed: a request goes on; it is left behind", self.url)
            return
        wait_for_triton_threads()
        front_end.stop()
        self._gate.forget()

    def _answered(self) -> bool:
        """Whether nothing is in flight, in Triton, in the front end, and on the wire."""
        if self._gate.in_flight or self._sockets.pending():
            return False
        wait_for_triton_threads()
        return not self._gate.in_flight and not self._sockets.pending()


class _Handle:
    """What tritonfrontend takes for a server."""

    def __init__(self, address: int) -> None:
        self._address = address

    def _ptr(self) -> int:
        return self._address


def _wait_until(condition: Callable[[], bool], deadline: float) -> bool:
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_STEP)
    return True
