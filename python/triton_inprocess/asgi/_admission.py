"""How many requests, and how much of their bodies, are in this application at once."""

from __future__ import annotations

from types import TracebackType

from .._limits import Limits
from ._errors import HttpError

__all__ = ["Admission", "Ticket"]

_RETRY = {"retry-after": "1"}


class Admission:
    """Lets requests in until there is no room. It belongs to one event loop at a time, and needs no lock."""

    def __init__(self, limits: Limits) -> None:
        """With no request in it."""
        self.limits = limits
        self.in_flight = 0
        self.buffered_bytes = 0

    def enter(self) -> Ticket:
        """Let a request in; raises HttpError 503 when there are too many."""
        if self.in_flight >= self.limits.max_in_flight:
            raise HttpError(503, f"{self.in_flight} requests are in flight, which is the most allowed", _RETRY)
        return Ticket(self)


class Ticket:
    """One request's place, and the bytes that it has reserved."""

    __slots__ = ("_admission", "_byte_size")

    def __init__(self, admission: Admission) -> None:
        """Made by Admission.enter."""
        admission.in_flight += 1
        self._admission = admission
        self._byte_size = 0

    def reserve(self, byte_size: int) -> None:
        """Reserve memory; raises HttpError 503 when the requests in flight have too much of it."""
        admission = self._admission
        if admission.buffered_bytes + byte_size > admission.limits.max_buffered_bytes:
            raise HttpError(
                503,
                f"the bodies of the requests in flight have {admission.buffered_bytes} bytes, and {byte_size} more "
                f"would be more than the {admission.limits.max_buffered_bytes} allowed",
                _RETRY,
            )
        admission.buffered_bytes += byte_size
        self._byte_size += byte_size

    def __enter__(self) -> Ticket:
        """For `with`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave, and give back what was reserved."""
        self._admission.in_flight -= 1
        self._admission.buffered_bytes -= self._byte_size
        self._byte_size = 0
