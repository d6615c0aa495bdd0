"""Triton's log lines for a Python callback: Triton writes to a pipe, a thread reads it."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

from ._native import LogLevel, LogPipe

__all__ = ["LogForwarder"]

_LEVELS = {"I": LogLevel.INFO, "W": LogLevel.WARN, "E": LogLevel.ERROR, "V": LogLevel.VERBOSE}

# "I1201 02:54:00.123456 4711 server.cc:12] text", or "2026-12-01T02:54:00Z I 4711 server.cc:12] text".
_HEADER = re.compile(rb"(?:(?P<short>[IWEV])\d{4} |\d{4}-\d\d-\d\dT\S+ (?P<iso>[IWEV]) )[^\]]*\] ?")


class LogForwarder:
    """Calls `callback(level, message)` for each line that is written to `path`, a file name for Triton."""

    def __init__(self, callback: Callable[[LogLevel, str], object]) -> None:
        """Open the pipe and start the thread."""
        self._callback = callback
        self._level = LogLevel.INFO
        self._pipe = LogPipe()
        self.path = self._pipe.path
        self._thread = threading.Thread(target=self._read, name="triton-inprocess-log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread once everything was forwarded; Triton must not write to the pipe any more."""
        self._pipe.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _read(self) -> None:
        while lines := self._pipe.read_lines():
            for line in lines:
                self._forward(line)

    def _forward(self, line: bytes) -> None:
        header = _HEADER.match(line)
        if header is not None:
            letter = header["short"] or header["iso"]
            self._level = _LEVELS[letter.decode()]
            line = line[header.end() :]
        # A line without a header goes on with the message before it.
        try:
            self._callback(self._level, line.decode("utf-8", "backslashreplace"))
        except Exception as error:
            sys.unraisablehook(
                # The interpreter's own class for this cannot be made from Python.
                SimpleNamespace(
                    exc_type=type(error),
                    exc_value=error,
                    exc_traceback=error.__traceback__,
                    err_msg="Exception ignored in log_callback",
                    object=self._callback,
                )  # pyright: ignore[reportArgumentType]
            )
