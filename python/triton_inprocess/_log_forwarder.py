"""Triton's log lines on their way to Python: Triton writes to a pipe, a thread reads it."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

from ._native import LogLevel, LogPipe

__all__ = ["LogForwarder", "LogLine"]

_LEVELS = {"I": LogLevel.INFO, "W": LogLevel.WARN, "E": LogLevel.ERROR, "V": LogLevel.VERBOSE}

# "I1201 02:54:00.123456 4711 server.cc:12] text", or "2026-12-01T02:54:00Z I 4711 server.cc:12] text".
_HEADER = re.compile(
    rb"(?:(?P<short>[IWEV])\d{4} |\d{4}-\d\d-\d\dT\S+ (?P<iso>[IWEV]) )"
    rb"[^\]]*?(?:(?P<file>[^\] ]+):(?P<line>\d+))?\] ?"
)


class LogLine(NamedTuple):
    """A line of Triton's log. One that goes on with the message before it has the level and the place of that."""

    level: LogLevel
    message: str
    file: str
    line: int


class LogForwarder:
    """Calls `deliver` with each LogLine that is written to `path`, a file name for Triton, on a thread of its own.

    The pipe is emptied without Python into a buffer that is bounded: lines that come when that is full are dropped,
    and a line of the level WARN says how many.
    """

    def __init__(
        self,
        deliver: Callable[[LogLine], object],
        origin: object,
        name: str,
        info: LogLevel = LogLevel.INFO,
        capacity: int | None = None,
    ) -> None:
        """Open the pipe and start the thread.

        `origin` and `name` are what the user knows `deliver` by, when it raises; `info` is what lines of the level
        INFO are taken for; `capacity` is the buffer's, in bytes.
        """
        self._deliver = deliver
        self._origin = origin
        self._name = name
        self._levels = {**_LEVELS, "I": info}
        self._previous = LogLine(info, "", "", 0)
        self._pipe = LogPipe() if capacity is None else LogPipe(capacity)
        self.path = self._pipe.path
        # The thread does not hold this object while it waits: what `deliver` refers to may be garbage with it.
        self._thread = threading.Thread(
            target=_serve, args=(self._pipe, weakref.ref(self)), name="triton-inprocess-log", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread once everything was forwarded; Triton must not write to the pipe any more."""
        self._pipe.close()
        if not self.runs_here():
            self._thread.join()
            self.forward()  # what came when this object was garbage already

    def runs_here(self) -> bool:
        """Whether `deliver` is being called by this very thread."""
        return threading.current_thread() is self._thread

    def forward(self) -> None:
        """Deliver what has come."""
        while True:
            lines, dropped = self._pipe.take()
            if not lines and dropped == 0:
                return
            for line in lines:
                self._call(self._parsed(line))
            if dropped != 0:
                self._call(_notice(dropped))

    def _parsed(self, line: bytes) -> LogLine:
        header = _HEADER.match(line)
        before = self._previous
        if header is None:  # it goes on with the message before it
            return before._replace(message=_text(line))
        letter = header["short"] or header["iso"]
        parsed = LogLine(
            self._levels[letter.decode()],
            _unquoted(_text(line[header.end() :])),
            _text(header["file"] or b""),
            int(header["line"] or 0),
        )
        self._previous = parsed
        return parsed

    def _call(self, line: LogLine) -> None:
        try:
            self._deliver(line)
        except Exception as error:
            sys.unraisablehook(
                # The interpreter's own class for this cannot be made from Python.
                SimpleNamespace(
                    exc_type=type(error),
                    exc_value=error,
                    exc_traceback=error.__traceback__,
                    err_msg=f"Exception ignored in {self._name}",
                    object=self._origin,
                )  # pyright: ignore[reportArgumentType]
            )


def _serve(pipe: LogPipe, reference: weakref.ref[LogForwarder]) -> None:
    while pipe.wait():
        forwarder = reference()
        if forwarder is None:
            return
        forwarder.forward()
        del forwarder


def _text(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")


def _unquoted(message: str) -> str:
    """The message that newer libraries write as a JSON string, so that nobody can forge a line of the log."""
    if message.startswith('"') and message.endswith('"'):
        with contextlib.suppress(ValueError):
            return str(json.loads(message))
    return message


def _notice(dropped: int) -> LogLine:
    message = f"{dropped} lines of Triton's log were dropped: they came faster than they were taken"
    return LogLine(LogLevel.WARN, message, __file__, 0)
