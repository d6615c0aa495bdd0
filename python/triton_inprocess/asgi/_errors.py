"""Errors as HTTP tells them: a status, and JSON with a message."""

from __future__ import annotations

import json

from ..errors import (
    AlreadyExistsError,
    CancelledError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    TritonError,
    UnavailableError,
    UnknownError,
    UnsupportedError,
)

__all__ = ["ClientGone", "HttpError", "error_body", "status_of"]

# Those that Triton's own front end answers with.
_STATUS: dict[type[TritonError], int] = {
    UnknownError: 400,
    InternalError: 500,
    NotFoundError: 404,
    InvalidArgumentError: 400,
    UnavailableError: 503,
    UnsupportedError: 501,
    AlreadyExistsError: 400,
    CancelledError: 400,
}


class HttpError(Exception):
    """What HTTP itself has a status for."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        """`headers` are sent along."""
        super().__init__(message)
        self.status = status
        self.headers: dict[str, str] = headers or {}


class ClientGone(Exception):
    """The client has closed the connection: nobody waits for an answer."""


def status_of(error: TritonError) -> int:
    """The status that an error of Triton's is answered with."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


def error_body(message: str) -> bytes:
    """The body of an answer that is an error."""
    return json.dumps({"error": message}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
