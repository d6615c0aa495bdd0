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
from typing import TYPE_CHECKING, Any

from ._background import interruptible
from ._durations import timeout_argument
from .errors import InvalidArgumentError, UnavailableError, UnsupportedError

if TYPE_CHECKING:
    from types import TracebackType

    from ._http_listener import HttpListener
    from .asgi import Limits
    from .options import PathLike
    from .server import Server

__all__ = ["Serving", "serve"]

_LOOPBACK = "127.0.0.1"
_log = logging.getLogger("triton_inprocess.http")


class Serving:
    """The endpoints that one call of `Server.serve` has opened. They belong to the server, which closes them first.

    ::

        with server.serve(http="127.0.0.1:8000") as serving:
            print(serving.url)
            serving.wait()
    """

    def __init__(self, http: HttpListener | None, metrics: HttpListener | None, closed: Callable[[], object]) -> None:
        """Made by Server.serve."""
        self._http = http
        self._metrics = metrics
        self._closed = closed
        self._over = threading.Event()

    @property
    def url(self) -> str:
        """Where HTTP is served, such as "http://127.0.0.1:8000"; that of the metrics where only they are."""
        listener = self._http or self._metrics
        assert listener is not None
        return listener.url

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of it."""
        listener = self._http or self._metrics
        assert listener is not None
        return listener.address

    @property
    def metrics_url(self) -> str | None:
        """Where the metrics are: with `metrics=`, at an address of their own."""
        if self._metrics is not None:
            return self._metrics.url + "/metrics"
        return self.url + "/metrics"

    @property
    def running(self) -> bool:
        """Whether requests are taken."""
        return not self._over.is_set() and any(each.running for each in self._listeners())

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

    def _listeners(self) -> list[HttpListener]:
        return [each for each in (self._http, self._metrics) if each is not None]

    def _close_by(self, deadline: float) -> None:
        for listener in self._listeners():
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
    _refuse_other_engines(grpc, engine)
    if http is None and metrics is None:
        raise InvalidArgumentError("serve needs an address: http='127.0.0.1:8000', or metrics=")
    if (certificate is None) != (private_key is None):
        raise InvalidArgumentError("certificate and private_key come together")
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
    limits = limits if limits is not None else asgi.Limits()
    app = asgi.create_app(server, limits=limits, token=token, **access) if http is not None else None
    metrics_app = create_metrics_app(server, limits=limits, token=token) if metrics is not None else None
    listeners: list[HttpListener | None] = []
    with contextlib.ExitStack() as opened:
        bound = [
            None if address is None else opened.enter_context(_bound(name, address))
            for name, address in (("http", http), ("metrics", metrics))
        ]
        for each, socket_ in zip((app, metrics_app), bound, strict=True):
            if each is None or socket_ is None:
                listeners.append(None)
                continue
            listener = HttpListener(each, socket_, limits, _path(certificate), _path(private_key))
            opened.callback(listener.close, 0.0)
            listeners.append(listener)
            if token is None and not _is_loopback(listener.address[0]):
                _log.warning("%s can be used by whoever reaches it: give a token", listener.url)
        serving = Serving(listeners[0], listeners[1], lambda: closed(serving))
        opened.pop_all()  # they stay
    return serving


def _refuse_other_engines(grpc: object, engine: object) -> None:
    if not isinstance(engine, str):
        raise TypeError(f"engine must be a str, not {type(engine).__name__}")
    if engine == "native":
        raise UnsupportedError("engine='native' is not available yet; engine='asgi', the default, serves HTTP")
    if engine != "asgi":
        raise ValueError(f"engine must be 'asgi' or 'native', not {engine!r}")
    if grpc is not None:
        raise UnsupportedError(
            "grpc is not available yet; http='127.0.0.1:8000' serves the same protocol (KServe v2) by HTTP, with "
            "tritonclient.http as the client"
        )


def _path(path: PathLike | None) -> str | None:
    return None if path is None else os.fspath(path)


def _bound(name: str, address: str | int) -> socket.socket:
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
