"""A server's traces on their way to the user's function."""

from __future__ import annotations

import itertools
import sys
import threading
import warnings
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING

from . import _native
from .trace import Trace

if TYPE_CHECKING:
    from .tracing import Tracing

__all__ = ["TraceDelivery"]


class TraceDelivery:
    """Calls the function with each trace of a server that is complete, on a thread of its own."""

    def __init__(self, tracing: Tracing, server: _native.Server) -> None:
        """Have the server's requests traced, and start the thread. No request was sent yet."""
        self._callback = tracing.callback
        self._queue = _native.TraceQueue(tracing.capacity)
        # The thread does not hold this object while it waits: what the function refers to may be garbage with it.
        self._thread = threading.Thread(
            target=_serve, args=(self._queue, weakref.ref(self)), name="triton-inprocess-traces", daemon=True
        )
        self._thread.start()
        self._context = tracing.context
        self._tensors = tracing.tensors
        self._rate = tracing.rate
        self._count = itertools.count()
        if tracing.context is None:
            _native.trace_requests(server, self._queue, tracing.tensors, tracing.rate)

    @property
    def has_contexts(self) -> bool:
        """Whether `next` gives the traces, one for each request; otherwise they need nothing of Python's."""
        return self._context is not None

    def next(self) -> Trace | None:
        """For the next request; None if it is not traced."""
        assert self._context is not None
        if next(self._count) % self._rate != 0:
            return None
        return Trace._of(self._queue.record(self._tensors, self._context()))

    def close(self) -> None:
        """End the thread once everything was delivered; no request is sent any more."""
        self._queue.close()
        if not self.runs_here():
            self._thread.join()
            self.deliver()  # what came when this object was garbage already

    def runs_here(self) -> bool:
        """Whether the function is being called by this very thread."""
        return threading.current_thread() is self._thread

    def deliver(self) -> None:
        """Call the function with what has come."""
        while True:
            records, dropped = self._queue.take()
            if not records and dropped == 0:
                return
            for record in records:
                self._call(Trace._of(record))
            if dropped != 0:
                self._warn(dropped)

    def _call(self, trace: Trace) -> None:
        try:
            self._callback(trace)
        except Exception as error:
            _report(error, "trace", self._callback)

    def _warn(self, dropped: int) -> None:
        message = f"{dropped} traces were dropped: they came faster than the function of Options.trace took them"
        try:
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        except RuntimeWarning as error:  # warnings are errors here
            _report(error, "trace", self._callback)


def _serve(queue: _native.TraceQueue, reference: weakref.ref[TraceDelivery]) -> None:
    while queue.wait():
        delivery = reference()
        if delivery is None:
            return
        delivery.deliver()
        del delivery


def _report(error: Exception, name: str, origin: object) -> None:
    sys.unraisablehook(
        # The interpreter's own class for this cannot be made from Python.
        SimpleNamespace(
            exc_type=type(error),
            exc_value=error,
            exc_traceback=error.__traceback__,
            err_msg=f"Exception ignored in {name}",
            object=origin,
        )  # pyright: ignore[reportArgumentType]
    )
