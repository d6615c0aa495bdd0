"""One address that an application is served at, by uvicorn on a thread of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import uvicorn

from ._guarded_protocol import guarded_protocol
from .asgi._errors import error_body
from .asgi._exchange import SCOPE_KEY, Exchange
from .errors import UnavailableError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ._limits import Limits

__all__ = ["HttpListener"]

_BACKLOG = 512
_LAST_LOOK = 0.01  # seconds in which what has arrived before the end is still taken
_CANCEL_SECONDS = 1.0  # that requests may take to end once they were cancelled


class HttpListener:
    """Listens from its creation on, and until it is closed."""

    has_metrics = True

    def __init__(
        self,
        app: ASGIApp,
        bound: socket.socket,
        limits: Limits,
        certificate: str | None = None,
        private_key: str | None = None,
    ) -> None:
        """Serve `app` at a socket that is bound. Raises OSError or ssl.SSLError for a wrong certificate or key."""
        self.address: tuple[str, int] = bound.getsockname()[:2]
        self.scheme = "http" if certificate is None else "https"
        self._process = os.getpid()
        config = uvicorn.Config(
            _Ending(app),
            http=guarded_protocol(limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=limits.keep_alive_timeout,  # type: ignore[arg-type]
            ssl_certfile=certificate,
            ssl_keyfile=private_key,
        )
        try:
            config.load()
        except BaseException:
            bound.close()
            raise
        self._server = _Uvicorn(config)
        self._failure: BaseException | None = None
        # A daemon: the end of the interpreter stops servers, and their endpoints, after it has joined other threads.
        self._thread = threading.Thread(target=self._run, args=(bound,), name="triton-inprocess-http", daemon=True)
        self._thread.start()
        self._server.listening.wait()
        if self._failure is not None:
            raise UnavailableError(f"the HTTP endpoint did not start: {self._failure!r}") from self._failure

    @property
    def url(self) -> str:
        """Where it is served."""
        host, port = self.address
        return f"{self.scheme}://[{host}]:{port}" if ":" in host else f"{self.scheme}://{host}:{port}"

    @property
    def running(self) -> bool:
        """Whether it is served."""
        return self._thread.is_alive()

    def close(self, deadline: float) -> None:
        """Take no more requests, answer those that are there, until a time of time.monotonic() at the latest."""
        if self._process != os.getpid():  # a forked child has the socket, but not the thread
            return
        self._server.end(deadline)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self, bound: socket.socket) -> None:
        try:
            self._server.run(sockets=[bound])
        except BaseException as error:
            self._failure = error
        finally:
            bound.close()
            self._server.listening.set()


class _Ending:
    """The application, whose requests may be cut short: uvicorn would log a traceback for each of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except ConnectionAbortedError:  # uvicorn closes the connection of an answer that is not complete
            pass
        except asyncio.CancelledError:  # the listener is being closed
            exchange: Exchange = scope[SCOPE_KEY]
            if not exchange.started:
                await exchange.answer(503, "application/json", [error_body("the endpoint is being closed")])


class _Uvicorn(uvicorn.Server):
    """Uvicorn's server, which is told when to end instead of looking ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = threading.Event()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._deadline: float | None = None

    def end(self, deadline: float) -> None:
        """Have it end; from any thread."""
        with self._lock:
            if self._deadline is not None:
                return
            self._deadline = deadline
            if self._loop is not None and self._ended is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._ended.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._ended = asyncio.Event()
        await super().startup(sockets)
        with self._lock:
            self._loop = asyncio.get_running_loop()
            if self._deadline is not None:
                self._ended.set()
        self.listening.set()

    async def main_loop(self) -> None:
        assert self._ended is not None
        await self._ended.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.sleep(_LAST_LOOK)
        for server in self.servers:
            server.close()
        for each in sockets or ():
            each.close()
        connections: set[Any] = self.server_state.connections
        for connection in list(connections):
            connection.shutdown()
        assert self._deadline is not None
        await self._wait(self._deadline)
        for task in self.server_state.tasks:
            task.cancel()
        await self._wait(time.monotonic() + _CANCEL_SECONDS)
        for connection in list(connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    async def _wait(self, deadline: float) -> None:
        """Wait for the requests, and for their connections, which end with them."""
        state = self.server_state
        while state.tasks and time.monotonic() < deadline:
            await asyncio.wait(set(state.tasks), timeout=deadline - time.monotonic())
        while state.connections and time.monotonic() < deadline:
            await asyncio.sleep(0.001)
