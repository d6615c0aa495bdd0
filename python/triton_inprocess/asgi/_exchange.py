"""One request and its answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.types import Message, Receive, Scope, Send

from ._encoding import Coding, compressed
from ._errors import ClientGone, HttpError
from ._time_limit import TimeLimit, uncancel

if TYPE_CHECKING:
    from .._limits import Limits
    from ._admission import Ticket

__all__ = ["SCOPE_KEY", "Exchange"]

Result = TypeVar("Result")

SCOPE_KEY = "triton_inprocess"

_PATIENCE = 0.01  # seconds after which a request is worth being cancelled when its client goes
_PART = 1 << 20  # bytes that are handed to the connection at once
_LINGER_SECONDS = 1.0
_LINGER_BYTES = 64 << 20
_SMALL = 860  # bytes that are not worth compressing: they are one packet


class Exchange:
    """A request as it comes in and its answer as it goes out, with what the access log tells of both."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        """Of one call of the application."""
        self.scope = scope
        self.limits = limits
        self.ticket: Ticket | None = None
        self.status = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self._receive = receive
        self._send = send
        self._watcher: asyncio.Task[None] | None = None
        self._gone = False
        self._cut_short = False
        # An HTTP/1.1 request without either has no body.
        length = self.headers.get(b"content-length", b"0")
        self._body_over = length == b"0" and b"transfer-encoding" not in self.headers

    @property
    def started(self) -> bool:
        """Whether the answer has begun."""
        return self.status != 0

    def header(self, name: str) -> str | None:
        """A header of the request; `name` is in lower case."""
        value = self.headers.get(name.encode("latin-1"))
        return None if value is None else value.decode("latin-1")

    # What comes in

    async def receive(self) -> Message:
        """ASGI's `receive`."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._gone = True
        else:
            self.bytes_in += len(message.get("body", b""))
            self._body_over = not message.get("more_body", False)
        return message

    async def receive_part(self, seconds: float) -> bytes:
        """The next part of the body, empty at its end; raises HttpError 408 when it does not come in time."""
        if self._body_over:
            return b""
        try:
            with TimeLimit(seconds):
                message = await self.receive()
        except TimeoutError:
            raise HttpError(
                408, f"the body of the request did not come within {self.limits.body_timeout:g} seconds"
            ) from None
        if self._gone:
            raise ClientGone
        part: bytes = message.get("body", b"")
        return part

    @property
    def body_over(self) -> bool:
        """Whether all of the body has come in."""
        return self._body_over

    # Waiting for the model

    async def wait(self, awaitable: Awaitable[Result]) -> Result:
        """Await something; it is cancelled, and ClientGone is raised, when the client goes away first."""
        task = asyncio.current_task()
        assert task is not None
        timer = asyncio.get_running_loop().call_later(_PATIENCE, self._watch, task)
        try:
            return await awaitable
        except asyncio.CancelledError:
            if self._cut_short and not uncancel(task):
                raise ClientGone from None
            raise
        finally:
            timer.cancel()
            watcher, self._watcher = self._watcher, None
            if watcher is not None:
                watcher.cancel()

    def _watch(self, task: asyncio.Task[Any]) -> None:
        async def watch() -> None:
            while not self._gone:
                await self.receive()
            if self._watcher is watcher:  # still awaited
                self._cut_short = True
                task.cancel()

        self._watcher = watcher = asyncio.get_running_loop().create_task(watch())

    # What goes out

    async def send(self, message: Message) -> None:
        """ASGI's `send`, for answers of Starlette's own; ClientGone is raised where a client does not take them."""
        if message["type"] == "http.response.start":
            await self._start(message["status"], list(message.get("headers", ())))
        else:
            await self._last_body(message.get("body", b""), message.get("more_body", False))

    async def answer(
        self, status: int, content_type: str, parts: Iterable[bytes | memoryview], headers: dict[str, str] | None = None
    ) -> None:
        """Send a whole answer, in the coding that the client asks for."""
        body: list[bytes | memoryview] = list(parts)
        length = sum(map(len, body))
        raw = [(b"content-type", content_type.encode("latin-1"))]
        raw += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()]
        coding = Coding.accepted(self.header("accept-encoding")) if length >= _SMALL else None
        if coding is not None:
            body = [await compressed(coding, body, length)]
            length = len(body[0])
            raw += [(b"content-encoding", coding.value.encode()), (b"vary", b"accept-encoding")]
        raw.append((b"content-length", str(length).encode()))
        await self._start(status, raw)
        await self._send_parts(body, length)

    async def answer_json(self, value: object, status: int = 200) -> None:
        """Send a whole answer that is JSON; `value` may be the text."""
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        await self.answer(status, "application/json", [text.encode("utf-8")])

    async def start_stream(self, content_type: str) -> None:
        """Start an answer of unknown length."""
        await self._start(200, [(b"content-type", content_type.encode()), (b"cache-control", b"no-cache")])

    async def send_stream(self, part: bytes, more: bool) -> None:
        """Send the next part of it."""
        await self._last_body(part, more)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.status = status
        if not self._body_over and b"expect" not in self.headers:
            with contextlib.suppress(HttpError):  # a small body is there already, and the connection can go on
                await self.receive_part(0.0)
        if not self._body_over:
            headers.append((b"connection", b"close"))  # nobody reads the rest
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _body(self, part: bytes, more: bool) -> None:
        self.bytes_out += len(part)
        message = {"type": "http.response.body", "body": part, "more_body": more}
        try:
            with TimeLimit(self.limits.send_timeout):
                await self._send(message)
        except TimeoutError:
            raise ClientGone from None

    async def _last_body(self, part: bytes, more: bool) -> None:
        if more or self._body_over or b"expect" in self.headers:
            await self._body(part, more)
            return
        # A connection that is closed while the client still sends is reset, and the client may never see the answer.
        await self._body(part, more=True)
        await self._linger()
        await self._body(b"", more=False)

    async def _send_parts(self, parts: list[bytes | memoryview], length: int) -> None:
        if length <= _PART:
            await self._last_body(b"".join(parts), more=False)
            return
        left = length
        for part in parts:
            view = memoryview(part)
            for start in range(0, len(view), _PART):
                piece = bytes(view[start : start + _PART])
                left -= len(piece)
                await self._last_body(piece, more=left > 0)

    async def _linger(self) -> None:
        loop = asyncio.get_running_loop()
        deadline, received = loop.time() + _LINGER_SECONDS, 0
        with contextlib.suppress(HttpError, ClientGone):
            while not self._body_over and received < _LINGER_BYTES:
                received += len(await self.receive_part(deadline - loop.time()))
