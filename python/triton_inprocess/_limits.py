"""What a client may ask for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ._durations import interval_argument

__all__ = ["Limits"]

_MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """How much, how many and how long; what goes beyond is refused, and the memory in use stays bounded.

    The last four are those of the connections of `Server.serve`; for an application that another web server runs they
    are that server's affair.

    Attributes:
        max_body_bytes: Bytes of a request's body, also after it was decompressed; status 413 beyond.
        max_json_bytes: Bytes of JSON in it, which takes many times as much memory as an object; 413 beyond.
        max_in_flight: Requests that are read, executed and answered at once, those in Triton's queues too; 503 beyond.
        max_buffered_bytes: Bytes of the bodies of all of them together; 503 beyond.
        body_timeout: Seconds that a client may take to send a body; 408 beyond.
        send_timeout: Seconds that a client may take to receive a part of an answer; then the connection is closed.
        answer_timeout: Seconds that a request may be executed; 504 beyond. None: for ever.
        header_timeout: Seconds that a client may take to send the head of a request; 408 beyond.
        max_header_bytes: Bytes of the head of a request; 431 beyond.
        keep_alive_timeout: Seconds that a connection is kept open without a request.
        max_connections: Connections at once; 503 beyond.
    """

    max_body_bytes: int = 128 * _MIB
    max_json_bytes: int = 32 * _MIB
    max_in_flight: int = 256
    max_buffered_bytes: int = 1024 * _MIB
    body_timeout: float = 60.0
    send_timeout: float = 60.0
    answer_timeout: float | None = None
    header_timeout: float = 10.0
    max_header_bytes: int = 65536
    keep_alive_timeout: float = 75.0
    max_connections: int = 1024

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("max_"):
                _check_count(field.name, value)
            elif value is not None or field.name != "answer_timeout":
                interval_argument(field.name, value)


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be 1 or more, not {value}")
