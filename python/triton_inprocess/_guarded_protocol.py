"""What a connection may do before there is a request: uvicorn itself waits for its head for as long as it takes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ._limits import Limits

__all__ = ["guarded_protocol"]

_PHRASES = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


def guarded_protocol(limits: Limits) -> type[asyncio.Protocol]:
    """Uvicorn's fastest protocol of those that are installed, within limits."""
    base: Any
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as base
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as base

    class GuardedProtocol(base):  # type: ignore[misc]
        """A connection."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._head_bytes = 0
            self._head_timer: asyncio.TimerHandle | None = None
            if len(self.connections) > limits.max_connections:
                self._refuse(503, f"{limits.max_connections} connections are open, which is the most allowed")
            else:
                self._start_timer()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            if self.transport.is_closing():
                self._stop_timer()
            elif not self._is_idle():
                self._head_bytes = 0
                self._stop_timer()
            else:
                self._head_bytes += len(data)
                if self._head_bytes > limits.max_header_bytes:
                    self._refuse(
                        431, f"the head of the request has more than {limits.max_header_bytes} bytes, the most allowed"
                    )
                elif self._head_timer is None:
                    self._start_timer()

        def connection_lost(self, error: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(error)

        def send_400_response(self, message: str) -> None:
            self._refuse(400, message)

        def _is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _start_timer(self) -> None:
            self._head_timer = self.loop.call_later(limits.header_timeout, self._expire)

        def _stop_timer(self) -> None:
            timer, self._head_timer = self._head_timer, None
            if timer is not None:
                timer.cancel()

        def _expire(self) -> None:
            self._head_timer = None
            if self.transport.is_closing() or not self._is_idle():
                return
            if self._head_bytes:
                self._refuse(408, f"the head of the request did not come within {limits.header_timeout:g} seconds")
            else:
                self.transport.close()

        def _refuse(self, status: int, message: str) -> None:
            self._stop_timer()
            body = json.dumps({"error": message}).encode()
            head = (
                f"HTTP/1.1 {status} {_PHRASES[status]}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()

    return GuardedProtocol
