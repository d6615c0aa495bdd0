"""Writing to Triton's log."""

from __future__ import annotations

import sys
from pathlib import Path

from . import _native
from ._native import LogLevel
from .errors import InvalidArgumentError

__all__ = ["LogMessage"]


def LogMessage(level: LogLevel, message: str) -> None:
    """Write to Triton's log, as the line that calls this (TRITONSERVER_LogMessage).

    It goes where Triton's own messages go, if the level is turned on there: see `log_info` and its kin in Options.

    Args:
        level: How severe it is. VERBOSE is written while `log_verbose` is on; some libraries write it as INFO.
        message: The text.

    Raises:
        TypeError: An argument is of the wrong type.
        InvalidArgumentError: The message has a NUL character.
        NotFoundError: There is no Triton runtime.
    """
    if not isinstance(level, LogLevel):
        raise TypeError(f"level must be a LogLevel, not {type(level).__name__}")
    if not isinstance(message, str):
        raise TypeError(f"message must be a str, not {type(message).__name__}")
    if "\0" in message:
        raise InvalidArgumentError("message must not contain a NUL character")
    caller = sys._getframe(1)
    file = Path(caller.f_code.co_filename).name
    _native.TRITONSERVER_LogMessage(level, file, caller.f_lineno, message)
