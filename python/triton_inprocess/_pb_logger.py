"""Triton's log for Triton Python models."""

from __future__ import annotations

import sys
from typing import Final

from . import _native
from ._native import LogLevel

__all__ = ["Logger"]


class Logger:
    """Triton's log (TRITONSERVER_LogMessage). Which levels it takes is an option of the server."""

    INFO: Final = LogLevel.INFO
    WARNING: Final = LogLevel.WARN
    ERROR: Final = LogLevel.ERROR
    VERBOSE: Final = LogLevel.VERBOSE

    @staticmethod
    def log(message: str, level: LogLevel = LogLevel.INFO) -> None:
        """Log a message; raises TypeError for what is no message or level."""
        _log(message, level)

    @staticmethod
    def log_info(message: str) -> None:
        """Log a message of the level INFO."""
        _log(message, LogLevel.INFO)

    @staticmethod
    def log_warn(message: str) -> None:
        """Log a message of the level WARN."""
        _log(message, LogLevel.WARN)

    @staticmethod
    def log_error(message: str) -> None:
        """Log a message of the level ERROR."""
        _log(message, LogLevel.ERROR)

    @staticmethod
    def log_verbose(message: str) -> None:
        """Log a message of the level VERBOSE."""
        _log(message, LogLevel.VERBOSE)


def _log(message: str, level: LogLevel) -> None:
    if not isinstance(message, str):
        raise TypeError(f"message must be a str, not {type(message).__name__}")
    if not isinstance(level, LogLevel):
        raise TypeError(f"level must be one of Logger.INFO and its kin, not {type(level).__name__}")
    caller = sys._getframe(2)
    _native.TRITONSERVER_LogMessage(level, caller.f_code.co_filename, caller.f_lineno, message)
