"""A server's endpoints on the network."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ._background import interruptible
from ._durations import timeout_argument
from .errors import InvalidArgumentError, UnavailableError

if TYPE_CHECKING:
    from types import TracebackType

    from starlette.applications import Starlette

    from ._limits import Limits
    from .options import PathLike
    from .server import Server

__all__ = ["Serving", "serve"]

_LOOPBACK = "127.0.0.1"
_log = logging.getLogger("triton_inprocess.http")


class Listener(Protocol):
    """One address that is listened at."""

    address: tuple[str, int]
    has_metrics: bool

    @property
    def url(self) -> str:
        """Where it is served."""
        ...

    @property
    def running(self) -> bool:
        """Whether it is served."""
        ...

    def close(self, deadline: float) -> None:
        """Take no more requests, answer those that are there, until a time of time.monotonic() at the latest."""
        ...


@dataclass(frozen=True)
class Wanted:
    """What Server.serve was asked for, but for the addresses; not checked yet."""

    server: Server
    engine: str
    token: str | None
    limits: Limits | None
    certificate: str | None
    private_key: str | None
    access: dict[str, Any]


class Serving:
    """The endpoints that one call of `Server.serve` has opened. They belong to the server, which closes them first.

    ::

        with server.serve(http="127.0.0.1:8000") as serving:
            print(serving.url)
            serving.wait()
    """

    def __init__(self, listeners: dict[str, Listener], closed: Callable[[], object]) -> None:
        """Made by Server.serve, with what listens for "http", "grpc" and "metrics"."""
        self._opened = listeners
        self._closed = closed
        self._over = threading.Event()

    @property
    def url(self) -> str:
        """Where HTTP is served, such as "http://127.0.0.1:8000"; without it that of gRPC, or of the metrics."""
        return self._first().url

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of it."""
        return self._first().address

    @property
    def grpc_url(self) -> str | None:
        """Where gRPC is served, as tritonclient.grpc wants it: "127.0.0.1:8001"."""
        listener = self._opened.get("grpc")
        return None if listener is None else listener.url.partition("://")[2]

    @property
    def metrics_url(self) -> str | None:
        """Where the metrics are: with `metrics=`, at an address of their own; None where only gRPC is served."""
        if "metrics" in self._opened:
            return self._opened["metrics"].url + "/metrics"
        # NVIDIA's HTTP front end has them at no address but their own.
        http = self._opened.get("http")
        return http.url + "/metrics" if http is not None and http.has_metrics else None

    @property
    def running(self) -> bool:
        """Whether requests are taken."""
        return not self._over.is_set() and any(each.running for each in self._opened.values())

    def close(self, timeout: float | None = 30.0) -> None:
        """Take no more requests, answer those that are there, and close.

        `timeout`: seconds to wait for them at most; then they are cancelled. None: for ever. Closing twice does
        nothing. Ctrl-C ends the wait at once; the closing goes on. Raises TypeError or ValueError for what is no time.
        """
        limit = timeout_argument("timeout", timeout)
        deadline = float("inf") if limit is None else time.monotonic() + limit
        interruptible(lambda: self._close_by(deadline))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the endpoints are closed, or for `timeout` seconds; whether they are. Ctrl-C ends the wait."""
        return self._over.wait(timeout_argument("timeout", timeout))

    def _first(self) -> Listener:
        return next(iter(self._opened.values()))

    def _close_by(self, deadline: float) -> None:
        for listener in self._opened.values():
            listener.close(deadline)
        self._over.set()
        self._closed()

    def __enter__(self) -> Serving:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """Where it is served."""
        return f"<Serving {self.url}, {'open' if self.running else 'closed'}>"


def serve(
    server: Server,
    closed: Callable[[Serving], object],
    *,
    http: str | int | None,
    grpc: str | int | None,
    metrics: str | int | None,
    engine: str,
    certificate: PathLike | None,
    private_key: PathLike | None,
    limits: Limits | None,
    token: str | None,
    access: dict[str, Any],
) -> Serving:
    """What Server.serve does."""
    if not isinstance(engine, str):
        raise TypeError(f"engine must be a str, not {type(engine).__name__}")
    if engine not in ("asgi", "native"):
        raise ValueError(f"engine must be 'asgi' or 'native', not {engine!r}")
    given = {"http": http, "grpc": grpc, "metrics": metrics}
    addresses = {kind: address for kind, address in given.items() if address is not None}
    if not addresses:
        raise InvalidArgumentError("serve needs an address: http='127.0.0.1:8000', grpc= or metrics=")
    if (certificate is None) != (private_key is None):
        raise InvalidArgumentError("certificate and private_key come together")
    wanted = Wanted(server, engine, token, limits, _path(certificate), _path(private_key), access)
    native = [kind for kind in addresses if kind == "grpc" or engine == "native"]
    opener: dict[str, Callable[[str | int], Listener]] = {}
    if native:
        from ._native_endpoint import native_openers

        opener |= native_openers(native, wanted)
    if len(native) < len(addresses):
        opener |= _asgi_openers([kind for kind in addresses if kind not in native], wanted)
    listeners: dict[str, Listener] = {}
    with contextlib.ExitStack() as opened:
        for kind, address in addresses.items():
            listeners[kind] = opener[kind](address)
            opened.callback(listeners[kind].close, 0.0)
            _warn_of_strangers(listeners[kind], kind in native, token)
        serving = Serving(listeners, lambda: closed(serving))
        opened.pop_all()  # they stay
    return serving


def _asgi_openers(kinds: list[str], wanted: Wanted) -> dict[str, Callable[[str | int], Listener]]:
    try:
        from . import asgi
        from ._http_listener import HttpListener
        from .asgi._application import create_metrics_app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("starlette", "uvicorn"):
            raise
        raise ModuleNotFoundError(
            f"Server.serve needs {missing}: python -m pip install 'triton-inprocess[http]'", name=error.name
        ) from None
    limits = wanted.limits if wanted.limits is not None else asgi.Limits()

    def opener(kind: str, app: Starlette) -> Callable[[str | int], Listener]:
        return lambda address: HttpListener(app, bind(kind, address), limits, wanted.certificate, wanted.private_key)

    apps = {
        "http": lambda: asgi.create_app(wanted.server, limits=limits, token=wanted.token, **wanted.access),
        "metrics": lambda: create_metrics_app(wanted.server, limits=limits, token=wanted.token),
    }
    # All applications first: what is wrong with an argument is said before an address is opened.
    return {kind: opener(kind, apps[kind]()) for kind in kinds}


def _warn_of_strangers(listener: Listener, native: bool, token: str | None) -> None:
    if _is_loopback(listener.address[0]):
        return
    if native:
        _log.warning("%s can be used by whoever reaches it, and is for clients that are trusted only", listener.url)
    elif token is None:
        _log.warning("%s can be used by whoever reaches it: give a token", listener.url)


def _path(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)


def bind(name: str, address: str | int) -> socket.socket:
    """A socket that is bound to an address; `name` is the argument that it was given by."""
    host, port = _split(name, address)
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        result = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InvalidArgumentError(f"{name}={address!r}: {error}") from None
    try:
        result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        result.bind(place)
    except OSError as error:
        result.close()
        raise UnavailableError(f"{name}={address!r} cannot be listened at: {error}") from None
    return result


def _split(name: str, address: object) -> tuple[str, int]:
    if isinstance(address, int) and not isinstance(address, bool):
        host, text = _LOOPBACK, str(address)
    elif isinstance(address, str):
        host, _, text = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]") or _LOOPBACK
    else:
        raise TypeError(f"{name} must be 'host:port' or a port, not {type(address).__name__}")
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise ValueError(f"{name} must be 'host:port' or a port from 0 to 65535, not {address!r}")
    return host, int(text)


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback
