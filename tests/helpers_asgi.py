"""A call of an ASGI application, without a network."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from helpers_http import Answer


async def call(app: Any, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    """Call the application as a web server does; a dict becomes JSON."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body or b""
    sent: list[dict[str, Any]] = []
    unread = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if unread:
            return unread.pop()
        await asyncio.Event().wait()  # a client that stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    pairs = {"host": "test", "content-length": str(len(content)), **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in pairs.items()],
        "client": ("test", 1),
        "server": ("test", 80),
    }
    await app(scope, receive, send)
    start, *parts = sent
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(part.get("body", b"") for part in parts))
